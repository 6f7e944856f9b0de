"""Metadata snapshots, `<end offset>-<epoch>.checkpoint` in the metadata partition: names, and reading (KIP-630).

A snapshot is a small log of its own with offsets from 0: a control batch with SNAPSHOT_HEADER (at kraft.version 1 also
KRAFT_VERSION and KRAFT_VOTERS, KIP-853), data batches, and a control batch with SNAPSHOT_FOOTER. Without its footer it
is incomplete. `snapshot_writer` writes them; `bootstrap.checkpoint` has the same form.
"""

import enum
import re
from dataclasses import dataclass

from falkirk.protocol.control_record import decode_control_record
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages.kraft_version_record import KRaftVersionRecord
from falkirk.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from falkirk.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from falkirk.protocol.messages.voters_record import VotersRecord
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import RecordBatch
from falkirk.storage.errors import CorruptFileError, errors_name
from falkirk.storage.segment import SegmentReader, TornTail

_NAME = re.compile(r"([0-9]{20})-([0-9]{10})(?:-([0-9]+))?(\.checkpoint(?:\.part|\.deleted)?)\Z")
_INT64_MAX = (1 << 63) - 1
_INT32_MAX = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SnapshotId:
    """A snapshot has everything below `end_offset`; `epoch` is that of its last record. Epochs are compared first."""

    epoch: int
    end_offset: int


class SnapshotState(enum.Enum):
    """The state that the file's name marks. The values are the endings of names."""

    COMPLETE = ".checkpoint"
    PARTIAL = ".checkpoint.part"
    """Being written or fetched; a random number precedes the ending."""
    DELETED = ".checkpoint.deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotName:
    """A file name; `unique_id` is in Kafka's names of partial files."""

    id: SnapshotId
    state: SnapshotState = SnapshotState.COMPLETE
    unique_id: str = ""


def parse_snapshot_name(name: str) -> SnapshotName | None:
    """Read a file name; None if it is not that of a snapshot."""
    match = _NAME.match(name)
    if match is None or int(match.group(1)) > _INT64_MAX or int(match.group(2)) > _INT32_MAX:
        return None
    state = SnapshotState(match.group(4))
    if (match.group(3) is not None) != (state is SnapshotState.PARTIAL):
        return None
    snapshot_id = SnapshotId(epoch=int(match.group(2)), end_offset=int(match.group(1)))
    return SnapshotName(id=snapshot_id, state=state, unique_id=match.group(3) or "")


def format_snapshot_name(name: SnapshotName) -> str:
    """Write a file name."""
    unique_id = f"-{name.unique_id}" if name.state is SnapshotState.PARTIAL else ""
    return f"{name.id.end_offset:020d}-{name.id.epoch:010d}{unique_id}{name.state.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The result of one pass over the batch headers; data batches are views, their records not decoded.

    `kraft_version` None means that the snapshot has none (that is 0). An incomplete snapshot (`is_complete` False) is
    what a crash leaves of a partial file; `torn` is set if it ends inside a batch.
    """

    last_contained_log_timestamp: int
    kraft_version: int | None
    voters: VotersRecord | None
    leader_epoch: int
    data_batches: tuple[RecordBatch, ...]
    end_offset: int
    """Records in the file, control records included."""
    is_complete: bool
    torn: TornTail | None


def read_snapshot(
    data: bytes | bytearray | memoryview, *, file: str, check_crc: bool = True, checked_bytes: int = 0
) -> Snapshot:
    """Read a snapshot or `bootstrap.checkpoint`, of which the CRCs of `checked_bytes` were checked before.

    Raises CorruptFileError for damaged batches, offsets with gaps, a file that does not begin with a header, unknown
    control records, or anything behind the footer. A file without any complete batch is incomplete.
    """
    reader = SegmentReader(
        data, file=file, base_offset=0, contiguous=True, check_crc=check_crc, checked_bytes=checked_bytes
    )
    contents = _Contents(file)
    for batch in reader:
        with errors_name(file):
            contents.add(batch)
    return Snapshot(
        last_contained_log_timestamp=contents.last_contained_log_timestamp,
        kraft_version=contents.kraft_version,
        voters=contents.voters,
        leader_epoch=reader.leader_epoch,
        data_batches=tuple(contents.data_batches),
        end_offset=reader.end_offset,
        is_complete=contents.has_footer and reader.torn is None,
        torn=reader.torn,
    )


class _Contents:
    """Collects the contents of a snapshot's batches, in order."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._has_header = False
        self.has_footer = False
        self.last_contained_log_timestamp = 0
        self.kraft_version: int | None = None
        self.voters: VotersRecord | None = None
        self.data_batches: list[RecordBatch] = []

    def add(self, batch: RecordBatch) -> None:
        """Add the next batch."""
        if self.has_footer:
            raise self._corrupt("batch follows the snapshot's footer", batch)
        if not batch.is_control:
            self._require_header(batch)
            self.data_batches.append(batch)
            return
        for record in batch.records():
            self._add_control(record, batch)

    def _add_control(self, record: Record, batch: RecordBatch) -> None:
        try:
            control = decode_control_record(record.key, record.value)
        except RemoteProtocolError as error:
            raise self._corrupt(error.reason, batch) from error
        message = control.message
        if isinstance(message, SnapshotHeaderRecord) and not self._has_header:
            self._has_header = True
            self.last_contained_log_timestamp = message.last_contained_log_timestamp
            return
        self._require_header(batch)
        if isinstance(message, KRaftVersionRecord):
            self.kraft_version = message.kraft_version
        elif isinstance(message, VotersRecord):
            self.voters = message
        elif isinstance(message, SnapshotFooterRecord):
            self.has_footer = True
        else:
            raise self._corrupt(f"control record of type {control.record_type} does not belong into a snapshot", batch)

    def _require_header(self, batch: RecordBatch) -> None:
        if not self._has_header:
            raise self._corrupt("snapshot does not begin with a header", batch)

    def _corrupt(self, reason: str, batch: RecordBatch) -> CorruptFileError:
        return CorruptFileError(
            f"{reason}, batch of offset {batch.base_offset}", offset=batch.position, file=self._file
        )
