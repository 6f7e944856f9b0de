"""Where each leader epoch of one log began: kept in step with the log as it grows and is cut (KIP-101, KIP-279)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.storage.leader_epochs import EpochEntry, LeaderEpochs

if TYPE_CHECKING:
    from collections.abc import Iterable


class LeaderEpochCache:
    """Epochs and start offsets, both increasing. Holds no records and costs what the number of elections was."""

    def __init__(self, entries: Iterable[EpochEntry] = ()) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        for entry in entries:
            self.assign(entry.epoch, entry.start_offset)

    @property
    def latest_epoch(self) -> int | None:
        """The last epoch that wrote, None before any."""
        return self._epochs[-1] if self._epochs else None

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Note that `epoch` writes from `start_offset` on; give whether that is new.

        Entries that are not before it in both epoch and offset have nothing left in the log: they go. (As Kafka's
        assign does: above all an epoch that began at the same offset and wrote nothing.)
        """
        if self._epochs and epoch == self._epochs[-1] and start_offset >= self._starts[-1]:
            return False
        while self._epochs and (epoch <= self._epochs[-1] or start_offset <= self._starts[-1]):
            del self._starts[-1], self._epochs[-1]
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        return True

    def truncate_from_end(self, end_offset: int) -> bool:
        """Forget the epochs that began at `end_offset` or later; give whether there were such."""
        at = bisect_left(self._starts, end_offset)
        is_changed = at < len(self._starts)
        del self._starts[at:], self._epochs[at:]
        return is_changed

    def truncate_from_start(self, start_offset: int) -> bool:
        """Forget the epochs that ended by `start_offset`, where the first one begins from now on; as above."""
        at = bisect_right(self._starts, start_offset) - 1
        if at < 0 or (at == 0 and self._starts[0] == start_offset):
            return False
        del self._starts[:at], self._epochs[:at]
        self._starts[0] = start_offset
        return True

    def clear(self) -> None:
        """Forget all."""
        self._epochs.clear()
        self._starts.clear()

    def end_offset_for(self, epoch: int, log_end_offset: int) -> OffsetAndEpoch | None:
        """Give the largest epoch not above `epoch`, and where it ends; None if there is none."""
        at = bisect_right(self._epochs, epoch)
        if at == 0:
            return None
        end = self._starts[at] if at < len(self._starts) else log_end_offset
        return OffsetAndEpoch(end, self._epochs[at - 1])

    def epoch_of(self, offset: int) -> int | None:
        """Say which epoch wrote the record at `offset`, or would; None if it lies before the first one."""
        at = bisect_right(self._starts, offset)
        return self._epochs[at - 1] if at else None

    @property
    def first_start_offset(self) -> int | None:
        """Where the first epoch begins, None if there is none."""
        return self._starts[0] if self._starts else None

    def to_leader_epochs(self) -> LeaderEpochs:
        """Give what `leader-epoch-checkpoint` says."""
        entries = zip(self._epochs, self._starts, strict=True)
        return LeaderEpochs(entries=tuple(EpochEntry(epoch=epoch, start_offset=start) for epoch, start in entries))
