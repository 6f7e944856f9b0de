"""A disk with the faults of real ones.

The fault model:
- A host may crash at any call that changes the disk: before it, in the middle of it, or after it and before the node
  gets the result. A completed call is durable: the node syncs each call, and no quorum survives disks that lie about
  that.
- An interrupted call leaves nothing (a lost write), a part of its bytes (a torn write), or all its bytes with the last
  blocks zero (the file was extended before its data was written). A file that is replaced as a whole is the old one or
  the new one.
- Log files (`open_log_file`) are synced later. The crash of a process loses nothing that was appended: the page cache
  survives; an interrupted append leaves a part of its bytes. A host that loses power may lose unsynced data, each file
  independently: all of it, the end of it, or any of its blocks, which are zero then. A truncated file may have its old
  end again. A new file whose directory was not synced may be gone.
- The disk may be full, or fail to sync, for some time: the call raises OSError and leaves what a torn write leaves.
- A wiped disk is empty; its host formats it again.
- A bit of a file may flip while the host is down, one at a time, and where a CRC covers it: in the metadata in the
  first of several batches of a log, so that it cannot be taken for the end of a write, or anywhere in the newest
  snapshot; in the data in the active segment of a log. The operator restores metadata that a node refuses.
"""

from __future__ import annotations

import errno
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from falkirk.storage.memory_disk import MemoryDisk, MemoryLogFile
from falkirk.storage.partition_directory import METADATA_DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from falkirk.protocol.chance import Chance
    from falkirk.storage.disk import DiskUsage

_BLOCK_BYTES = 512
# Base offset and length of a batch; where its CRC is.
_BATCH_HEAD_BYTES = 12
_CRC_AT = 17


class SimulatedCrashError(BaseException):
    """The host crashed in the middle of a call; no code of the node may catch it."""


class CrashOutcome(Enum):
    """What a change leaves when the host crashes in it; an atomic change that is interrupted leaves nothing."""

    BEFORE = "before"
    WITHIN = "within"
    AFTER = "after"


@dataclass(slots=True)
class _Unsynced:
    """A file that is not completely on disk: `durable` is, and its first `kept` bytes are still current.

    `pieces` is the file's content, under whatever name.
    """

    pieces: list[bytes]
    durable: bytes
    kept: int


@dataclass(frozen=True, slots=True)
class FlippedBit:
    """A byte of a file that was changed."""

    path: str
    position: int
    value: int


class SimulatedDisk(MemoryDisk):
    """A MemoryDisk whose host can crash at each change, or lose power.

    `changes` counts the changes, `bytes_written` the bytes that they bring.
    """

    def __init__(self, chance: Chance) -> None:
        super().__init__()
        self._chance = chance
        self.changes = 0
        self.bytes_written = 0
        # Crash after this many more changes; None: not planned.
        self.changes_until_crash: int | None = None
        # Outcome of the change that the crash interrupts; None: random.
        self.crash_outcome: CrashOutcome | None = None
        # errno that all changes raise until it is None again.
        self.error: int | None = None
        # The bit that has flipped, until `unflip` or `wipe`.
        self.flipped: FlippedBit | None = None
        self._unsynced: dict[int, _Unsynced] = {}  # by the id of the file's pieces
        self._unsynced_names: dict[str, None] = {}

    def write(self, path: str, chunks: Iterable[bytes | bytearray | memoryview]) -> None:
        """Create or replace a file atomically."""
        data = [bytes(chunk) for chunk in chunks]
        self.bytes_written += sum(map(len, data))
        self._change(lambda: self._write(path, data))

    def append(self, path: str, data: bytes | bytearray | memoryview) -> None:
        """Append to a file; a crash may tear the write."""
        torn = self._torn(bytes(data))
        self.bytes_written += len(data)
        self._change(lambda: self._append(path, data), partly=lambda: self._append(path, torn()))

    def open_log_file(self, path: str) -> SimulatedLogFile:
        """Open a file whose changes are not synced, and create it if it does not exist."""
        if not self.exists(path):
            self._change(lambda: self._make(path))
        return SimulatedLogFile(self, path, self._files[path])

    def truncate(self, path: str, size: int) -> None:
        """Shorten a file."""
        self._change(lambda: self._truncate(path, size))

    def rename(self, source: str, target: str) -> None:
        """Move a file or directory."""
        self._change(lambda: self._rename(source, target))

    def remove(self, path: str) -> None:
        """Remove a file or an empty directory."""
        self._change(lambda: self._remove(path))

    def make_directory(self, path: str) -> None:
        """Make a directory."""
        if not self.is_directory(path):
            self._change(lambda: MemoryDisk.make_directory(self, path))

    def sync_directory(self, path: str) -> None:
        """Make the names in a directory durable."""
        self._change(lambda: self._sync_names(path))

    def usage(self, path: str) -> DiskUsage:
        """Return the disk's usage; a full disk has no usable bytes."""
        found = super().usage(path)
        return replace(found, usable_bytes=0) if self.error == errno.ENOSPC else found

    def wipe(self) -> None:
        """Replace the disk by an empty one without planned faults."""
        super().__init__()
        self.changes_until_crash = self.error = self.flipped = None
        self._unsynced, self._unsynced_names = {}, {}

    def lose_power(self) -> None:
        """Lose a random part of the unsynced data. No file may be open any more."""
        for path in self._unsynced_names:
            if self.exists(path) and self._chance.random() < 0.5:
                MemoryDisk.remove(self, path)
        for file in self._unsynced.values():
            file.pieces[:] = [self._after_power_loss(file)]
        self._unsynced, self._unsynced_names = {}, {}

    def flip_in_metadata(self, directory: str) -> bool:
        """Flip a bit of a metadata log or of its newest snapshot; False: there is nothing to flip."""
        paths = self._files_of(directory)
        snapshots = [path for path in paths if path.endswith(".checkpoint")]
        ranges = [(path, 0, self.size(path)) for path in snapshots[-1:]]
        for path in paths:
            batches = self._checked_ranges(path) if path.endswith(".log") else []
            ranges += batches[:1] if len(batches) > 1 else []
        return self._flip(ranges)

    def flip_in_data(self, log_dirs: Iterable[str]) -> bool:
        """Flip a bit of an active segment below one of the log directories; False: there is nothing to flip."""
        ranges = []
        for log_dir in log_dirs:
            for name in self.list(log_dir):
                folder = f"{log_dir}/{name}"
                if self.is_directory(folder) and name != METADATA_DIRECTORY:
                    logs = [path for path in self._files_of(folder) if path.endswith(".log")]
                    ranges += [each for path in logs[-1:] for each in self._checked_ranges(path)]
        return self._flip(ranges)

    def unflip(self) -> None:
        """Put the bit right again."""
        if self.flipped is not None:
            self._replace(self.flipped)
            self.flipped = None

    def _files_of(self, directory: str) -> list[str]:
        return [f"{directory}/{name}" for name in self.list(directory)] if self.is_directory(directory) else []

    def _checked_ranges(self, path: str) -> list[tuple[str, int, int]]:
        """Return the bytes of each batch that its CRC covers, and the CRC."""
        data, position, found = self.read(path), 0, []
        while position + _CRC_AT < len(data):
            size = _BATCH_HEAD_BYTES + int.from_bytes(data[position + 8 : position + _BATCH_HEAD_BYTES], "big")
            found.append((path, position + _CRC_AT, min(position + size, len(data))))
            position += size
        return found

    def _flip(self, ranges: Sequence[tuple[str, int, int]]) -> bool:
        if not ranges:
            return False
        path, start, end = self._chance.choice(ranges)
        position = self._chance.randrange(start, end)
        value = self.read(path, position, 1)[0]
        self.flipped = FlippedBit(path, position, value)
        self._replace(FlippedBit(path, position, value ^ 1 << self._chance.randrange(0, 8)))
        return True

    def _replace(self, byte: FlippedBit) -> None:
        pieces = self._files.get(byte.path)
        if pieces is not None:
            data = bytearray(b"".join(pieces))
            data[byte.position] = byte.value
            pieces[:] = [bytes(data)]

    # --- For SimulatedLogFile

    def change_log_file(
        self, pieces: list[bytes], size: int, whole: Callable[[], None], partly: Callable[[], None] | None = None
    ) -> None:
        """Change a file after its first `size` bytes, without a sync."""
        self._change(
            lambda: self._changed(pieces, size, whole), partly and (lambda: self._changed(pieces, size, partly))
        )

    def sync_log_file(self, pieces: list[bytes]) -> None:
        """Make a file's content durable."""
        self._change(lambda: self._synced(pieces))

    def cut(self, data: bytes) -> bytes:
        """Return what an append leaves when the process crashes in it: a random prefix."""
        return data[: self._chance.randrange(0, len(data) + 1)]

    # --- Inside

    def _changed(self, pieces: list[bytes], size: int, change: Callable[[], None]) -> None:
        file = self._unsynced.get(id(pieces))
        if file is None:
            file = self._unsynced[id(pieces)] = _Unsynced(pieces, b"".join(pieces), size)
        file.kept = min(file.kept, size)
        change()

    def _synced(self, pieces: list[bytes]) -> None:
        self._unsynced.pop(id(pieces), None)

    def _after_power_loss(self, file: _Unsynced) -> bytes:
        data = b"".join(file.pieces)
        if file.kept < len(file.durable) and self._chance.random() < 0.5:
            return file.durable
        left = bytearray(data[: self._chance.randrange(file.kept, len(data) + 1)])
        if self._chance.random() < 0.5:
            position = file.kept
            while position < len(left):
                end = min((position // _BLOCK_BYTES + 1) * _BLOCK_BYTES, len(left))
                if self._chance.random() < 0.5:
                    left[position:end] = bytes(end - position)
                position = end
        return bytes(left)

    def _make(self, path: str) -> None:
        MemoryDisk.open_log_file(self, path).close()
        self._unsynced_names[path] = None

    def _write(self, path: str, chunks: Iterable[bytes]) -> None:
        MemoryDisk.write(self, path, chunks)
        self._sync_names(_parent(path))

    def _append(self, path: str, data: bytes | bytearray | memoryview) -> None:
        MemoryDisk.append(self, path, data)
        self._synced(self._files[path])
        self._sync_names(_parent(path))

    def _truncate(self, path: str, size: int) -> None:
        MemoryDisk.truncate(self, path, size)
        self._synced(self._files[path])

    def _rename(self, source: str, target: str) -> None:
        MemoryDisk.rename(self, source, target)
        self._unsynced_names = {
            target + name[len(source) :] if name.startswith(f"{source}/") else name: None
            for name in self._unsynced_names
            if name != source
        }
        self._sync_names(_parent(source))
        self._sync_names(_parent(target))

    def _remove(self, path: str) -> None:
        MemoryDisk.remove(self, path)
        self._sync_names(_parent(path))

    def _sync_names(self, directory: str) -> None:
        for name in [name for name in self._unsynced_names if _parent(name) == directory]:
            del self._unsynced_names[name]

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
        # The node never sees what the call would have raised.
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


class SimulatedLogFile(MemoryLogFile):
    """An open log file of a SimulatedDisk."""

    def __init__(self, disk: SimulatedDisk, path: str, pieces: list[bytes]) -> None:
        super().__init__(path, pieces)
        self._disk = disk

    def append(self, data: bytes | bytearray | memoryview) -> None:
        """Append to the file, unsynced; a crash may tear the write."""
        append, whole = super().append, bytes(data)
        self._disk.bytes_written += len(whole)
        self._disk.change_log_file(
            self._open(), self.size, lambda: append(whole), partly=lambda: append(self._disk.cut(whole))
        )

    def truncate(self, size: int) -> None:
        """Truncate the file, unsynced."""
        truncate = super().truncate
        self._disk.change_log_file(self._open(), min(size, self.size), lambda: truncate(size))

    def sync(self) -> None:
        """Make all changes durable."""
        self._disk.sync_log_file(self._open())


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"
