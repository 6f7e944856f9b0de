"""The disk as the storage layer uses it. Paths are text with `/`, absolute or as the driver likes them.

All operations raise the built-in OSError family (FileNotFoundError, FileExistsError, IsADirectoryError,
NotADirectoryError, ...). Contents are not interpreted.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

ASIDE_SUFFIX: Final = ".falkirk-aside"
"""The suffix of the temporary file of `write`. A crash may leave such a file; it means nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUsage:
    """The size of a directory's file system. `usable_bytes`: what can still be written."""

    total_bytes: int
    usable_bytes: int


class ReadableDisk(Protocol):
    """The read operations of a file system, which an object store has, too."""

    def list(self, directory: str) -> list[str]:
        """Names (not paths) in `directory`, sorted."""
        ...

    def exists(self, path: str) -> bool:
        """Whether a file or directory of that name exists."""
        ...

    def is_directory(self, path: str) -> bool:
        """Whether `path` exists and is a directory."""
        ...

    def size(self, path: str) -> int:
        """Bytes of a file."""
        ...

    def read(self, path: str, position: int = 0, length: int | None = None) -> bytes:
        """Bytes of a file from `position`, at most `length`; fewer, or none, where the file ends."""
        ...

    def view(self, path: str) -> memoryview:
        """Read-only view of a whole file without reading it into memory first.

        The file must not be changed while the view is in use.
        """
        ...


class LogFile(Protocol):
    """A file that is appended to and read. What was appended is durable after `sync`, not before.

    A crash of the process alone loses nothing; one of the host may lose, or fill with zeros, what was not synced. The
    file may be renamed while it is open, and removed: its space is freed when it is closed.
    """

    @property
    def size(self) -> int:
        """Its current size in bytes."""
        ...

    def append(self, data: bytes | bytearray | memoryview) -> None:
        """Write all of `data` at the end. After an OSError a part may have been written: `truncate` to the old size."""
        ...

    def read(self, position: int, length: int) -> bytes:
        """Bytes from `position`, at most `length`; fewer, or none, where the file ends."""
        ...

    def view(self, position: int, length: int) -> bytes | memoryview:
        """As `read`, for data that is only passed on: it may be the file's own pages, not a copy of them.

        It must not be accessed once the file may have been truncated; a system call that does so fails.
        """
        ...

    def truncate(self, size: int) -> None:
        """Truncate the file to `size` bytes; not synced. Raises ValueError if it is shorter than that."""
        ...

    def sync(self) -> None:
        """Make appends and truncations durable."""
        ...

    def sync_ahead(self, position: int, length: int) -> None:
        """Do a part of the next `sync`, so that this one is short; by itself it guarantees nothing."""
        ...

    def close(self) -> None:
        """Close the file, without a sync. Every later operation raises ValueError."""
        ...


class Disk(ReadableDisk, Protocol):
    """A file system: the real one in `posix_disk`, a fake in `memory_disk`; one behaviour suite runs on both."""

    def write(self, path: str, chunks: Iterable[bytes | bytearray | memoryview]) -> None:
        """Create or replace a whole file atomically: after a crash it has the old or the new content.

        Written to a temporary file, synced, renamed, the directory synced. Nothing is left behind if `chunks` raises.
        """
        ...

    def append(self, path: str, data: bytes | bytearray | memoryview) -> None:
        """Append to a file (created if it does not exist) and sync it."""
        ...

    def open_log_file(self, path: str) -> LogFile:
        """Open a file for appending and reading, created if it does not exist (its name is not synced then)."""
        ...

    def truncate(self, path: str, size: int) -> None:
        """Truncate a file to `size` bytes and sync it. Raises ValueError if it is shorter than that."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Move a file or directory, replacing a file of that name, and sync the directories of both."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file or an empty directory, and sync its directory."""
        ...

    def make_directory(self, path: str) -> None:
        """Create a directory and missing parents, and sync; no error if it exists."""
        ...

    def sync_directory(self, path: str) -> None:
        """Make the names in a directory durable."""
        ...

    def usage(self, path: str) -> DiskUsage:
        """Return the usage of the file system of a directory."""
        ...
