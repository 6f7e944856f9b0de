"""Uncompressed records of batches: in the buffer itself, or in bytes decompressed for some batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from falkirk.columnar.batch_table import CHUNK_BYTES, report_corrupt
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record import RECORD_BYTES_MIN
from falkirk.protocol.record_batch import HEADER_BYTES, read_batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from falkirk.columnar.batch_table import BatchTable
    from falkirk.columnar.report import ReadReport

NO_PLACE = np.iinfo(np.int64).min
"""`file_shift` of a compressed batch: its records have no byte of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordBodies:
    """The records of some batches: those of batch i fill `data[start[i]:end[i]]`, if its header is right."""

    table: BatchTable
    data: NDArray[np.uint8]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    # What to add to a position in `data` to get the byte of the file, or NO_PLACE.
    file_shift: NDArray[np.int64]


def iter_record_bodies(table: BatchTable, report: ReadReport) -> Iterator[RecordBodies]:
    """Yield the records of a chunk's batches, decompressed.

    A batch that does not decompress is a problem. At most CHUNK_BYTES and one batch more are decompressed at a time.
    """
    if not table.is_compressed.any():
        # Positions in the chunk's own bytes fit 32 bits, unless one batch alone does not.
        first, last = int(table.position[0]), int(table.end[-1])
        yield RecordBodies(
            table=table,
            data=np.frombuffer(table.buffer, np.uint8)[first:last],
            start=table.position + HEADER_BYTES - first,
            end=table.end - first,
            file_shift=np.full(len(table), first + table.file_position, np.int64),
        )
        return
    kept: list[int] = []
    parts: list[bytes] = []
    size = 0
    for index, position in enumerate(table.position.tolist()):
        try:
            part = _uncompressed(table, position)
        except RemoteProtocolError:
            report_corrupt(table, index, report)
            continue
        kept.append(index)
        parts.append(part)
        size += len(part)
        if size >= CHUNK_BYTES:
            yield _joined(table, kept, parts)
            kept, parts, size = [], [], 0
    if kept:
        yield _joined(table, kept, parts)


def _uncompressed(table: BatchTable, position: int) -> bytes:
    batch = read_batch(table.buffer, position, check_crc=False)
    data = batch.uncompressed()
    if batch.record_count * RECORD_BYTES_MIN > len(data):
        raise RemoteProtocolError("more records than bytes", offset=position)
    return data


def _joined(table: BatchTable, kept: list[int], parts: list[bytes]) -> RecordBodies:
    chosen = np.zeros(len(table), np.bool_)
    chosen[kept] = True
    part = table.select(chosen)
    size = np.array([len(each) for each in parts], np.int64)
    end = np.cumsum(size)
    start = end - size
    shift = part.position + HEADER_BYTES - start + table.file_position
    return RecordBodies(
        table=part,
        data=np.frombuffer(b"".join(parts), np.uint8),
        start=start,
        end=end,
        file_shift=np.where(part.is_compressed, NO_PLACE, shift),
    )
