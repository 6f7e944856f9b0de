"""Records of a buffer as positions: every reader of this package starts from them.

All records of a chunk are located and checked before any of them is yielded, so that a corrupt batch has no rows at
all, as in the row reader. Later steps work on blocks of fewer records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from falkirk.columnar.batch_table import iter_batch_tables, report_corrupt
from falkirk.columnar.kernels import NULL
from falkirk.columnar.kernels.record_hop import hop_records
from falkirk.columnar.kernels.record_scan import RecordScan, scan_records, select_scan
from falkirk.columnar.record_bodies import NO_PLACE, iter_record_bodies
from falkirk.columnar.record_headers import scan_headers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from falkirk.columnar.batch_table import BatchTable
    from falkirk.columnar.record_bodies import RecordBodies
    from falkirk.columnar.report import ReadReport

# More rows would leave the processor's cache, fewer would pay more for the calls between them.
_ROWS_PER_BLOCK: Final = 1 << 15


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordBlock:
    """The records of some batches. Positions count in `data`; arrays have one row a record, in file order."""

    data: NDArray[np.uint8]
    batches: BatchTable
    # Index of each record's batch in `batches`.
    batch: NDArray[np.int64]
    # Byte of the file where the record starts; in a compressed batch, where the batch does.
    position: NDArray[np.int64]
    # What to add to a position in `data` to get the byte of the file; NO_PLACE in compressed batches.
    file_shift: NDArray[np.int64]
    offset: NDArray[np.int64]
    timestamp: NDArray[np.int64]
    is_control: NDArray[np.bool_]
    end: NDArray[np.int64]
    parts: RecordScan

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def key_end(self) -> NDArray[np.int64]:
        """Position behind each key in `data`; where it would start, for a null."""
        return self.parts.key_at + np.maximum(self.parts.key_size, 0)

    @property
    def value_end(self) -> NDArray[np.int64]:
        """Position behind each value in `data`; where it would start, for a null."""
        return self.parts.value_at + np.maximum(self.parts.value_size, 0)

    def batch_column(self, name: str) -> NDArray[Any]:  # Any: the header field's type
        """Return a field of the batch header for every record."""
        return self.batches.column(name)[self.batch]

    def key(self, row: int) -> bytes | None:
        """Copy one record's key."""
        return _span(self.data, int(self.parts.key_at[row]), int(self.parts.key_size[row]))

    def value(self, row: int) -> bytes | None:
        """Copy one record's value."""
        return _span(self.data, int(self.parts.value_at[row]), int(self.parts.value_size[row]))

    def file_byte(self, row: int, at: int) -> int:
        """Translate a position in `data` to a byte of the file; in a compressed batch, to the byte of the batch."""
        shift = int(self.file_shift[row])
        return int(self.position[row]) if shift == NO_PLACE else at + shift


def iter_record_blocks(
    buffer: Any,  # Any: whatever has the buffer protocol
    report: ReadReport,
    *,
    file_position: int = 0,
) -> Iterator[RecordBlock]:
    """Locate the records of a buffer of whole batches, block by block.

    `file_position` is the byte of the file where the buffer was cut out. Corrupt batches and a torn tail go to
    `report` (see `iter_batch_tables`).
    """
    for table in iter_batch_tables(buffer, report, file_position=file_position):
        for bodies in iter_record_bodies(table, report):
            records = _records(bodies, report)
            report.records += len(records)
            report.control_records += int(records.is_control.sum())
            for low in range(0, len(records), _ROWS_PER_BLOCK):
                yield _select(records, slice(low, low + _ROWS_PER_BLOCK))


def _span(data: NDArray[np.uint8], at: int, size: int) -> bytes | None:
    return None if size == NULL else data[at : at + size].tobytes()


def _records(bodies: RecordBodies, report: ReadReport) -> RecordBlock:
    """Locate the records of all batches; batches that do not hold what their header says are left out and reported."""
    table = bodies.table
    count = table.column("record_count").astype(np.int64)
    start, whole = hop_records(bodies.data, bodies.start, bodies.end, count)
    batch = np.repeat(np.arange(len(count)), count)
    end = np.empty_like(start)
    end[:-1] = start[1:]
    end[(np.cumsum(count) - 1)[count > 0]] = bodies.end[count > 0]

    parts = scan_records(bodies.data, start, end)
    offset, timestamp = _offsets_and_timestamps(table, batch, parts)
    if parts.header_count.any():
        scan_headers(bodies.data, parts, end)
    whole &= _last_offsets_fit(table, count, offset)
    whole[batch[~parts.sound]] = False

    shift = bodies.file_shift[batch]
    block = RecordBlock(
        data=bodies.data,
        batches=table,
        batch=batch,
        position=np.where(shift == NO_PLACE, table.position[batch] + table.file_position, start + shift),
        file_shift=shift,
        offset=offset,
        timestamp=timestamp,
        is_control=table.is_control[batch],
        end=end,
        parts=parts,
    )
    if whole.all():
        return block
    for index in np.flatnonzero(~whole).tolist():
        report_corrupt(table, index, report)
    return _select(block, whole[batch])


def _offsets_and_timestamps(
    table: BatchTable, batch: NDArray[np.int64], parts: RecordScan
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Add deltas to bases; a timestamp that leaves 64 bits makes its record unsound."""
    offset = table.column("base_offset")[batch] + parts.offset_delta
    timestamp = table.column("base_timestamp")[batch]
    if parts.timestamp_delta.any():
        base, timestamp = timestamp, timestamp + parts.timestamp_delta
        parts.sound[((base ^ timestamp) & (parts.timestamp_delta ^ timestamp)) < 0] = False
    appended = table.is_log_append_time
    if appended.any():
        timestamp = np.where(appended[batch], table.column("max_timestamp")[batch], timestamp)
    return offset, timestamp


def _last_offsets_fit(table: BatchTable, count: NDArray[np.int64], offset: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Check, as the row reader does, that a batch's last record is not beyond the batch's last offset."""
    fits = np.ones(len(count), np.bool_)
    filled = count > 0
    last = table.column("base_offset") + table.column("last_offset_delta")
    fits[filled] = offset[(np.cumsum(count) - 1)[filled]] <= last[filled]
    return fits


def _select(block: RecordBlock, rows: NDArray[np.bool_] | slice) -> RecordBlock:
    return RecordBlock(
        data=block.data,
        batches=block.batches,
        batch=block.batch[rows],
        position=block.position[rows],
        file_shift=block.file_shift[rows],
        offset=block.offset[rows],
        timestamp=block.timestamp[rows],
        is_control=block.is_control[rows],
        end=block.end[rows],
        parts=select_scan(block.parts, rows),
    )
