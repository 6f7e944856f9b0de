"""Batch headers of a buffer as columns: one hop per batch, then all fields at once.

The hop reads four bytes of each batch (its length). Checking a CRC costs less than the hop where batches are large
(12 GB/s), and about a microsecond a batch where they are small.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from crc32c import crc32c

from falkirk.columnar.report import Problem, ReadReport, reason_refused
from falkirk.protocol.record import RECORD_BYTES_MIN
from falkirk.protocol.record_batch import (
    ATTRIBUTES_AT,
    COMPRESSION_MASK,
    CONTROL_BIT,
    HEADER_BYTES,
    LENGTH_END,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    IncompleteBatchError,
    read_batch,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

CHUNK_BYTES = 32 * 1024 * 1024
"""Batches are read in chunks of about this size: large enough to hop the records of many batches in step, small enough
that a worker needs only a few times as much memory.
"""

HEADER_DTYPE = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("record_count", ">i4"),
    ]
)
"""All header fields in file order, without padding: 61 bytes."""

_length_at = struct.Struct(">i").unpack_from


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTable:
    """Headers of the valid batches of one chunk, in file order."""

    # The whole buffer; `position` counts in it.
    buffer: memoryview
    # What to add to a position to get the byte of the file that the buffer was cut from.
    file_position: int
    position: NDArray[np.int64]
    # One row of HEADER_DTYPE a batch.
    header: NDArray[np.void]

    def __len__(self) -> int:
        return len(self.position)

    def select(self, batches: NDArray[np.bool_] | slice) -> BatchTable:
        """Return the table of some of the batches."""
        return BatchTable(
            buffer=self.buffer,
            file_position=self.file_position,
            position=self.position[batches],
            header=self.header[batches],
        )

    def column(self, name: str) -> NDArray[Any]:  # Any: the field's own type, in native byte order
        """Return one header field in native byte order."""
        values = self.header[name]
        return values.astype(values.dtype.newbyteorder("="))

    @property
    def end(self) -> NDArray[np.int64]:
        """Position behind each batch in the buffer."""
        end: NDArray[np.int64] = self.position + self.header["length"] + LENGTH_END
        return end

    @property
    def is_compressed(self) -> NDArray[np.bool_]:
        """True for batches whose records are compressed."""
        return self._has(COMPRESSION_MASK)

    @property
    def is_control(self) -> NDArray[np.bool_]:
        """True for batches of control records."""
        return self._has(CONTROL_BIT)

    @property
    def is_log_append_time(self) -> NDArray[np.bool_]:
        """True for batches whose records all have the broker's timestamp, which is the max timestamp."""
        return self._has(LOG_APPEND_TIME_BIT)

    def _has(self, bits: int) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = (self.header["attributes"] & bits) != 0
        return found


def iter_batch_tables(
    buffer: Any,  # Any: whatever has the buffer protocol, for which Python 3.11 has no type
    report: ReadReport,
    *,
    file_position: int = 0,
    check_crc: bool = True,
    chunk_bytes: int = CHUNK_BYTES,
) -> Iterator[BatchTable]:
    """Yield the headers of a buffer of whole batches, in chunks.

    A batch with a wrong CRC or wrong counts is left out and becomes a problem. At an impossible header, or where the
    buffer ends inside a batch, reading ends and the problem names the byte.
    """
    view = memoryview(buffer).cast("B")
    array = np.frombuffer(view, np.uint8)
    position = 0
    while position < len(view):
        found, position, stopped = _hop(view, position, chunk_bytes)
        table, whole = _table(view, array, found, file_position)
        table = _without_corrupt(table, report, check_crc=check_crc)
        if len(table):
            report.batches += len(table)
            yield table
        if stopped or not whole:
            _report_stop(view, position if whole else int(found[_magic_at(array, found)]), file_position, report)
            return


def _hop(view: memoryview, position: int, chunk_bytes: int) -> tuple[NDArray[np.int64], int, bool]:
    """Return the positions of the next batches, the position behind them, and whether the next header is impossible."""
    limit = len(view)
    target = min(position + chunk_bytes, limit)
    found: list[int] = []
    stopped = False
    while position < target:
        if position + HEADER_BYTES > limit:
            stopped = True
            break
        (length,) = _length_at(view, position + 8)
        if length < HEADER_BYTES - LENGTH_END or position + LENGTH_END + length > limit:
            stopped = True
            break
        found.append(position)
        position += LENGTH_END + length
    return np.array(found, np.int64), position, stopped


def _magic_at(array: NDArray[np.uint8], found: NDArray[np.int64]) -> int:
    """Return the index of the first batch with a wrong magic (its length means nothing), or the number of batches."""
    wrong = np.flatnonzero(array[found + 16] != MAGIC)
    return int(wrong[0]) if len(wrong) else len(found)


def _table(
    view: memoryview, array: NDArray[np.uint8], found: NDArray[np.int64], file_position: int
) -> tuple[BatchTable, bool]:
    whole = _magic_at(array, found)
    positions = found[:whole]
    headers: NDArray[np.void] = np.empty(0, HEADER_DTYPE)
    if whole:
        # One copy of 61 bytes a batch out of a window that starts at every byte.
        window = np.ndarray((len(array) - HEADER_BYTES + 1,), f"V{HEADER_BYTES}", array, strides=(1,))
        headers = window[positions].view(HEADER_DTYPE)
    table = BatchTable(buffer=view, file_position=file_position, position=positions, header=headers)
    return table, whole == len(found)


def _without_corrupt(table: BatchTable, report: ReadReport, *, check_crc: bool) -> BatchTable:
    sound = _counts_are_sound(table)
    if check_crc:
        view = table.buffer
        starts = (table.position + ATTRIBUTES_AT).tolist()
        ends = table.end.tolist()
        crcs = [crc32c(view[start:end]) for start, end in zip(starts, ends, strict=True)]
        sound &= table.header["crc"] == np.array(crcs, np.uint32)
    if sound.all():
        return table
    for index in np.flatnonzero(~sound).tolist():
        report_corrupt(table, index, report, check_crc=check_crc)
    return table.select(sound)


def report_corrupt(table: BatchTable, index: int, report: ReadReport, *, check_crc: bool = False) -> None:
    """Report why one batch of the table has no rows."""
    position = int(table.position[index])
    reason, at = reason_refused(
        lambda: read_batch(table.buffer, position, check_crc=check_crc).records(),
        table.file_position,
        otherwise=table.file_position + position,
    )
    offset = int(table.header["base_offset"][index])
    report.add(Problem(kind="corrupt batch", position=at, offset=offset, reason=reason))


def _counts_are_sound(table: BatchTable) -> NDArray[np.bool_]:
    """Check of each header what `protocol.record_batch.read_batch` checks."""
    base = table.column("base_offset")
    delta = table.column("last_offset_delta").astype(np.int64)
    count = table.column("record_count").astype(np.int64)
    body = table.end - table.position - HEADER_BYTES
    sound: NDArray[np.bool_] = (base >= 0) & (delta >= 0) & (base <= np.iinfo(np.int64).max - delta)
    sound &= (count >= 0) & (count <= delta + 1)
    sound &= table.is_compressed | (count * RECORD_BYTES_MIN <= body)
    return sound


def _report_stop(view: memoryview, position: int, file_position: int, report: ReadReport) -> None:
    torn = False

    def read() -> None:
        nonlocal torn
        try:
            read_batch(view, position, check_crc=False)
        except IncompleteBatchError:
            torn = True
            raise

    reason, at = reason_refused(read, file_position, otherwise=file_position + position)
    report.add(Problem(kind="torn tail" if torn else "corrupt batch", position=at, offset=None, reason=reason))
