"""Files by path of this machine or by URI of an object store that PyArrow supports (s3, gs, abfs, hdfs).

Endpoint and credentials of a store come from the environment, as its own tools have it, so that no URI and no table
holds a secret: `docs/reference/fleet-sources.md` lists the variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from fsspec.implementations.arrow import ArrowFSWrapper
from pyarrow import fs

from falkirk.pipeline.errors import InventoryError
from falkirk.storage.posix_disk import PosixDisk

if TYPE_CHECKING:
    from falkirk.storage.disk import ReadableDisk

_LOCAL: Final = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A file or directory: the disk that holds it, its path there, and its full name as in tables."""

    disk: ReadableDisk
    path: str
    uri: str

    def __truediv__(self, name: str) -> Location:
        """Append a name to a directory."""
        return Location(disk=self.disk, path=f"{self.path.rstrip('/')}/{name}", uri=f"{self.uri.rstrip('/')}/{name}")


def readable_bytes(location: Location) -> int:
    """Return a file's bytes; 0 if it cannot be read, or is a directory, which is reported where it is read."""
    try:
        return location.disk.size(location.path)
    except OSError:
        return 0


class ArrowDisk:
    """A `ReadableDisk` on a PyArrow filesystem."""

    def __init__(self, filesystem: fs.FileSystem) -> None:
        self._filesystem = filesystem

    def list(self, directory: str) -> list[str]:
        """Return the names in a directory, sorted."""
        return sorted(info.base_name for info in self._filesystem.get_file_info(fs.FileSelector(directory)))

    def exists(self, path: str) -> bool:
        """Return whether a file or directory is there."""
        return self._info(path).type != fs.FileType.NotFound

    def is_directory(self, path: str) -> bool:
        """Return whether a directory is there."""
        return bool(self._info(path).type == fs.FileType.Directory)

    def size(self, path: str) -> int:
        """Return the bytes of a file. Raises FileNotFoundError."""
        info = self._info(path)
        if info.type != fs.FileType.File:
            raise FileNotFoundError(path)
        return int(info.size)

    def read(self, path: str, position: int = 0, length: int | None = None) -> bytes:
        """Read a range of a file; `length` None: to the end."""
        with self._filesystem.open_input_file(path) as file:
            left = max(file.size() - position, 0)
            wanted = left if length is None else min(length, left)
            if not wanted:
                return b""
            return bytes(file.read_at(wanted, position))  # type: ignore[call-arg]  # the stubs lack the position

    def view(self, path: str) -> memoryview:
        """Read a whole file into memory; a store has nothing to map."""
        return memoryview(self.read(path))

    def _info(self, path: str) -> fs.FileInfo:
        info: fs.FileInfo = self._filesystem.get_file_info(path)
        return info


def open_location(uri: str) -> Location:
    """Return the location of a path or URI, without checking that anything is there.

    A local path is made absolute: workers have working directories of their own, and the warehouse knows a file by its
    name. Raises InventoryError for an unsupported URI.
    """
    scheme, authority, rest = _parts(uri)
    if scheme == _LOCAL:
        path = str(Path(rest).absolute())
        return Location(disk=PosixDisk(), path=path, uri=path)
    path = rest.rstrip("/")
    store = _store(scheme, authority, uri)
    return Location(disk=ArrowDisk(store.filesystem), path=store.base + path, uri=f"{scheme}://{authority}{path}")


def expand(pattern: str) -> list[str]:
    """Expand a path or URI with wildcards (`*`, `?`, `[...]`, `**`), sorted; one without is returned as it is.

    Raises InventoryError for an unsupported URI.
    """
    scheme, authority, rest = _parts(pattern)
    if not any(character in rest for character in "*?["):
        return [pattern]
    if scheme == _LOCAL:
        # The characters may be part of a name.
        return [rest] if PosixDisk().exists(rest) else sorted(ArrowFSWrapper(fs.LocalFileSystem()).glob(rest))
    store = _store(scheme, authority, pattern)
    found = ArrowFSWrapper(store.filesystem).glob(store.base + rest)
    return [f"{scheme}://{authority}{path.removeprefix(store.base)}" for path in sorted(found)]


@dataclass(frozen=True, slots=True)
class _Store:
    """A filesystem, and the base (the bucket) of every path in it."""

    filesystem: fs.FileSystem
    base: str


def _parts(uri: str) -> tuple[str, str, str]:
    """Split a URI into scheme, bucket or host, and path."""
    scheme, separator, rest = uri.partition("://")
    if not separator:
        return _LOCAL, "", uri
    if scheme == _LOCAL:
        return _LOCAL, "", unquote(rest)
    authority, slash, path = rest.partition("/")
    return scheme, authority, slash + path


def _store(scheme: str, authority: str, uri: str) -> _Store:
    try:
        return _found_store(scheme, authority)
    # fsspec and PyArrow raise NotImplementedError for a scheme that they were built without.
    except (ValueError, NotImplementedError, OSError) as error:
        raise InventoryError(f"{uri}: {error}") from error


@cache
def _found_store(scheme: str, authority: str) -> _Store:
    if not authority:
        raise ValueError("no bucket or host is named")
    filesystem, base = fs.FileSystem.from_uri(f"{scheme}://{authority}")
    return _Store(filesystem, base.rstrip("/"))
