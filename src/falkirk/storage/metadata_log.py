"""The log of `__cluster_metadata-0` with its snapshots, as a running node keeps it on a disk (KIP-595, KIP-630).

Kafka's KafkaMetadataLog: a real controller opens the directory, and this one opens a real controller's. Indexes are not
written; Kafka rebuilds them when it starts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Protocol

from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.protocol.record_batch import RecordBatch, read_batches
from falkirk.protocol.voters_change import VotersChange
from falkirk.storage import leader_epochs, partition_metadata, quorum_state
from falkirk.storage.level_changes import UNKNOWN_LEVEL, level_changes_in, level_of, lowerings
from falkirk.storage.metadata_log_scan import (
    METADATA_TOPIC_ID,
    TornSegment,
    epochs_on_disk,
    scan_metadata_log,
    voters_changes_in,
)
from falkirk.storage.partition_directory import METADATA_DIRECTORY
from falkirk.storage.partition_metadata import PartitionMetadata, format_partition_metadata
from falkirk.storage.quorum_state import NO_LEADER, NO_VOTE, QuorumState, format_quorum_state, parse_quorum_state
from falkirk.storage.segment_log import LogSegment, SegmentLog
from falkirk.storage.snapshot_creation import SnapshotCreation
from falkirk.storage.snapshot_store import SnapshotStore
from falkirk.storage.snapshot_writer import SnapshotWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from falkirk.protocol.level_change import LevelChange
    from falkirk.protocol.messages.voters_record import VotersRecord
    from falkirk.protocol.snapshot_chunk import SnapshotChunk
    from falkirk.storage.disk import Disk
    from falkirk.storage.metadata_log_scan import MetadataLogScan
    from falkirk.storage.snapshot_file import Snapshot

_APPLY_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataLogSettings:
    """Kafka's settings of the metadata log, with its defaults; -1 for no limit of retention.

    `tail_bytes`: how much of the log's end stays in memory. `snapshot_piece_bytes`: how much of a snapshot is written
    and synced at once.
    """

    segment_bytes: int = 1024 * 1024 * 1024  # metadata.log.segment.bytes
    segment_ms: int = 7 * 24 * 3600 * 1000  # metadata.log.segment.ms
    retention_bytes: int = 100 * 1024 * 1024  # metadata.max.retention.bytes
    retention_ms: int = 7 * 24 * 3600 * 1000  # metadata.max.retention.ms
    tail_bytes: int = 16 * 1024 * 1024
    snapshot_piece_bytes: int = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataLogRecovery:
    """What opening had to repair: a torn tail truncated, files removed, a log that a newer snapshot replaced."""

    torn: TornSegment | None = None
    removed: tuple[str, ...] = ()
    truncated_to: OffsetAndEpoch | None = None


class ElectionState(Protocol):
    """What must survive a restart, as raft hands it over. None: no leader, no vote."""

    @property
    def epoch(self) -> int: ...  # noqa: D102 - named as in raft.output
    @property
    def leader_id(self) -> int | None: ...  # noqa: D102 - same
    @property
    def voted_id(self) -> int | None: ...  # noqa: D102 - same
    @property
    def voted_directory_id(self) -> bytes: ...  # noqa: D102 - same
    @property
    def kraft_version(self) -> int: ...  # noqa: D102 - same
    @property
    def voters(self) -> tuple[int, ...]: ...  # noqa: D102 - same


class MetadataLog:
    """A replica's log, snapshots and quorum-state; implements raft's ReplicatedLog.

    Every change is on disk when its call returns. Raises the disk's OSErrors; after one in a write of the log itself
    further writes are refused (see SegmentLog).
    """

    def __init__(self, disk: Disk, log_dir: str, settings: MetadataLogSettings | None = None) -> None:
        """Open the log in `log_dir` as Kafka does after a crash: `recovery` lists the repairs.

        Creates the directory if it does not exist. Raises CorruptFileError, and has changed nothing then, if anything
        but the last write is damaged, if the newest snapshot cannot be read, or if there is no snapshot for the log's
        start.
        """
        settings = MetadataLogSettings() if settings is None else settings
        self._disk = disk
        self._directory = f"{log_dir}/{METADATA_DIRECTORY}"
        self._settings = settings
        disk.make_directory(self._directory)
        scan = scan_metadata_log(disk, self._directory)
        self._epochs = scan.epochs
        self._changes = scan.voters_changes
        self._snapshots = SnapshotStore(disk, self._directory, scan.snapshots)
        self._snapshot_level: int | None = None
        self._snapshot_change = self._load_snapshot_change()
        # Of the provisional snapshot: its voters, and its metadata.version.
        self._provisional_content: tuple[VotersChange, int] | None = None
        self._log = SegmentLog(
            disk,
            self._directory,
            scan.segments or [LogSegment(base_offset=0, end_offset=0)],
            segment_bytes=settings.segment_bytes,
            segment_ms=settings.segment_ms,
            tail_bytes=settings.tail_bytes,
        )
        self._start_offset = self._log.base_offset
        self._levels = scan.level_changes
        self._lowerings = self._find_lowerings()
        self._quorum_state = self._read_quorum_state()
        self.recovery = self._recover(scan)

    @property
    def start_offset(self) -> int:
        """The first offset in the log."""
        return self._start_offset

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self._log.end_offset

    @property
    def last_epoch(self) -> int:
        """The epoch of the last batch, or of the latest snapshot if nothing follows it; 0 if both are missing."""
        epoch = self._epochs.latest_epoch
        if epoch is not None:
            return epoch
        latest = self._snapshots.latest
        return latest.epoch if latest is not None else 0

    @property
    def latest_snapshot(self) -> OffsetAndEpoch | None:
        """The newest complete snapshot."""
        return self._snapshots.latest

    @property
    def latest_snapshot_level(self) -> int | None:
        """Its metadata.version, 0 if it has none; None without a snapshot."""
        return self._snapshot_level

    @property
    def earliest_snapshot(self) -> OffsetAndEpoch | None:
        """The oldest complete snapshot that still exists."""
        return self._snapshots.earliest

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return self._log.size

    def end_offset_for_epoch(self, epoch: int) -> OffsetAndEpoch:
        """Return the largest epoch not above `epoch`, and its end (Kafka's ReplicatedLog.endOffsetForEpoch)."""
        if self._epochs.latest_epoch is None:
            return OffsetAndEpoch(self.end_offset, self.last_epoch)
        found = self._epochs.end_offset_for(epoch, self.end_offset)
        if found is not None:
            return found
        return self._snapshots.earliest or OffsetAndEpoch(self._start_offset, epoch)

    def read(self, offset: int, bytes_max: int) -> bytes:
        """Return whole batches from the one that contains `offset` on, at least one; `b""` if there is none."""
        batches = self._log.read(offset, bytes_max)
        return b"".join(batch.data for batch in batches)

    def batches(self, from_offset: int, to_offset: int) -> Iterator[RecordBatch]:
        """Yield the batches from the one that contains `from_offset` on that begin before `to_offset`.

        Mostly from memory. Raises CorruptFileError if a file is no longer what was written.
        """
        while from_offset < to_offset:
            for batch in self._log.read(from_offset, _APPLY_BYTES, check_crc=True):
                if batch.base_offset >= to_offset:
                    return
                yield batch
                from_offset = batch.end_offset

    def append(self, data: bytes | memoryview, *, is_synced: bool = True) -> None:
        """Append whole batches, with one sync (and one more for the epochs' file at a new epoch).

        Unless `is_synced` the sync is left to `sync`, or to the next change.

        Raises RemoteProtocolError, and writes nothing, if the bytes are damaged, are not contiguous with the log, or
        contain malformed control records.
        """
        batches = list(read_batches(data))
        assert batches
        self._check_order(batches)
        changes = [change for batch in batches if batch.is_control for change in voters_changes_in(batch)]
        levels = [change for batch in batches for change in level_changes_in(batch)]
        self._log.append(data, batches, is_synced=is_synced)
        self._changes += changes
        if levels:
            self._set_levels([*self._levels, *levels])
        # All of them, not only the last: a fetch may contain more than one epoch.
        if any([self._epochs.assign(batch.leader_epoch, batch.base_offset) for batch in batches]):  # noqa: C419
            self._log.sync()
            self._write_epochs()

    def sync(self) -> None:
        """Sync what was appended without that."""
        self._log.sync()

    def truncate(self, end_offset: int) -> None:
        """Truncate the log to `end_offset`; a batch that contains that offset is removed as a whole."""
        assert end_offset >= self._start_offset
        self._log.truncate(end_offset)
        self._changes = [change for change in self._changes if change.offset < self.end_offset]
        self._set_levels([change for change in self._levels if change.end_offset <= self.end_offset])
        if self._epochs.truncate_from_end(self.end_offset):
            self._write_epochs()

    def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, bytes_max: int) -> SnapshotChunk | None:
        """Return a chunk of a snapshot's file; None if the snapshot does not exist, or no longer."""
        return self._snapshots.read(snapshot, position, bytes_max)

    def load_snapshot(self, snapshot: OffsetAndEpoch) -> Snapshot:
        """Read a snapshot to apply it. Raises CorruptFileError."""
        return self._snapshots.load(snapshot)

    def voters_changes(self) -> Sequence[VotersChange]:
        """Return the changes of voters in the latest snapshot (at its end offset) and the log behind it, in order."""
        first = self._snapshot_change
        if first is None:
            return tuple(self._changes)
        behind = [change for change in self._changes if change.offset >= first.offset]
        if first.kraft_version is None and first.voters is None:
            return tuple(behind)
        return (first, *behind)

    @property
    def lowerings(self) -> Sequence[LevelChange]:
        """The batches in the log, committed or not, that lower metadata.version, in order."""
        return self._lowerings

    def segment_from(self, offset: int) -> int:
        """Return the base offset of the first segment without anything before `offset`; start one if there is none.

        A snapshot that ends there or later lets `delete_before` remove everything before `offset` from the disk.
        """
        base = self._log.base_from(offset)
        if base is None:
            self._log.roll()
            base = self._log.base_from(offset)
        assert base is not None, "the log has reached that offset"
        return base

    def write_snapshot_chunk(self, snapshot: OffsetAndEpoch, position: int, data: bytes | memoryview) -> None:
        """Append a chunk of a fetched snapshot to its partial file; position 0 starts the file anew."""
        self._snapshots.write_chunk(snapshot, position, data)

    def install_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        """Make the fetched file the snapshot, and empty the log, which continues at its end.

        Raises CorruptFileError if the file is not a complete snapshot; it is removed, and nothing else has changed.
        """
        contents = self._snapshots.install(snapshot)
        self._snapshot_change = VotersChange(snapshot.offset, contents.kraft_version, contents.voters)
        self._snapshot_level = level_of(contents)
        self._restart_at(snapshot)

    def begin_snapshot(
        self,
        snapshot: OffsetAndEpoch,
        values: Iterable[bytes],
        *,
        level: int,
        kraft_version: int,
        voters: VotersRecord | None,
        last_contained_log_timestamp: int,
        clock: Callable[[], int],
        is_provisional: bool = False,
    ) -> SnapshotCreation | None:
        """Start a snapshot of what is committed below its end; None if it exists already, or a newer one does.

        `values`: the image's records with their frames; `level`: their metadata.version. `clock` (ms) is read once for
        each batch. One at a time; it must be abandoned if `install_snapshot` replaces the log.
        `is_provisional`: of what may not be committed; when it is complete it is `provisional_snapshot`, which nothing
        but `read_snapshot` sees until `keep_provisional`. One at a time, too, beside the other.
        """
        latest = self._snapshots.latest
        if latest is not None and snapshot.offset <= latest.offset:
            return None
        assert snapshot.offset <= self.end_offset
        assert self.end_offset_for_epoch(snapshot.epoch).epoch == snapshot.epoch
        writer = SnapshotWriter(
            epoch=snapshot.epoch,
            last_contained_log_timestamp=last_contained_log_timestamp,
            clock=clock,
            kraft_version=kraft_version,
            voters=voters,
        )

        change = VotersChange(snapshot.offset, kraft_version or None, voters)

        def complete() -> None:
            if is_provisional:
                self._snapshots.provisional = snapshot
                self._provisional_content = change, level
            else:
                self._snapshots.complete_own(snapshot)
                self._snapshot_change, self._snapshot_level = change, level

        store = self._snapshots
        return SnapshotCreation(
            self._disk,
            store.provisional_path(snapshot) if is_provisional else store.own_partial_path(snapshot),
            values,
            writer,
            piece_bytes=self._settings.snapshot_piece_bytes,
            complete=complete,
        )

    @property
    def provisional_snapshot(self) -> OffsetAndEpoch | None:
        """A snapshot of what may not be committed; it is gone after a restart."""
        return self._snapshots.provisional

    def keep_provisional(self) -> None:
        """Make the provisional snapshot the newest one: all of it is committed."""
        assert self._provisional_content is not None
        self._snapshots.keep_provisional()
        self._snapshot_change, self._snapshot_level = self._provisional_content
        self._provisional_content = None

    def discard_provisional(self) -> None:
        """Remove the provisional snapshot, if there is one."""
        self._snapshots.discard_provisional()
        self._provisional_content = None

    def clean(self, now_ms: int) -> tuple[str, ...]:
        """Remove the oldest snapshots, and the segments before those kept, as retention requires; return the names.

        The newest snapshot stays. As in Kafka, a snapshot's age is that of the last record in it.
        """
        return (*self._clean_by_size(), *self._clean_by_age(now_ms))

    def delete_before(self, snapshot: OffsetAndEpoch) -> tuple[str, ...]:
        """Move the log's start to a snapshot's end; return the names of the removed segments and snapshots.

        Does nothing if the snapshot does not exist or the log starts there already.
        """
        if snapshot not in self._snapshots.ids or snapshot.offset <= self._start_offset:
            return ()
        self._start_offset = snapshot.offset
        self._set_levels([change for change in self._levels if change.end_offset > snapshot.offset])
        segments = self._log.delete_before(snapshot.offset)
        if self._epochs.truncate_from_start(snapshot.offset):
            self._write_epochs()
        return (*segments, *self._snapshots.remove_before(snapshot))

    @property
    def quorum_state(self) -> QuorumState | None:
        """What was last written, None before that."""
        return self._quorum_state

    def write_election_state(self, state: ElectionState) -> None:
        """Write `quorum-state`, in the version for the kraft.version."""
        common = QuorumState(
            data_version=1 if state.kraft_version > 0 else 0,
            leader_epoch=state.epoch,
            leader_id=NO_LEADER if state.leader_id is None else state.leader_id,
            voted_id=NO_VOTE if state.voted_id is None else state.voted_id,
            current_voters=state.voters,
        )
        if state.kraft_version > 0:
            common = replace(common, voted_directory_id=state.voted_directory_id, current_voters=())
        self._disk.write(f"{self._directory}/{quorum_state.FILE_NAME}", [format_quorum_state(common)])
        self._quorum_state = common

    def _recover(self, scan: MetadataLogScan) -> MetadataLogRecovery:
        if scan.torn is not None:
            self._disk.truncate(scan.torn.file, scan.torn.tail.position)
        for path in scan.leftovers:
            self._disk.remove(path)
        truncated_to = None
        latest = self._snapshots.latest
        # Kafka's truncateToLatestSnapshot: a crash after a fetch was complete, before the log was emptied.
        if latest is not None and (latest.epoch, latest.offset) > (self._epochs.latest_epoch or 0, self.end_offset):
            if self.end_offset > self._log.base_offset:
                truncated_to = latest
            self._restart_at(latest)
        on_disk = epochs_on_disk(self._disk, self._directory)
        if on_disk is None or on_disk.entries != self._epochs.to_leader_epochs().entries:
            self._write_epochs()
        metadata_path = f"{self._directory}/{partition_metadata.FILE_NAME}"
        if not self._disk.exists(metadata_path):
            content = format_partition_metadata(PartitionMetadata(topic_id=METADATA_TOPIC_ID))
            self._disk.write(metadata_path, [content])
        return MetadataLogRecovery(torn=scan.torn, removed=scan.leftovers, truncated_to=truncated_to)

    def _restart_at(self, snapshot: OffsetAndEpoch) -> None:
        self._log.clear(snapshot.offset)
        self._start_offset = snapshot.offset
        self._changes = []
        self._set_levels([])
        self._epochs.clear()
        self._write_epochs()
        self._snapshots.remove_before(snapshot)

    def _load_snapshot_change(self) -> VotersChange | None:
        latest = self._snapshots.latest
        if latest is None:
            return None
        contents = self._snapshots.load(latest)
        self._snapshot_level = level_of(contents)
        return VotersChange(latest.offset, contents.kraft_version, contents.voters)

    def _set_levels(self, changes: list[LevelChange]) -> None:
        if changes != self._levels:
            self._levels = changes
            self._lowerings = self._find_lowerings()

    def _find_lowerings(self) -> Sequence[LevelChange]:
        return lowerings(self._levels, self._level_before(self._levels[0].base_offset)) if self._levels else ()

    def _level_before(self, offset: int) -> int:
        """Return the metadata.version before the log's first change, or 0 if that is the first of all.

        Not that of the snapshot that formatting leaves: it may differ from that of the first leader.
        """
        before = [snapshot for snapshot in self._snapshots.ids if 0 < snapshot.offset <= offset]
        if before and before[-1] == self._snapshots.latest and self._snapshot_level is not None:
            return self._snapshot_level
        if before:
            return level_of(self._snapshots.load(before[-1]))
        return UNKNOWN_LEVEL if self._log.base_offset > 0 else 0

    def _check_order(self, batches: Sequence[RecordBatch]) -> None:
        offset, epoch = self.end_offset, self.last_epoch
        for batch in batches:
            if batch.base_offset != offset:
                reason = f"batch begins at offset {batch.base_offset}, {offset} was expected"
                raise RemoteProtocolError(reason, offset=batch.position)
            if batch.leader_epoch < epoch:
                reason = f"batch of offset {offset} has leader epoch {batch.leader_epoch} after {epoch}"
                raise RemoteProtocolError(reason, offset=batch.position)
            offset, epoch = batch.end_offset, batch.leader_epoch

    def _clean_by_size(self) -> Iterator[str]:
        limit = self._settings.retention_bytes
        snapshots_size = sum(self._snapshots.summary(snapshot).size for snapshot in self._snapshots.ids)
        for oldest, following in pairwise(tuple(self._snapshots.ids)):
            if limit < 0 or self.size + snapshots_size <= limit:
                return
            snapshots_size -= self._snapshots.summary(oldest).size
            yield from self.delete_before(following)

    def _clean_by_age(self, now_ms: int) -> Iterator[str]:
        limit = self._settings.retention_ms
        for oldest, following in pairwise(tuple(self._snapshots.ids)):
            if limit < 0 or now_ms - self._snapshots.summary(oldest).last_contained_log_timestamp <= limit:
                return
            yield from self.delete_before(following)

    def _write_epochs(self) -> None:
        content = leader_epochs.format_leader_epochs(self._epochs.to_leader_epochs())
        self._disk.write(f"{self._directory}/{leader_epochs.FILE_NAME}", [content])

    def _read_quorum_state(self) -> QuorumState | None:
        path = f"{self._directory}/{quorum_state.FILE_NAME}"
        return parse_quorum_state(self._disk.read(path), file=path) if self._disk.exists(path) else None
