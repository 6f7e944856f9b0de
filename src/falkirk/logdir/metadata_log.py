"""One node's metadata partition: its snapshots and log, where they end, and their records for the image loader."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from falkirk.ledger.findings import LedgerWarning, WarningKind
from falkirk.logdir.errors import DamagedLogError
from falkirk.metadata.records.batch import MetadataBatch
from falkirk.protocol.control_record import decode_control_record
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages.kraft_version_record import KRaftVersionRecord
from falkirk.protocol.messages.voters_record import VotersRecord
from falkirk.storage.bounded_read import read_bounded
from falkirk.storage.errors import CorruptFileError, errors_name
from falkirk.storage.partition_log import list_partition, read_segments
from falkirk.storage.quorum_state import FILE_NAME as QUORUM_STATE
from falkirk.storage.quorum_state import QuorumState, parse_quorum_state
from falkirk.storage.snapshot_file import (
    Snapshot,
    SnapshotId,
    SnapshotName,
    SnapshotState,
    format_snapshot_name,
    read_snapshot,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.storage.disk import Disk


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataLog:
    """The sound contents of a metadata partition.

    `end_offset` is exclusive, `epoch` that of the last record. `batches` follow `snapshot`, the newest complete one
    (None: they begin at offset 0); `earlier` are those in it that the log still has. `kraft_version` and `voters` are
    the last ones of snapshot and log.
    """

    directory: Path
    snapshot_id: SnapshotId | None
    snapshot: Snapshot | None
    earlier: tuple[tuple[str, RecordBatch], ...]
    batches: tuple[tuple[str, RecordBatch], ...]
    end_offset: int
    epoch: int
    last_timestamp: int
    kraft_version: int
    voters: VotersRecord | None
    quorum_state: QuorumState | None
    problems: tuple[LedgerWarning, ...]

    def metadata_batches(self) -> Iterator[MetadataBatch]:
        """Yield the batches of the snapshot, then those of the log."""
        yield from self.snapshot_batches()
        yield from self.log_batches()

    def snapshot_batches(self) -> Iterator[MetadataBatch]:
        """Yield the snapshot's data batches for the image loader; offsets start at 0, as in the file."""
        if self.snapshot is not None and self.snapshot_id is not None:
            name = format_snapshot_name(SnapshotName(id=self.snapshot_id))
            for batch in self.snapshot.data_batches:
                yield _metadata_batch(str(self.directory / name), batch)

    def log_batches(self) -> Iterator[MetadataBatch]:
        """Yield the log's batches after the snapshot; control batches have no values."""
        for file, batch in self.batches:
            yield _metadata_batch(file, batch)

    def earlier_batches(self) -> Iterator[MetadataBatch]:
        """Yield the log's batches that the snapshot contains, as far as they still exist."""
        for file, batch in self.earlier:
            yield _metadata_batch(file, batch)


def read_metadata_log(disk: Disk, directory: Path, *, check_crc: bool = True) -> MetadataLog:
    """Read a metadata partition.

    A torn tail ends the log and is reported in `problems`; so is an unreadable snapshot, if an older one and the log
    replace it. Raises CorruptFileError for a damaged batch, DamagedLogError for a gap.
    """
    problems: list[LedgerWarning] = []
    found = _newest_snapshot(disk, directory, problems, check_crc=check_crc)
    start = found[0].end_offset if found else 0
    contents = _LogContents(start=start, directory=directory)
    if found:
        contents.begin_with(*found)
    for reader in read_segments(disk, str(directory), contiguous=True, check_crc=check_crc):
        for batch in reader:
            contents.add(reader.file, batch)
        if reader.torn is not None:
            problems.append(_problem(WarningKind.TORN_LOG, reader.file, f"{reader.file}: {reader.torn}"))
    return MetadataLog(
        directory=directory,
        snapshot_id=found[0] if found else None,
        snapshot=found[1] if found else None,
        earlier=tuple(contents.earlier),
        batches=tuple(contents.batches),
        end_offset=contents.end_offset,
        epoch=contents.epoch,
        last_timestamp=contents.last_timestamp,
        kraft_version=contents.kraft_version,
        voters=contents.voters,
        quorum_state=_read_quorum_state(disk, directory),
        problems=tuple(problems),
    )


def _newest_snapshot(
    disk: Disk, directory: Path, problems: list[LedgerWarning], *, check_crc: bool
) -> tuple[SnapshotId, Snapshot] | None:
    names = list_partition(disk, str(directory)).metadata_snapshots
    for name in sorted((n for n in names if n.state is SnapshotState.COMPLETE), key=lambda n: n.id, reverse=True):
        file = str(directory / format_snapshot_name(name))
        try:
            snapshot = read_snapshot(disk.view(file), file=file, check_crc=check_crc)
        except CorruptFileError as error:
            problems.append(_problem(WarningKind.DAMAGED_SNAPSHOT, file, str(error)))
            continue
        if snapshot.is_complete:
            return name.id, snapshot
        text = f"{file}: snapshot has no footer: it was never finished"
        problems.append(_problem(WarningKind.UNFINISHED_SNAPSHOT, file, text))
    return None


def _problem(kind: WarningKind, file: str, text: str) -> LedgerWarning:
    return LedgerWarning(kind=kind, fields={"path": file}, text=text)


def _read_quorum_state(disk: Disk, directory: Path) -> QuorumState | None:
    file = str(directory / QUORUM_STATE)
    return parse_quorum_state(read_bounded(disk, file), file=file) if disk.exists(file) else None


@dataclass(slots=True, kw_only=True)
class _LogContents:
    """Collects the batches after the snapshot."""

    start: int
    directory: Path
    earlier: list[tuple[str, RecordBatch]] = field(default_factory=list)
    batches: list[tuple[str, RecordBatch]] = field(default_factory=list)
    end_offset: int = 0
    epoch: int = 0
    last_timestamp: int = 0
    kraft_version: int = 0
    voters: VotersRecord | None = None

    def begin_with(self, snapshot_id: SnapshotId, snapshot: Snapshot) -> None:
        self.end_offset, self.epoch = snapshot_id.end_offset, snapshot_id.epoch
        self.last_timestamp = snapshot.last_contained_log_timestamp
        self.kraft_version, self.voters = snapshot.kraft_version or 0, snapshot.voters

    def add(self, file: str, batch: RecordBatch) -> None:
        if batch.end_offset <= self.start:
            self.earlier.append((file, batch))
            return
        if batch.base_offset > self.end_offset:
            raise DamagedLogError(
                f"{file}: the log begins at offset {batch.base_offset}, and nothing holds what is before it: "
                f"{'the newest readable snapshot ends' if self.start else 'no snapshot is readable; a log begins'} "
                f"at offset {self.end_offset}"
            )
        self.batches.append((file, batch))
        self.end_offset = batch.end_offset
        self.epoch = batch.leader_epoch
        if batch.is_control:
            self._add_control(file, batch)
        else:
            self.last_timestamp = batch.max_timestamp

    def _add_control(self, file: str, batch: RecordBatch) -> None:
        with errors_name(file):
            for record in batch.records():
                try:
                    message = decode_control_record(record.key, record.value).message
                except RemoteProtocolError as error:
                    raise CorruptFileError(
                        f"control record at offset {record.offset}: {error.reason}", offset=batch.position, file=file
                    ) from error
                if isinstance(message, KRaftVersionRecord):
                    self.kraft_version = message.kraft_version
                elif isinstance(message, VotersRecord):
                    self.voters = message


def _metadata_batch(file: str, batch: RecordBatch) -> MetadataBatch:
    with errors_name(file):
        return MetadataBatch.of(batch, file)
