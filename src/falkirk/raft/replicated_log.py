"""The log as raft reads it (Kafka's ReplicatedLog): what is on disk, without the pending changes of a RaftOutput."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.level_change import LevelChange
    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.protocol.snapshot_chunk import SnapshotChunk
    from falkirk.protocol.voters_change import VotersChange


class ReplicatedLog(Protocol):
    """The replica's log and snapshots, read only. Must be cheap: every fetch reads it."""

    @property
    def start_offset(self) -> int:
        """The first offset in the log: the end of the snapshot up to which it was cleaned, or 0."""
        ...

    @property
    def end_offset(self) -> int:
        """The offset of the next record; the end of the latest snapshot if nothing follows it."""
        ...

    @property
    def last_epoch(self) -> int:
        """The epoch of the last batch, or of the latest snapshot if nothing follows it; 0 if both are missing."""
        ...

    @property
    def latest_snapshot(self) -> OffsetAndEpoch | None:
        """The newest complete snapshot."""
        ...

    @property
    def earliest_snapshot(self) -> OffsetAndEpoch | None:
        """The oldest complete snapshot that still exists."""
        ...

    @property
    def lowerings(self) -> Sequence[LevelChange]:
        """The batches in the log, committed or not, that lower metadata.version, in order; mostly none."""
        ...

    def end_offset_for_epoch(self, epoch: int) -> OffsetAndEpoch:
        """Return the largest epoch not above `epoch`, and its end offset.

        For the last epoch that is the log's end. If all epochs in the log are newer: the earliest snapshot's epoch and
        end or, without one, (start offset, `epoch`). As Kafka's ReplicatedLog.endOffsetForEpoch.
        """
        ...

    def read(self, offset: int, bytes_max: int) -> bytes:
        """Return whole batches from the one that contains `offset` on, at least one; `b""` if there is none."""
        ...

    def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, bytes_max: int) -> SnapshotChunk | None:
        """Return a chunk of a snapshot's file; None if the snapshot does not exist, or no longer."""
        ...

    def voters_changes(self) -> Sequence[VotersChange]:
        """Return the changes of voters in the latest snapshot (at its end offset) and the log behind it, in order."""
        ...
