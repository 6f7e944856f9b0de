"""What raft may ask of the log. All that it tells is on disk: what waits in a RaftOutput is not in it yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from falkirk.protocol.level_change import LevelChange
from falkirk.protocol.snapshot_chunk import SnapshotChunk
from falkirk.protocol.voters_change import VotersChange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch

__all__ = ["LevelChange", "LogReader", "SnapshotChunk", "VotersChange"]


class LogReader(Protocol):
    """The replica's log and its snapshots, read only. Cheap: asked on every fetch."""

    @property
    def start_offset(self) -> int:
        """First offset that the log still has: the end of the snapshot up to which it was cleaned, or 0."""
        ...

    @property
    def end_offset(self) -> int:
        """Offset of the next record; that of the latest snapshot if the log is empty behind it."""
        ...

    @property
    def last_epoch(self) -> int:
        """Epoch of the last batch, or of the latest snapshot if the log is empty behind it; 0 if there is nothing."""
        ...

    @property
    def latest_snapshot(self) -> OffsetAndEpoch | None:
        """The newest complete snapshot."""
        ...

    @property
    def earliest_snapshot(self) -> OffsetAndEpoch | None:
        """The oldest complete snapshot that is still there."""
        ...

    @property
    def lowerings(self) -> Sequence[LevelChange]:
        """The batches that the log still has, committed or not, that lower metadata.version, in order; mostly none."""
        ...

    def end_offset_for_epoch(self, epoch: int) -> OffsetAndEpoch:
        """Give the largest epoch not above `epoch`, and where it ends.

        That is the log's end if it is the last epoch. If all epochs of the log are newer: the earliest snapshot's
        epoch and end or, without one, (start offset, `epoch`). As Kafka's ReplicatedLog.endOffsetForEpoch.
        """
        ...

    def read(self, offset: int, bytes_max: int) -> bytes:
        """Give whole batches from the one that holds `offset` on: at least one if there is one, else `b""`."""
        ...

    def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, bytes_max: int) -> SnapshotChunk | None:
        """Give a part of a snapshot's file; None if there is no such snapshot (any more)."""
        ...

    def voters_changes(self) -> Sequence[VotersChange]:
        """Give what the latest snapshot and the log behind it say of the voters, in order (a snapshot's: its end)."""
        ...
