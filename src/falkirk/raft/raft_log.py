"""The log as the replica intends it: what is on disk, and the changes that the driver has yet to write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.control_record import decode_control_record
from falkirk.protocol.messages.kraft_version_record import KRaftVersionRecord
from falkirk.protocol.messages.voters_record import VotersRecord
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.raft.output import Append, InstallSnapshot, LogChange, Truncate, WriteSnapshotChunk
from falkirk.raft.voter_history import VoterHistory

if TYPE_CHECKING:
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.raft.replicated_log import ReplicatedLog
    from falkirk.raft.voter_set import VoterSet

BOOTSTRAP_SNAPSHOT = OffsetAndEpoch(0, 0)
"""The snapshot that formatting writes at kraft.version 1: never replicated, the first leader appends its voters."""


class RaftLog:
    """End offset, epochs and voters of the log with all changes applied, and those changes in order.

    `end_offset` and `last_epoch` hold once everything is written. While `is_rewinding` the log on disk is no prefix of
    that: nothing may be read, and the last epoch is uncertain.
    """

    def __init__(self, reader: ReplicatedLog, static_voters: VoterSet) -> None:
        self.reader = reader
        self.history = VoterHistory(static_voters)
        self.end_offset = reader.end_offset
        self.last_epoch = reader.last_epoch
        self.high_watermark: int | None = None
        self.is_rewinding = False
        self._changes: list[LogChange] = []
        # What the reader ends at once the popped changes are written.
        self._popped_end_offset = reader.end_offset
        self._installing: OffsetAndEpoch | None = None
        self._load_history()

    @property
    def end(self) -> OffsetAndEpoch:
        """End offset and last epoch."""
        return OffsetAndEpoch(self.end_offset, self.last_epoch)

    def raise_high_watermark(self, offset: int) -> None:
        """Set the high watermark, unless it would fall."""
        if self.high_watermark is None or offset > self.high_watermark:
            self.high_watermark = offset

    def append(self, data: bytes | memoryview, *, end_offset: int, epoch: int) -> None:
        """Append whole batches."""
        assert end_offset > self.end_offset
        assert epoch >= self.last_epoch
        self._changes.append(Append(data))
        self.end_offset = end_offset
        self.last_epoch = epoch

    def add_control_records(self, batch: RecordBatch) -> None:
        """Apply the voters and kraft.version in an appended control batch."""
        for record in batch.records():
            message = decode_control_record(record.key, record.value).message
            if isinstance(message, VotersRecord):
                self.history.add_voters(record.offset, message)
            elif isinstance(message, KRaftVersionRecord):
                self.history.add_kraft_version(record.offset, message.kraft_version)

    def truncate(self, diverging: OffsetAndEpoch) -> int:
        """Remove what diverges from another log, given that log's end of an epoch; return the new end.

        As Kafka's ReplicatedLog.truncateToEndOffset.
        """
        assert not self._changes
        end = self.end_shared_with(diverging)
        if end.offset >= self.end_offset:
            return self.end_offset
        self._changes.append(Truncate(end.offset))
        self.end_offset, self.last_epoch = end
        self.is_rewinding = True
        self.history.truncate(end.offset)
        return end.offset

    def end_shared_with(self, diverging: OffsetAndEpoch) -> OffsetAndEpoch:
        """Return what `truncate` would leave."""
        if diverging.epoch == 0:
            return OffsetAndEpoch(min(diverging.offset, self.end_offset), 0)
        end = self.reader.end_offset_for_epoch(diverging.epoch)
        if end.epoch != diverging.epoch:
            return end
        return OffsetAndEpoch(min(diverging.offset, end.offset), end.epoch)

    def write_snapshot_chunk(self, snapshot: OffsetAndEpoch, position: int, data: bytes | memoryview) -> None:
        """Write a chunk of a snapshot that is being fetched."""
        self._changes.append(WriteSnapshotChunk(snapshot, position, data))

    def install_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        """Replace the log by a fetched snapshot; `persisted` returns it when done."""
        self._changes.append(InstallSnapshot(snapshot))
        self._installing = snapshot
        self.is_rewinding = True

    def refuse_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        """Drop a fetched snapshot that is invalid; the log stays as it was."""
        if self._installing == snapshot:
            self._installing = None

    def pop_changes(self) -> tuple[LogChange, ...]:
        """Remove and return the changes to write next."""
        changes = tuple(self._changes)
        self._changes.clear()
        self._popped_end_offset = self.end_offset
        return changes

    @property
    def has_changes(self) -> bool:
        """True if changes wait to be written."""
        return bool(self._changes)

    def persisted(self) -> OffsetAndEpoch | None:
        """Record that all popped changes are on disk; return the snapshot that replaced the log, if one did."""
        if any(not isinstance(change, Append) for change in self._changes):
            return None
        assert self.is_rewinding or self.reader.end_offset == self._popped_end_offset, "popped changes are not written"
        installed = self._installing
        self._installing = None
        if self.is_rewinding:
            assert not self._changes
            self.is_rewinding = False
            self.end_offset = self.reader.end_offset
            self.last_epoch = self.reader.last_epoch
        if installed is None or self.reader.latest_snapshot != installed or self.end_offset != installed.offset:
            return None
        self._load_history()
        self.raise_high_watermark(installed.offset)
        return installed

    def _load_history(self) -> None:
        snapshot = self.reader.latest_snapshot
        self.history.load(self.reader.voters_changes(), None if snapshot is None else snapshot.offset)
