"""An in-memory disk on which single directories fail on demand."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from falkirk.storage.memory_disk import MemoryDisk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.storage.disk import DiskUsage, LogFile


class LogDirDisk(MemoryDisk):
    """Nothing below the directories in `failed` can be read, changed or opened, open files included.

    Nothing can be added below those in `full`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.failed: set[str] = set()
        self.full: set[str] = set()

    def check(self, path: str) -> None:
        """Raise the error of a failed directory."""
        if any(path.startswith(f"{log_dir}/") for log_dir in self.failed):
            raise OSError(errno.EIO, "Input/output error", path)

    def check_room(self, path: str) -> None:
        """Raise the error of a failed or full directory."""
        self.check(path)
        if any(path.startswith(f"{log_dir}/") for log_dir in self.full):
            raise OSError(errno.ENOSPC, "No space left on device", path)

    def usage(self, path: str) -> DiskUsage:
        self.check(f"{path}/")
        return super().usage(path)

    def read(self, path: str, position: int = 0, length: int | None = None) -> bytes:
        self.check(path)
        return super().read(path, position, length)

    def write(self, path: str, chunks: Iterable[bytes | bytearray | memoryview]) -> None:
        self.check_room(path)
        super().write(path, chunks)

    def append(self, path: str, data: bytes | bytearray | memoryview) -> None:
        self.check_room(path)
        super().append(path, data)

    def make_directory(self, path: str) -> None:
        self.check_room(path)
        super().make_directory(path)

    def rename(self, source: str, target: str) -> None:
        self.check(source)
        super().rename(source, target)

    def open_log_file(self, path: str) -> LogFile:
        self.check(path)
        return _File(self, path, super().open_log_file(path))


class _File:
    def __init__(self, disk: LogDirDisk, path: str, file: LogFile) -> None:
        self._disk = disk
        self._path = path
        self._file = file

    @property
    def size(self) -> int:
        return self._file.size

    def append(self, data: bytes | bytearray | memoryview) -> None:
        self._disk.check_room(self._path)
        self._file.append(data)

    def read(self, position: int, length: int) -> bytes:
        self._disk.check(self._path)
        return self._file.read(position, length)

    def view(self, position: int, length: int) -> bytes | memoryview:
        self._disk.check(self._path)
        return self._file.view(position, length)

    def truncate(self, size: int) -> None:
        self._disk.check(self._path)
        self._file.truncate(size)

    def sync(self) -> None:
        self._disk.check(self._path)
        self._file.sync()

    def sync_ahead(self, position: int, length: int) -> None:
        self._disk.check(self._path)
        self._file.sync_ahead(position, length)

    def close(self) -> None:
        self._file.close()
