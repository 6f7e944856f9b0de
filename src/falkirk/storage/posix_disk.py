"""The real disk. The only module of this package that does I/O."""

import mmap
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from falkirk.storage.disk import ASIDE_SUFFIX, DiskUsage

# Files that are appended to stay open; beyond this many the least recently used one is closed.
_OPEN_MAX: Final = 64
# Below this copying costs less than mapping the grown part of the file.
_MAPPED_BYTES_MIN: Final = 64 * 1024


def link_outside(directory: str) -> tuple[str, str] | None:
    """Return the first symbolic link at or below a directory that leads out of it, and its target; None: there is none.

    Links to directories are not entered: what they lead to inside is looked at where it is.
    """
    real = Path(directory).resolve()
    waiting = [Path(directory)]
    while waiting:
        folder = waiting.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink():
                    target = (folder / entry.name).resolve()
                    if not target.is_relative_to(real):
                        return str(folder / entry.name), str(target)
                elif entry.is_dir():
                    waiting.append(folder / entry.name)
    return None


class PosixDisk:
    """Implements `Disk` on the file system of the host."""

    def __init__(self) -> None:
        self._appended = _OpenFiles()

    def list(self, directory: str) -> list[str]:
        """Names in a directory, sorted."""
        return sorted(os.listdir(directory))  # noqa: PTH208  names are wanted, not Path objects

    def exists(self, path: str) -> bool:
        """Whether a file or directory exists."""
        return Path(path).exists()

    def is_directory(self, path: str) -> bool:
        """Whether a directory exists."""
        return Path(path).is_dir()

    def size(self, path: str) -> int:
        """Bytes of a file."""
        with Path(path).open("rb") as file:
            return os.fstat(file.fileno()).st_size

    def read(self, path: str, position: int = 0, length: int | None = None) -> bytes:
        """Read a range of a file."""
        with Path(path).open("rb") as file:
            file.seek(position)
            return file.read() if length is None else file.read(length)

    def view(self, path: str) -> memoryview:
        """Map the whole file into memory; pages are read as they are touched."""
        with Path(path).open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def write(self, path: str, chunks: Iterable[bytes | bytearray | memoryview]) -> None:
        """Create or replace a whole file: written to a temporary file, synced, renamed, the directory synced."""
        target = Path(path)
        aside = target.with_name(target.name + ASIDE_SUFFIX)
        try:
            with aside.open("wb") as file:
                for chunk in chunks:
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(target)
        except BaseException:
            # Whatever stops the write, a half-written file must not stay; an interrupt included.
            with suppress(FileNotFoundError, NotADirectoryError):
                aside.unlink()
            raise
        self.sync_directory(str(target.parent))

    def append(self, path: str, data: bytes | bytearray | memoryview) -> None:
        """Append to a file and sync it."""
        handle = self._appended.get(path)
        if handle is None:
            handle = self._open_to_append(path)
        view = memoryview(data).cast("B")
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)

    def open_log_file(self, path: str) -> "PosixLogFile":
        """Open a file for appending and reading."""
        return PosixLogFile(path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666))

    def truncate(self, path: str, size: int) -> None:
        """Truncate a file and sync it."""
        with Path(path).open("r+b") as file:
            before = os.fstat(file.fileno()).st_size
            if size > before:
                raise ValueError(f"{path} has {before} bytes, it can not be cut down to {size}")
            file.truncate(size)
            os.fsync(file.fileno())

    def rename(self, source: str, target: str) -> None:
        """Move a file or directory and sync the directories of both."""
        self._appended.discard(source)
        self._appended.discard(target)
        Path(source).replace(target)
        parents = {Path(source).parent, Path(target).parent}
        for parent in parents:
            self.sync_directory(str(parent))

    def remove(self, path: str) -> None:
        """Remove a file or an empty directory."""
        self._appended.discard(path)
        if self.is_directory(path):
            Path(path).rmdir()
        else:
            Path(path).unlink()
        self.sync_directory(str(Path(path).parent))

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents, and sync each parent that got a new name."""
        missing = [parent for parent in (Path(path), *Path(path).parents) if not parent.exists()]
        Path(path).mkdir(parents=True, exist_ok=True)
        for made in missing:
            self.sync_directory(str(made.parent))

    def _open_to_append(self, path: str) -> int:
        is_new = not os.path.exists(path)  # noqa: PTH110 - Path would be made for this alone
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._appended.add(path, handle)
        if is_new:
            self.sync_directory(str(Path(path).parent))
        return handle

    def sync_directory(self, path: str) -> None:
        """Make the names in a directory durable."""
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def usage(self, path: str) -> DiskUsage:
        """Return the file system's usage; what is reserved for root is not usable."""
        found = os.statvfs(path)
        return DiskUsage(total_bytes=found.f_blocks * found.f_frsize, usable_bytes=found.f_bavail * found.f_frsize)


class PosixLogFile:
    """Implements `LogFile` on a file descriptor."""

    def __init__(self, path: str, handle: int) -> None:
        self._path = path
        self._handle = handle
        self._size = os.fstat(handle).st_size
        self._map: mmap.mmap | None = None

    @property
    def size(self) -> int:
        """The size in bytes."""
        self._open()
        return self._size

    def append(self, data: bytes | bytearray | memoryview) -> None:
        """Write at the end."""
        handle = self._handle if self._handle >= 0 else self._open()
        written = os.pwrite(handle, data, self._size)
        if written < len(data):
            view = memoryview(data).cast("B")
            while written < len(view):
                written += os.pwrite(handle, view[written:], self._size + written)
        self._size += written

    def read(self, position: int, length: int) -> bytes:
        """Read a range."""
        return os.pread(self._open(), min(length, max(self._size - position, 0)), position)

    def view(self, position: int, length: int) -> bytes | memoryview:
        """Return a range, a large one as a view of the page cache."""
        handle = self._open()
        length = min(length, max(self._size - position, 0))
        if length < _MAPPED_BYTES_MIN:
            return os.pread(handle, length, position)
        end = position + length
        mapped = self._map
        if mapped is None or len(mapped) < end:
            # The old one goes when its last view does.
            mapped = self._map = mmap.mmap(handle, self._size, prot=mmap.PROT_READ)
        return memoryview(mapped)[position:end]

    def truncate(self, size: int) -> None:
        """Truncate the file."""
        self._map = None
        if size > self._size:
            raise ValueError(f"{self._path} has {self._size} bytes, it can not be cut down to {size}")
        os.ftruncate(self._open(), size)
        self._size = size

    def sync(self) -> None:
        """Make durable what was written."""
        os.fdatasync(self._open())

    def sync_ahead(self, position: int, length: int) -> None:
        """Sync a range, through a mapping: the only way that Python offers."""
        handle = self._open()
        start = position - position % mmap.ALLOCATIONGRANULARITY
        end = min(position + length, self._size)
        if start < end:
            # A read-only mapping is not synced; this one is never written to.
            with mmap.mmap(handle, end - start, prot=mmap.PROT_READ | mmap.PROT_WRITE, offset=start) as mapped:
                mapped.flush()

    def close(self) -> None:
        """Close the descriptor."""
        self._map = None
        handle, self._handle = self._handle, -1
        if handle >= 0:
            # If it fails the descriptor is gone all the same, and may soon be another file's.
            os.close(handle)

    def _open(self) -> int:
        if self._handle < 0:
            raise ValueError(f"{self._path} is closed")
        return self._handle

    def __del__(self) -> None:
        self.close()


class _OpenFiles:
    """File descriptors of files that are appended to, by path."""

    def __init__(self) -> None:
        self._handles: dict[str, int] = {}

    def get(self, path: str) -> int | None:
        """Return the descriptor of the file that `path` names now; None if there is none."""
        handle = self._handles.pop(path, None)
        if handle is None:
            return None
        # The file may have been removed or replaced by anyone: a stat costs less than opening it.
        try:
            is_same = os.path.samestat(os.stat(path), os.fstat(handle))  # noqa: PTH116 - as above
        except FileNotFoundError:
            is_same = False
        if not is_same:
            os.close(handle)
            return None
        self._handles[path] = handle
        return handle

    def add(self, path: str, handle: int) -> None:
        """Keep a descriptor."""
        if len(self._handles) >= _OPEN_MAX:
            os.close(self._handles.pop(next(iter(self._handles))))
        self._handles[path] = handle

    def discard(self, path: str) -> None:
        """Close the descriptor of a file that is removed: while it is open the file's space is not freed."""
        handle = self._handles.pop(path, None)
        if handle is not None:
            os.close(handle)

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        # Another process has its own descriptors.
        return type(self), ()

    def __del__(self) -> None:
        for handle in self._handles.values():
            os.close(handle)
