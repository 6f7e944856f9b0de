"""The leader epochs of one log, and their file `leader-epoch-checkpoint` (KIP-101)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.storage import leader_epochs
from falkirk.storage.leader_epoch_cache import LeaderEpochCache

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.storage.disk import Disk


class LeaderEpochFile:
    """Changes cache and file together: when a method returns the change is on disk."""

    def __init__(self, disk: Disk, directory: str) -> None:
        """Read the file, if it exists. Raises CorruptFileError if it is malformed."""
        self._disk = disk
        self.directory = directory
        path = self._path
        is_there = disk.exists(path)
        self._on_disk = leader_epochs.parse_leader_epochs(disk.read(path), file=path) if is_there else None
        self.cache = LeaderEpochCache(self._on_disk.entries if self._on_disk else ())
        """May be changed while the log is loaded; `save` writes what came of it."""

    def save(self) -> None:
        """Write the file if it differs from the cache. The first one is empty, and not synced, as in Kafka."""
        epochs = self.cache.to_leader_epochs()
        if self._on_disk is None and not epochs.entries:
            self._disk.open_log_file(self._path).close()
        elif self._on_disk is None or epochs.entries != self._on_disk.entries:
            self._disk.write(self._path, [leader_epochs.format_leader_epochs(epochs)])
        self._on_disk = epochs

    def assign(self, epoch: int, start_offset: int) -> None:
        """Record that `epoch` starts at `start_offset`."""
        if self.cache.assign(epoch, start_offset):
            self.save()

    def assign_all(self, starts: Iterable[tuple[int, int]]) -> None:
        """Record epochs and their start offsets, those of replicated batches: the file is written once at most."""
        is_new = False
        for epoch, start_offset in starts:
            if epoch != self.cache.latest_epoch:
                is_new |= self.cache.assign(epoch, start_offset)
        if is_new:
            self.save()

    def replace(self, other: LeaderEpochFile) -> None:
        """Record the epochs of another log in place of these."""
        self.cache = LeaderEpochCache(other.cache.to_leader_epochs().entries)
        self.save()

    def truncate_from_end(self, end_offset: int) -> None:
        """Remove the epochs that start at `end_offset` or later."""
        if self.cache.truncate_from_end(end_offset):
            self.save()

    def truncate_from_start(self, start_offset: int) -> None:
        """Remove the epochs that ended by `start_offset`."""
        if self.cache.truncate_from_start(start_offset):
            self.save()

    def clear(self) -> None:
        """Remove all epochs."""
        self.cache.clear()
        self.save()

    def end_offset_for(self, epoch: int, log_end_offset: int) -> OffsetAndEpoch | None:
        """Return the largest epoch not above `epoch`, and its end offset (KIP-279).

        An epoch before the first known one ends where that starts; None for one after all of them. Source:
        LeaderEpochFileCache.endOffsetFor.
        """
        latest, first = self.cache.latest_epoch, self.cache.first_start_offset
        if latest is None or first is None or not 0 <= epoch <= latest:
            return None
        return self.cache.end_offset_for(epoch, log_end_offset) or OffsetAndEpoch(first, epoch)

    @property
    def _path(self) -> str:
        return f"{self.directory}/{leader_epochs.FILE_NAME}"
