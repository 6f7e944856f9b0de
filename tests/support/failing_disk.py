"""An in-memory disk that fails on demand."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from falkirk.storage.memory_disk import MemoryDisk

if TYPE_CHECKING:
    from collections.abc import Iterable


class FailingDisk(MemoryDisk):
    """While `error` is set, every change of a file raises it and nothing is written."""

    def __init__(self) -> None:
        super().__init__()
        self.error: OSError | None = None

    def fill(self) -> None:
        """Report a full disk from now on."""
        self.error = OSError(errno.ENOSPC, "No space left on device")

    def write(self, path: str, chunks: Iterable[bytes | bytearray | memoryview]) -> None:
        self._check()
        super().write(path, chunks)

    def append(self, path: str, data: bytes | bytearray | memoryview) -> None:
        self._check()
        super().append(path, data)

    def truncate(self, path: str, size: int) -> None:
        self._check()
        super().truncate(path, size)

    def _check(self) -> None:
        if self.error is not None:
            raise self.error
