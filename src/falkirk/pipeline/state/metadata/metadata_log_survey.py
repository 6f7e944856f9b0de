"""The end of a metadata partition, from file names, the last batches and quorum-state.

Every node has the cluster's log, and only one of them is read.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from falkirk.protocol.control_record import ControlRecordType, control_record_type
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record_batch import HEADER_BYTES, LENGTH_END, MAGIC, MAGIC_AT, RecordBatch, read_batch
from falkirk.storage.batch_borders import iter_borders
from falkirk.storage.bounded_read import read_bounded
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.partition_log import list_partition
from falkirk.storage.quorum_state import FILE_NAME as QUORUM_STATE
from falkirk.storage.quorum_state import QuorumState, parse_quorum_state
from falkirk.storage.segment import SegmentFile, format_segment_file
from falkirk.storage.snapshot_file import SnapshotId, SnapshotName, SnapshotState, format_snapshot_name

if TYPE_CHECKING:
    from falkirk.pipeline.filesystem import Location

# A footer takes some 80 bytes: its batch has one record of a few bytes.
_FOOTER_BYTES_MAX: Final = 512
# If more batches at the end of a log are invalid, its end counts as unknown.
_DAMAGED_BATCHES_MAX: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedLog:
    """One node's metadata partition. `snapshots` are complete ones, newest first; `segments` are base offsets.

    `end_offset` is exclusive, and 0 for an empty log; `epoch` is that of the last record. `has_bytes`: something was
    written, valid or not; `has_unfinished`: an unfinished snapshot is among it.
    """

    directory: Location
    snapshots: tuple[SnapshotId, ...]
    segments: tuple[int, ...]
    end_offset: int
    epoch: int
    has_bytes: bool
    has_unfinished: bool
    quorum_state: QuorumState | None
    # Rows of the table `problems`, without the node.
    problems: list[dict[str, Any]] = field(default_factory=list)  # Any: values of columns

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing at all."""
        return not self.has_bytes and not self.snapshots

    @property
    def never_ran(self) -> bool:
        """Whether nothing was ever committed here, as far as the files show."""
        return self.end_offset == 0 and self.segments[:1] in {(), (0,)} and not self.has_unfinished

    def snapshot(self, snapshot_id: SnapshotId) -> Location:
        """Return a snapshot's file."""
        return self.directory / format_snapshot_name(SnapshotName(id=snapshot_id))

    def segment(self, base_offset: int) -> Location:
        """Return a segment's file."""
        return self.directory / format_segment_file(SegmentFile(base_offset=base_offset, kind="log"))


def survey_metadata_log(directory: Location) -> SurveyedLog:
    """Survey a metadata partition. Raises OSError if the directory cannot be listed."""
    problems: list[dict[str, Any]] = []  # Any: values of columns
    files = list_partition(directory.disk, directory.path)
    snapshots = []
    for name in sorted(files.metadata_snapshots, key=lambda name: name.id, reverse=True):
        if name.state is SnapshotState.COMPLETE:
            file = directory / format_snapshot_name(name)
            problem = _snapshot_problem(file)
            if problem is None:
                snapshots.append(name.id)
            else:
                problems.append(_unreadable(file, problem))
    end_offset, epoch = (snapshots[0].end_offset, snapshots[0].epoch) if snapshots else (0, 0)
    has_unfinished = bool(problems)
    last = _last_batch(directory, files.segments)
    if last is not None and last.end_offset > end_offset:
        end_offset, epoch = last.end_offset, last.leader_epoch
    return SurveyedLog(
        directory=directory,
        snapshots=tuple(snapshots),
        segments=files.segments,
        end_offset=end_offset,
        epoch=epoch,
        has_bytes=last is not None or has_unfinished or any(_has_bytes(directory, base) for base in files.segments),
        has_unfinished=has_unfinished,
        quorum_state=_quorum_state(directory, files.other_files, problems),
        problems=problems,
    )


def _snapshot_problem(file: Location) -> str | None:
    """Return why a file is no complete snapshot; None if it is one, as far as its end shows."""
    try:
        return None if _has_footer(file) else "snapshot has no footer: it was never finished"
    except OSError as error:
        # Also a directory in the file's place; older snapshots and the log still count.
        return str(error)


def _has_footer(file: Location) -> bool:
    """Return whether a snapshot ends with its footer; the rest of it is not read."""
    size = file.disk.size(file.path)
    tail = memoryview(file.disk.read(file.path, max(size - _FOOTER_BYTES_MAX, 0), _FOOTER_BYTES_MAX))
    # Other numbers may look like a batch's length, for example the offset before it.
    return any(_is_footer(tail, at) for at in range(len(tail) - HEADER_BYTES + 1) if _may_be_batch(tail, at))


def _may_be_batch(tail: memoryview, at: int) -> bool:
    """Return whether the length of a batch that begins here would reach the end of the file."""
    length = int.from_bytes(tail[at + 8 : at + LENGTH_END], "big")
    return length + LENGTH_END == len(tail) - at and tail[at + MAGIC_AT] == MAGIC


def _is_footer(tail: memoryview, at: int) -> bool:
    try:
        batch = read_batch(tail, at)
        return batch.is_control and any(
            control_record_type(record.key) == ControlRecordType.SNAPSHOT_FOOTER for record in batch.records()
        )
    except RemoteProtocolError:
        return False


def _last_batch(directory: Location, segments: tuple[int, ...]) -> RecordBatch | None:
    """Return the last valid batch of the last segment that has any."""
    for base_offset in reversed(segments):
        try:
            last = _last_batch_of(directory / format_segment_file(SegmentFile(base_offset=base_offset, kind="log")))
        except OSError:
            continue  # reported where the segment is read
        if last is not None:
            return last
    return None


def _last_batch_of(file: Location) -> RecordBatch | None:
    borders = deque([0], maxlen=_DAMAGED_BATCHES_MAX + 1)
    borders.extend(iter_borders(file.disk, file.path, 0, file.disk.size(file.path)))
    end = borders.pop()
    while borders:
        start = borders.pop()
        try:
            return read_batch(memoryview(file.disk.read(file.path, start, end - start)), 0)
        except RemoteProtocolError:
            end = start
    return None


def _has_bytes(directory: Location, base_offset: int) -> bool:
    file = directory / format_segment_file(SegmentFile(base_offset=base_offset, kind="log"))
    try:
        return file.disk.size(file.path) > 0
    except OSError:
        return True


def _quorum_state(
    directory: Location,
    names: tuple[str, ...],
    problems: list[dict[str, Any]],  # Any: values of columns
) -> QuorumState | None:
    if QUORUM_STATE not in names:
        return None
    file = directory / QUORUM_STATE
    try:
        return parse_quorum_state(read_bounded(file.disk, file.path, file=file.uri), file=file.uri)
    except (CorruptFileError, OSError) as error:
        problems.append(_unreadable(file, str(error)))
        return None


def _unreadable(file: Location, detail: str) -> dict[str, Any]:  # Any: values of columns
    return {"source": file.uri, "kind": "unreadable file", "count": 1, "detail": detail}
