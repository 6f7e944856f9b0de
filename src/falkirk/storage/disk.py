"""What the storage layer asks of a disk. Paths are text with `/`, absolute or as the driver likes them.

All operations raise the built-in OSError family (FileNotFoundError, FileExistsError, IsADirectoryError,
NotADirectoryError, ...). Neither side interprets contents.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

ASIDE_SUFFIX: Final = ".falkirk-aside"
"""Ends the name under which `write` makes a file. A crash may leave such a file; it means nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUsage:
    """How large the file system is that a directory is on. `usable_bytes`: what may still be written there."""

    total_bytes: int
    usable_bytes: int


class ReadableDisk(Protocol):
    """As much of a file system as reading takes: what an object store can do, too."""

    def list(self, directory: str) -> list[str]:
        """Names (not paths) of what `directory` holds, sorted."""
        ...

    def exists(self, path: str) -> bool:
        """Whether a file or directory of that name is there."""
        ...

    def is_directory(self, path: str) -> bool:
        """Whether `path` is there and is a directory."""
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
    """A file that grows at its end and is read meanwhile. What is appended is durable after `sync`, not before.

    A crash of the process alone loses nothing; one of the host may lose, or fill with zeros, what was not synced.
    The file may be renamed while it is open, and removed: its space is freed when it is closed.
    """

    @property
    def size(self) -> int:
        """Bytes that it has now."""
        ...

    def append(self, data: bytes | bytearray | memoryview) -> None:
        """Write all of `data` at the end. After an OSError a part of it may be there: `truncate` to the old size."""
        ...

    def read(self, position: int, length: int) -> bytes:
        """Bytes from `position`, at most `length`; fewer, or none, where the file ends."""
        ...

    def view(self, position: int, length: int) -> bytes | memoryview:
        """As `read`, for what is only passed on: it may be the file's own pages, not a copy of them.

        Nobody may look into it once the file may have been truncated; a system call that does so fails.
        """
        ...

    def truncate(self, size: int) -> None:
        """Cut the file down to `size` bytes; not synced. Raises ValueError if it is shorter than that."""
        ...

    def sync(self) -> None:
        """Make durable what was appended and truncated."""
        ...

    def sync_ahead(self, position: int, length: int) -> None:
        """Do a part of what the next `sync` has to do, so that this one is short; by itself it promises nothing."""
        ...

    def close(self) -> None:
        """Give up the handle, without a sync. Whatever is asked of it afterwards raises ValueError."""
        ...


class Disk(ReadableDisk, Protocol):
    """A file system: the real one in `posix_disk`, a fake in `memory_disk`; one behaviour suite runs on both."""

    def write(self, path: str, chunks: Iterable[bytes | bytearray | memoryview]) -> None:
        """Make or replace a whole file atomically: after a crash there is the old file or the new one.

        Written aside, synced, renamed, the directory synced. Nothing is left behind if `chunks` raises.
        """
        ...

    def append(self, path: str, data: bytes | bytearray | memoryview) -> None:
        """Lengthen a file (made if it is not there) and sync it."""
        ...

    def open_log_file(self, path: str) -> LogFile:
        """Open a file to append to it and read it, made if it is not there (its name is not synced then)."""
        ...

    def truncate(self, path: str, size: int) -> None:
        """Cut a file down to `size` bytes and sync it. Raises ValueError if it is shorter than that."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Move a file or directory, replacing a file of that name, and sync the directories of both."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file or an empty directory, and sync its directory."""
        ...

    def make_directory(self, path: str) -> None:
        """Make a directory, its parents too if they are missing, and sync; no error if it is there already."""
        ...

    def sync_directory(self, path: str) -> None:
        """Make the names in a directory durable."""
        ...

    def usage(self, path: str) -> DiskUsage:
        """Ask for the space of the file system that a directory is on."""
        ...
