"""An in-memory disk on which each sync takes its time: a network of nodes makes the step that syncs as long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.storage.memory_disk import MemoryDisk, MemoryLogFile

if TYPE_CHECKING:
    from collections.abc import Iterable


class SlowDisk(MemoryDisk):
    """Counts the syncs that a real disk would do. `sync_ms` is the cost of one."""

    def __init__(self, sync_ms: int) -> None:
        super().__init__()
        self.sync_ms = sync_ms
        self.syncs = 0

    def write(self, path: str, chunks: Iterable[bytes | bytearray | memoryview]) -> None:
        # The file, and its directory.
        self.syncs += 2
        super().write(path, chunks)

    def append(self, path: str, data: bytes | bytearray | memoryview) -> None:
        self.syncs += 1 if self.exists(path) else 2
        super().append(path, data)

    def open_log_file(self, path: str) -> MemoryLogFile:
        super().open_log_file(path).close()
        return _SlowFile(self, path, self._files[path])

    def truncate(self, path: str, size: int) -> None:
        self.syncs += 1
        super().truncate(path, size)

    def rename(self, source: str, target: str) -> None:
        self.syncs += 1
        super().rename(source, target)

    def remove(self, path: str) -> None:
        self.syncs += 1
        super().remove(path)

    def make_directory(self, path: str) -> None:
        self.syncs += not self.exists(path)
        super().make_directory(path)

    def sync_directory(self, path: str) -> None:
        self.syncs += 1
        super().sync_directory(path)


class _SlowFile(MemoryLogFile):
    def __init__(self, disk: SlowDisk, path: str, pieces: list[bytes]) -> None:
        super().__init__(path, pieces)
        self._disk = disk

    def sync(self) -> None:
        self._disk.syncs += 1
        super().sync()
