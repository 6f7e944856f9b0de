"""A disk that fails as disks do.

The fault model:
- A host may crash at any call that changes the disk: before it, in the middle of it, or after it and before the node
  hears of it. What a finished call wrote stays: the node syncs each call, and a disk that lies about that is no fault
  that a quorum can bear.
- A call that is cut off leaves nothing (a lost write), a part of its bytes (a torn write), or all its bytes with the
  blocks at the end still zero (the file was lengthened before its data came). A file that is replaced as a whole is
  the old one or the new one.
- The disk may be full or fail a sync for some time: the call raises OSError and leaves what a torn write leaves.
- A wiped disk has lost everything; its host is told to format it anew.
"""

from __future__ import annotations

import errno
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING

from falkirk.storage.memory_disk import MemoryDisk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from falkirk.protocol.chance import Chance


class SimulatedCrashError(BaseException):
    """The host is gone in the middle of a call; no code of the node may catch it."""


class CrashOutcome(Enum):
    """What becomes of a change on which the host crashes; what cannot be done by halves is not done at all."""

    BEFORE = "before"
    WITHIN = "within"
    AFTER = "after"


_BLOCK_BYTES = 512


class SimulatedDisk(MemoryDisk):
    """A MemoryDisk whose host can crash at each change. `changes` counts them."""

    def __init__(self, chance: Chance) -> None:
        super().__init__()
        self._chance = chance
        self.changes = 0
        # Crash at this many more changes; None: not planned.
        self.changes_until_crash: int | None = None
        # What becomes of the change that the crash cuts off; None: any.
        self.crash_outcome: CrashOutcome | None = None
        # Errors of all changes to come, until it is None again.
        self.error: int | None = None

    def write(self, path: str, chunks: Iterable[bytes | bytearray | memoryview]) -> None:
        """Make or replace a file: all or nothing."""
        data = [bytes(chunk) for chunk in chunks]
        self._change(lambda: MemoryDisk.write(self, path, data))

    def append(self, path: str, data: bytes | bytearray | memoryview) -> None:
        """Lengthen a file, perhaps by a part only."""
        torn = self._torn(bytes(data))
        self._change(lambda: MemoryDisk.append(self, path, data), partly=lambda: MemoryDisk.append(self, path, torn()))

    def truncate(self, path: str, size: int) -> None:
        """Shorten a file."""
        self._change(lambda: MemoryDisk.truncate(self, path, size))

    def rename(self, source: str, target: str) -> None:
        """Move a file or directory."""
        self._change(lambda: MemoryDisk.rename(self, source, target))

    def remove(self, path: str) -> None:
        """Remove a file or an empty directory."""
        self._change(lambda: MemoryDisk.remove(self, path))

    def make_directory(self, path: str) -> None:
        """Make a directory."""
        if not self.is_directory(path):
            self._change(lambda: MemoryDisk.make_directory(self, path))

    def wipe(self) -> None:
        """Lose everything; the disk in its place has no faults planned."""
        super().__init__()
        self.changes_until_crash = self.error = None

    def _change(self, whole: Callable[[], None], partly: Callable[[], None] | None = None) -> None:
        self.changes += 1
        if self.error is not None:
            if partly is not None and self._chance.random() < 0.5:
                partly()
            raise OSError(self.error, {errno.ENOSPC: "No space left on device"}.get(self.error, "Input/output error"))
        if self.changes_until_crash is None:
            whole()
            return
        self.changes_until_crash -= 1
        if self.changes_until_crash > 0:
            whole()
            return
        self.changes_until_crash = None
        # Nobody hears of what a call would have raised.
        with suppress(OSError):
            self._cut_off(whole, partly)
        raise SimulatedCrashError

    def _cut_off(self, whole: Callable[[], None], partly: Callable[[], None] | None) -> None:
        outcome = self.crash_outcome or self._chance.choice(tuple(CrashOutcome))
        if outcome is CrashOutcome.AFTER:
            whole()
        elif outcome is CrashOutcome.WITHIN and partly is not None:
            partly()

    def _torn(self, data: bytes) -> Callable[[], bytes]:
        def torn() -> bytes:
            cut = self._chance.randrange(0, len(data) + 1)
            if self._chance.random() < 0.5:
                return data[:cut]
            whole_blocks = cut // _BLOCK_BYTES * _BLOCK_BYTES
            return data[:whole_blocks] + bytes(len(data) - whole_blocks)

        return torn
