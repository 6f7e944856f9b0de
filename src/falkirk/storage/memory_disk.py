"""A disk in memory, for tests and simulation."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final, TypeAlias

from falkirk.storage.disk import DiskUsage

if TYPE_CHECKING:
    from collections.abc import Iterable

CAPACITY_BYTES: Final = 1 << 40
# Chunks of this size stay as they are: joining long ones would be a long step of the node that appends.
_CHUNK_BYTES_MAX: Final = 1 << 20
_Pieces: TypeAlias = list[bytes]  # the class has a method of that name


class MemoryDisk:
    """Implements `Disk`. The root `/` exists; other directories are made as on a real disk."""

    def __init__(self) -> None:
        # Contents in chunks, each longer than the next or _CHUNK_BYTES_MAX long: so neither an append nor a partial
        # read copies a long log. A rename keeps the file's list, so handles hold the list.
        self._files: dict[str, list[bytes]] = {}
        self._directories: set[str] = {"/"}
        # Names in each directory, those without any left out.
        self._names: dict[str, set[str]] = {}

    def list(self, directory: str) -> list[str]:
        """Names in a directory, sorted."""
        path = _normal(directory)
        if path in self._files:
            raise NotADirectoryError(errno.ENOTDIR, "not a directory", directory)
        if path not in self._directories:
            raise FileNotFoundError(errno.ENOENT, "no such directory", directory)
        return sorted(self._names.get(path, ()))

    def exists(self, path: str) -> bool:
        """Whether a file or directory exists."""
        return _normal(path) in self._files or _normal(path) in self._directories

    def is_directory(self, path: str) -> bool:
        """Whether a directory exists."""
        return _normal(path) in self._directories

    def size(self, path: str) -> int:
        """Bytes of a file."""
        return _size(self._pieces(path))

    def read(self, path: str, position: int = 0, length: int | None = None) -> bytes:
        """Read a range of a file."""
        pieces = self._pieces(path)
        return _read(pieces, position, _size(pieces) if length is None else length)

    def view(self, path: str) -> memoryview:
        """View the whole file as it is now; later changes do not show."""
        return memoryview(_joined(self._pieces(path)))

    def write(self, path: str, chunks: Iterable[bytes | bytearray | memoryview]) -> None:
        """Create or replace a whole file."""
        self._check_parent(path)
        if self.is_directory(path):
            raise IsADirectoryError(errno.EISDIR, "is a directory", path)
        contents = [b"".join(chunks)]
        self._made(path)
        self._files[_normal(path)] = contents

    def append(self, path: str, data: bytes | bytearray | memoryview) -> None:
        """Append to a file."""
        self._check_parent(path)
        if self.is_directory(path):
            raise IsADirectoryError(errno.EISDIR, "is a directory", path)
        _append(self._made(path), bytes(data))

    def open_log_file(self, path: str) -> MemoryLogFile:
        """Open a file for appending and reading."""
        self._check_parent(path)
        if self.is_directory(path):
            raise IsADirectoryError(errno.EISDIR, "is a directory", path)
        return MemoryLogFile(path, self._made(path))

    def truncate(self, path: str, size: int) -> None:
        """Truncate a file."""
        _truncate(self._pieces(path), size, path)

    def rename(self, source: str, target: str) -> None:
        """Move a file or a directory with all below it."""
        old, new = _normal(source), _normal(target)
        self._check_parent(target)
        if old in self._files:
            if new in self._directories:
                raise IsADirectoryError(errno.EISDIR, "is a directory", target)
            self._files[new] = self._files.pop(old)
            self._move_name(old, new)
        elif old in self._directories:
            self._rename_directory(old, new)
        else:
            raise FileNotFoundError(errno.ENOENT, "no such file", source)

    def remove(self, path: str) -> None:
        """Remove a file or an empty directory."""
        if self.is_directory(path):
            if self.list(path):
                raise OSError(errno.ENOTEMPTY, "directory is not empty", path)
            self._directories.remove(_normal(path))
        else:
            self._pieces(path)
            del self._files[_normal(path)]
        self._remove_name(_normal(path))

    def make_directory(self, path: str) -> None:
        """Make a directory and its parents."""
        missing = _normal(path)
        while missing not in self._directories:
            if missing in self._files:
                raise FileExistsError(errno.EEXIST, "is a file", path)
            self._directories.add(missing)
            self._add_name(missing)
            missing = _split(missing)[0]

    def sync_directory(self, path: str) -> None:
        """Do nothing: nothing is ever lost here."""
        self.list(path)

    def usage(self, path: str) -> DiskUsage:
        """Return the space that all directories share, which is never exhausted."""
        self.list(path)
        used = sum(map(_size, self._files.values()))
        return DiskUsage(total_bytes=CAPACITY_BYTES, usable_bytes=max(CAPACITY_BYTES - used, 0))

    def _rename_directory(self, old: str, new: str) -> None:
        if new in self._files:
            raise NotADirectoryError(errno.ENOTDIR, "not a directory", new)
        if new in self._directories and self.list(new):
            raise OSError(errno.ENOTEMPTY, "directory is not empty", new)
        self._directories = {_moved(path, old, new) for path in self._directories}
        self._files = {_moved(path, old, new): data for path, data in self._files.items()}
        self._move_name(old, new)
        self._names = {_moved(path, old, new): names for path, names in self._names.items()}

    def _made(self, path: str) -> _Pieces:
        """Return the content of a file, which is made if it does not exist."""
        name = _normal(path)
        pieces = self._files.get(name)
        if pieces is None:
            pieces = self._files[name] = []
            self._add_name(name)
        return pieces

    def _add_name(self, path: str) -> None:
        parent, name = _split(path)
        self._names.setdefault(parent, set()).add(name)

    def _remove_name(self, path: str) -> None:
        parent, name = _split(path)
        self._names[parent].remove(name)
        if not self._names[parent]:
            del self._names[parent]

    def _move_name(self, old: str, new: str) -> None:
        self._remove_name(old)
        self._add_name(new)

    def _pieces(self, path: str) -> _Pieces:
        if self.is_directory(path):
            raise IsADirectoryError(errno.EISDIR, "is a directory", path)
        pieces = self._files.get(_normal(path))
        if pieces is None:
            self._check_no_ancestor_is_file(path)
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return pieces

    def _check_no_ancestor_is_file(self, path: str) -> None:
        ancestor = _split(_normal(path))[0]
        while ancestor != "/":
            if ancestor in self._files:
                raise NotADirectoryError(errno.ENOTDIR, "not a directory", path)
            ancestor = _split(ancestor)[0]

    def _check_parent(self, path: str) -> None:
        parent = _split(_normal(path))[0]
        if parent in self._files:
            raise NotADirectoryError(errno.ENOTDIR, "not a directory", parent)
        if parent not in self._directories:
            raise FileNotFoundError(errno.ENOENT, "no such directory", parent)


class MemoryLogFile:
    """Implements `LogFile` on the chunks of a file, which it shares with the disk."""

    def __init__(self, path: str, pieces: list[bytes]) -> None:
        self._path = path
        self._pieces: list[bytes] | None = pieces

    @property
    def size(self) -> int:
        """The size in bytes."""
        return _size(self._open())

    def append(self, data: bytes | bytearray | memoryview) -> None:
        """Append to the file."""
        _append(self._open(), bytes(data))

    def read(self, position: int, length: int) -> bytes:
        """Read a range."""
        return _read(self._open(), position, length)

    def view(self, position: int, length: int) -> bytes:
        """Read a range; chunks never change in place."""
        return self.read(position, length)

    def truncate(self, size: int) -> None:
        """Truncate the file."""
        _truncate(self._open(), size, self._path)

    def sync(self) -> None:
        """Do nothing: nothing is ever lost here."""
        self._open()

    def sync_ahead(self, position: int, length: int) -> None:
        """Do nothing: `sync` has nothing to do."""
        del position, length
        self._open()

    def close(self) -> None:
        """Make every later operation raise ValueError."""
        self._pieces = None

    def _open(self) -> list[bytes]:
        if self._pieces is None:
            raise ValueError(f"{self._path} is closed")
        return self._pieces


def _size(pieces: list[bytes]) -> int:
    return sum(map(len, pieces))


def _append(pieces: list[bytes], data: bytes) -> None:
    while pieces and len(pieces[-1]) <= min(len(data), _CHUNK_BYTES_MAX):
        data = pieces.pop() + data
    if data:
        pieces.append(data)


def _read(pieces: list[bytes], position: int, length: int) -> bytes:
    found: list[bytes] = []
    for piece in pieces:
        if length <= 0:
            break
        if position < len(piece):
            found.append(piece[position : position + length])
            length -= len(found[-1])
        position = max(position - len(piece), 0)
    return found[0] if len(found) == 1 else b"".join(found)


def _truncate(pieces: list[bytes], size: int, path: str) -> None:
    left = _size(pieces)
    if size > left:
        raise ValueError(f"{path} has {left} bytes, it can not be cut down to {size}")
    while left > size:
        last = pieces.pop()
        left -= len(last)
        if left < size:
            pieces.append(last[: size - left])
            break


def _joined(pieces: list[bytes]) -> bytes:
    if len(pieces) != 1:
        pieces[:] = [b"".join(pieces)]
    return pieces[0]


def _normal(path: str) -> str:
    return "/" + "/".join(part for part in path.split("/") if part not in ("", "."))


def _split(path: str) -> tuple[str, str]:
    parent, _, name = path.rpartition("/")
    return parent or "/", name


def _moved(path: str, old: str, new: str) -> str:
    return new + path[len(old) :] if path == old or path.startswith(old + "/") else path
