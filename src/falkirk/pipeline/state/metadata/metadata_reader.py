"""Read snapshots and segments of a metadata log into rows, whatever their condition.

Damaged bytes are reported and left out; reading goes on behind them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from falkirk.columnar.batch_table import BatchTable, iter_batch_tables
from falkirk.columnar.metadata_frames import metadata_frames
from falkirk.columnar.metadata_tables import OTHER_TYPES, typed_rows
from falkirk.columnar.other_records import other_messages
from falkirk.columnar.record_frames import iter_record_blocks
from falkirk.columnar.report import Problem, ReadReport
from falkirk.pipeline.readers.chunks import iter_chunks
from falkirk.pipeline.readers.origin import Origin
from falkirk.pipeline.readers.problem_rows import problem_rows, unreadable_row
from falkirk.pipeline.state.metadata.batch_chain import BatchChain, BrokenChain
from falkirk.pipeline.state.metadata.metadata_rows import (
    BULK,
    ORDER_MAX,
    MetadataRows,
    OtherRecord,
    RowParts,
    earlier_rows,
    state_rows,
)
from falkirk.protocol.control_record import decode_control_record
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import METADATA_RECORDS

if TYPE_CHECKING:
    from falkirk.columnar.record_frames import RecordBlock
    from falkirk.pipeline.filesystem import Location
    from falkirk.pipeline.readers.chunks import Chunk
    from falkirk.protocol.schema import WireMessage

    Row = dict[str, Any]  # Any: values of columns

NO_LIMIT: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimits:
    """The records of a log that count: those below `end`; those below `start` are earlier ones."""

    start: int = 0
    end: int = NO_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """A file and the byte up to which it was read; batches behind it are not used."""

    location: Location
    end: int


class MetadataReader:
    """Reads file after file, the snapshot first; then `rows` returns their records."""

    def __init__(self, node_id: int | None, bulk: frozenset[str] = frozenset(BULK)) -> None:
        self.chain = BatchChain()
        """End of the last snapshot, or of the log."""
        self.problems: list[Row] = []
        """Rows of the table `problems`."""
        self.controls: list[OtherRecord] = []
        self.files: list[ReadFile] = []
        self.begins_at: tuple[int, int] | None = None
        """File (index in `files`) and byte of the sound batch with the first offset that counts, if there is one."""
        self._node_id = node_id
        self._bulk = {record: number for number, record in METADATA_RECORDS.items() if record in bulk}
        # Added to offsets to make orders, file by file.
        self._shift = 0
        self._data_start: int | None = None
        self._others: list[OtherRecord] = []
        self._state = {record: RowParts(record) for record in BULK}
        self._earlier = {record: RowParts(record) for record in BULK}

    def read_snapshot(self, file: Location, *, data_from_0: bool = False) -> None:
        """Read a snapshot. `data_from_0`: its offsets count from its first data record."""
        self.chain = BatchChain(start=0)
        self._read(file, ReadLimits(), data_from_0=data_from_0)
        self._shift += self.chain.end_offset

    def read_segments(self, files: list[Location], limits: ReadLimits) -> None:
        """Read a log's segments in offset order, up to the limit."""
        self.chain = BatchChain(counts_from=limits.start)
        self.begins_at = None
        for file in files:
            if self.chain.end_offset < limits.end:
                self._read(file, limits, data_from_0=False)

    def rows(self) -> MetadataRows:
        """Return all records; the reader is empty afterwards."""
        return MetadataRows(
            files=[file.location.uri for file in self.files],
            bulk={record: parts.rows() for record, parts in self._state.items()},
            earlier={record: parts.rows() for record, parts in self._earlier.items()},
            others=self._others,
            controls=self.controls,
        )

    def _read(self, file: Location, limits: ReadLimits, *, data_from_0: bool) -> None:
        end = 0
        origin, report = Origin(source=file.uri, node_id=self._node_id), ReadReport()
        broken: list[Row] = []
        try:
            for chunk in iter_chunks(file.disk, file.path, report):
                tables, size = _below(chunk, limits.end)
                end = chunk.position + size
                for block in iter_record_blocks(chunk.data[:size], report, file_position=chunk.position):
                    self._add(self._numbered_from_0(block) if data_from_0 else block, limits, report)
                corrupt = {each.offset for each in report.problems if each.kind == "corrupt batch"}
                for table in tables:
                    broken += [_broken_row(origin, each) for each in self.chain.follow(table, corrupt)]
                    self._find_begin(table, corrupt, limits.start)
                if size < len(chunk.data):
                    break
        except OSError as error:
            broken.append(unreadable_row(origin, str(error)))
        self.files.append(ReadFile(location=file, end=end))
        found = problem_rows(report, origin)
        self.problems += [row for row in found if row["offset"] is None or row["offset"] < limits.end]
        self.problems += broken

    def _find_begin(self, table: BatchTable, corrupt: set[int | None], start: int) -> None:
        base, deltas = table.column("base_offset"), table.column("last_offset_delta")
        holding = np.flatnonzero((base <= start) & (start <= base + deltas))
        if self.begins_at is None and len(holding) and int(base[holding[0]]) not in corrupt:
            self.begins_at = len(self.files), int(table.position[holding[0]]) + table.file_position

    def _add(self, block: RecordBlock, limits: ReadLimits, report: ReadReport) -> None:
        frames = metadata_frames(block, report)
        for record, number in self._bulk.items():
            rows = typed_rows(block, frames, number, BULK[record], report)
            if rows is not None:
                self._add_bulk(record, rows, limits)
        for other in other_messages(block, frames, OTHER_TYPES, report):
            self._add_other(self._others, block, other.row, other.message, limits)
        for row in np.flatnonzero(block.is_control).tolist():
            message = _control_message(block, row, report)
            if message is not None:
                self._add_other(self.controls, block, row, message, limits)

    def _numbered_from_0(self, block: RecordBlock) -> RecordBlock:
        data = block.offset[~block.is_control]
        if self._data_start is None and len(data):
            self._data_start = int(data[0])
        return replace(block, offset=block.offset - (self._data_start or 0))

    def _add_bulk(self, record: str, rows: pa.RecordBatch, limits: ReadLimits) -> None:
        offset = np.asarray(rows.column("offset"))
        is_earlier = offset < limits.start
        for into, prepare, wanted in (
            (self._earlier[record], earlier_rows, is_earlier),
            (self._state[record], state_rows, ~is_earlier & (offset < limits.end)),
        ):
            if wanted.any():
                kept = rows if wanted.all() else rows.filter(pa.array(wanted))
                into.add(prepare(record, kept), file=len(self.files), shift=self._shift)

    def _add_other(
        self, into: list[OtherRecord], block: RecordBlock, row: int, message: WireMessage, limits: ReadLimits
    ) -> None:
        offset = int(block.offset[row])
        if offset < limits.end:
            into.append(
                OtherRecord(
                    order=min(offset, ORDER_MAX) + self._shift,
                    offset=offset,
                    epoch=int(block.batches.header["leader_epoch"][block.batch[row]]),
                    timestamp=int(block.timestamp[row]),
                    file=len(self.files),
                    is_earlier=offset < limits.start,
                    message=message,
                )
            )


def _broken_row(origin: Origin, broken: BrokenChain) -> Row:
    return {
        "node_id": origin.node_id,
        "source": origin.source,
        "kind": broken.kind,
        "position": broken.position,
        "offset": broken.offset,
        "count": 1,
        "detail": broken.reason,
    }


def _below(chunk: Chunk, end: int) -> tuple[list[BatchTable], int]:
    """Return the headers of a chunk's batches that begin below an offset, and their bytes."""
    tables = []
    report = ReadReport()
    for table in iter_batch_tables(chunk.data, report, file_position=chunk.position, check_crc=False):
        beyond = np.flatnonzero(table.column("base_offset") >= end)
        if len(beyond):
            if beyond[0]:
                tables.append(table.select(slice(int(beyond[0]))))
            return tables, int(table.position[beyond[0]])
        tables.append(table)
    return tables, len(chunk.data)


def _control_message(block: RecordBlock, row: int, report: ReadReport) -> WireMessage | None:
    try:
        return decode_control_record(block.key(row), block.value(row)).message
    except RemoteProtocolError as error:
        position = block.file_byte(row, int(block.parts.value_at[row]))
        reason = f"control record: {error.reason}"
        report.add(Problem(kind="bad record", position=position, offset=int(block.offset[row]), reason=reason))
        return None
