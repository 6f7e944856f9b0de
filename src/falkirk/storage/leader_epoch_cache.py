"""The start offset of each leader epoch of a log, updated as the log grows and is truncated (KIP-101, KIP-279)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.storage.leader_epochs import EpochEntry, LeaderEpochs

if TYPE_CHECKING:
    from collections.abc import Iterable


class LeaderEpochCache:
    """Epochs and start offsets, both increasing. Holds no records; its size is the number of elections."""

    def __init__(self, entries: Iterable[EpochEntry] = ()) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        for entry in entries:
            self.assign(entry.epoch, entry.start_offset)

    @property
    def latest_epoch(self) -> int | None:
        """The last epoch with an entry, None before any."""
        return self._epochs[-1] if self._epochs else None

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Record that `epoch` starts at `start_offset`; return whether that is new.

        Entries that are not below it in both epoch and offset have nothing left in the log, and are removed. (As
        Kafka's assign: above all an epoch that started at the same offset and wrote nothing.)
        """
        if self._epochs and epoch == self._epochs[-1] and start_offset >= self._starts[-1]:
            return False
        while self._epochs and (epoch <= self._epochs[-1] or start_offset <= self._starts[-1]):
            del self._starts[-1], self._epochs[-1]
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        return True

    def truncate_from_end(self, end_offset: int) -> bool:
        """Remove the epochs that start at `end_offset` or later; return whether there were any."""
        at = bisect_left(self._starts, end_offset)
        is_changed = at < len(self._starts)
        del self._starts[at:], self._epochs[at:]
        return is_changed

    def truncate_from_start(self, start_offset: int) -> bool:
        """Remove the epochs that ended by `start_offset`, where the first then starts; return whether any changed."""
        at = bisect_right(self._starts, start_offset) - 1
        if at < 0 or (at == 0 and self._starts[0] == start_offset):
            return False
        del self._starts[:at], self._epochs[:at]
        self._starts[0] = start_offset
        return True

    def clear(self) -> None:
        """Remove all epochs."""
        self._epochs.clear()
        self._starts.clear()

    def end_offset_for(self, epoch: int, log_end_offset: int) -> OffsetAndEpoch | None:
        """Return the largest epoch not above `epoch`, and its end offset; None if there is none."""
        at = bisect_right(self._epochs, epoch)
        if at == 0:
            return None
        end = self._starts[at] if at < len(self._starts) else log_end_offset
        return OffsetAndEpoch(end, self._epochs[at - 1])

    def epoch_of(self, offset: int) -> int | None:
        """Return the epoch that wrote the record at `offset`, or would; None before the first epoch."""
        at = bisect_right(self._starts, offset)
        return self._epochs[at - 1] if at else None

    @property
    def first_start_offset(self) -> int | None:
        """The start of the first epoch, None if there is none."""
        return self._starts[0] if self._starts else None

    def to_leader_epochs(self) -> LeaderEpochs:
        """Return the content of `leader-epoch-checkpoint`."""
        entries = zip(self._epochs, self._starts, strict=True)
        return LeaderEpochs(entries=tuple(EpochEntry(epoch=epoch, start_offset=start) for epoch, start in entries))
