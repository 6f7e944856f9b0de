"""Reads a metadata partition when a node starts. Read only: damage is found before anything is changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol.control_record import ControlRecordType, control_record_type, decode_control_record
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages.kraft_version_record import KRaftVersionRecord
from falkirk.protocol.messages.voters_record import VotersRecord
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.protocol.voters_change import VotersChange
from falkirk.storage import leader_epochs, partition_metadata
from falkirk.storage.disk import ASIDE_SUFFIX
from falkirk.storage.errors import CorruptFileError, errors_name
from falkirk.storage.leader_epoch_cache import LeaderEpochCache
from falkirk.storage.level_changes import level_changes_in
from falkirk.storage.partition_log import PartitionFiles, list_partition, read_segments
from falkirk.storage.segment import TornTail, format_segment_file
from falkirk.storage.segment_log import LogSegment
from falkirk.storage.snapshot_file import SnapshotState, format_snapshot_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.protocol.level_change import LevelChange
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.storage.disk import Disk
    from falkirk.storage.segment import SegmentReader

METADATA_TOPIC_ID: Final = bytes(15) + b"\x01"
_VOTERS_TYPES: Final = frozenset((ControlRecordType.KRAFT_VERSION, ControlRecordType.KRAFT_VOTERS))


@dataclass(frozen=True, slots=True, kw_only=True)
class TornSegment:
    """The last segment ended in an unfinished write; what is behind `tail.position` is to be truncated."""

    file: str
    tail: TornTail


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataLogScan:
    """The valid part of a metadata partition. `leftovers`: paths of files to remove."""

    segments: list[LogSegment]
    epochs: LeaderEpochCache
    voters_changes: list[VotersChange]
    level_changes: "list[LevelChange]"
    snapshots: list[OffsetAndEpoch]
    torn: TornSegment | None
    leftovers: tuple[str, ...]


def scan_metadata_log(disk: Disk, directory: str) -> MetadataLogScan:
    """Read the whole log, and find the snapshots.

    Raises CorruptFileError for damage that is not a torn tail, for a gap, for a log that starts behind every snapshot,
    and for the directory of another topic.
    """
    _check_topic(disk, f"{directory}/{partition_metadata.FILE_NAME}")
    files = list_partition(disk, directory)
    scan = _Segments()
    for reader in read_segments(disk, directory, contiguous=True, cuts_bad_end=True):
        scan.add(reader)
    start_offset = scan.segments[0].base_offset if scan.segments else 0
    complete = [name.id for name in files.metadata_snapshots if name.state is SnapshotState.COMPLETE]
    kept = [OffsetAndEpoch(known.end_offset, known.epoch) for known in complete if known.end_offset >= start_offset]
    if start_offset > 0 and not kept:
        raise CorruptFileError(
            f"the log begins at offset {start_offset}, and there is no snapshot that ends there or later",
            offset=0,
            file=directory,
        )
    return MetadataLogScan(
        segments=scan.segments,
        epochs=scan.epochs,
        voters_changes=scan.voters_changes,
        level_changes=scan.level_changes,
        snapshots=kept,
        torn=scan.torn,
        leftovers=tuple(f"{directory}/{name}" for name in _leftovers(files, start_offset)),
    )


def voters_changes_in(batch: RecordBatch) -> Iterator[VotersChange]:
    """Yield the changes of voters in a control batch. Raises RemoteProtocolError for a malformed record."""
    for record in batch.records():
        if control_record_type(record.key) in _VOTERS_TYPES:
            message = decode_control_record(record.key, record.value).message
            if isinstance(message, KRaftVersionRecord):
                yield VotersChange(record.offset, message.kraft_version, None)
            elif isinstance(message, VotersRecord):
                yield VotersChange(record.offset, None, message)


def epochs_on_disk(disk: Disk, directory: str) -> leader_epochs.LeaderEpochs | None:
    """Return the content of `leader-epoch-checkpoint`; None if it cannot be read: the log has everything."""
    path = f"{directory}/{leader_epochs.FILE_NAME}"
    if not disk.exists(path):
        return None
    try:
        return leader_epochs.parse_leader_epochs(disk.read(path), file=path)
    except CorruptFileError:
        return None


class _Segments:
    """Collects the contents of the segments, in order."""

    def __init__(self) -> None:
        self.segments: list[LogSegment] = []
        self.epochs = LeaderEpochCache()
        self.voters_changes: list[VotersChange] = []
        self.level_changes: list[LevelChange] = []
        self.torn: TornSegment | None = None

    def add(self, reader: SegmentReader) -> None:
        segment = LogSegment(base_offset=reader.base_offset, end_offset=reader.base_offset)
        self.segments.append(segment)
        with errors_name(reader.file):
            for batch in reader:
                self._check_epoch(batch)
                segment.add(batch)
                self.epochs.assign(batch.leader_epoch, batch.base_offset)
                if batch.is_control:
                    self.voters_changes.extend(voters_changes_in(batch))
                else:
                    self.level_changes.extend(level_changes_in(batch))
        if reader.torn is not None:
            self.torn = TornSegment(file=reader.file, tail=reader.torn)

    def _check_epoch(self, batch: RecordBatch) -> None:
        latest = self.epochs.latest_epoch
        if batch.leader_epoch < (0 if latest is None else latest):
            reason = f"batch of offset {batch.base_offset} has leader epoch {batch.leader_epoch} after {latest}"
            raise RemoteProtocolError(reason, offset=batch.position)


def _check_topic(disk: Disk, path: str) -> None:
    if disk.exists(path):
        topic_id = partition_metadata.parse_partition_metadata(disk.read(path), file=path).topic_id
        if topic_id != METADATA_TOPIC_ID:
            raise CorruptFileError("topic_id is not that of the metadata topic", offset=0, file=path)


def _leftovers(files: PartitionFiles, start_offset: int) -> Iterator[str]:
    for name in files.metadata_snapshots:
        if name.state is not SnapshotState.COMPLETE or name.id.end_offset < start_offset:
            yield format_snapshot_name(name)
    for file in files.marked_files:
        # Files marked `swap` have valid data of unknown origin: nothing compacts this log.
        if file.marker != "swap":
            yield format_segment_file(file)
    for other in files.other_files:
        if other.endswith(ASIDE_SUFFIX):
            yield other
