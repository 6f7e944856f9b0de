"""All batches, and all records, of any log: what stands in the frames, nothing of what the payloads mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from falkirk.columnar.arrow_arrays import binary_array, buffer_of, fixed_array, view_array
from falkirk.columnar.batch_table import iter_batch_tables
from falkirk.columnar.record_columns import place_columns, table_batch
from falkirk.columnar.record_frames import iter_record_blocks
from falkirk.columnar.record_headers import scan_headers
from falkirk.columnar.report import ReadReport
from falkirk.columnar.schemas import BATCHES, HEADERS_TYPE, RECORDS, RECORDS_WITH_HEADERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.columnar.batch_table import BatchTable
    from falkirk.columnar.record_frames import RecordBlock


def batches(
    buffer: Any,  # Any: whatever has the buffer protocol
    *,
    report: ReadReport | None = None,
    file_position: int = 0,
    check_crc: bool = True,
) -> Iterator[pa.RecordBatch]:
    """Give one row for each batch; records are not looked at. Options as `records`."""
    report = ReadReport(strict=True) if report is None else report
    for table in iter_batch_tables(buffer, report, file_position=file_position, check_crc=check_crc):
        yield _batch_rows(table)


def records(
    buffer: Any,  # Any: same
    *,
    headers: bool = False,
    report: ReadReport | None = None,
    jit: bool = False,
    file_position: int = 0,
    check_crc: bool = True,
) -> Iterator[pa.RecordBatch]:
    """Give one row for each record, control records too. Keys and values are views of the buffer, not copies.

    Without a report the first problem raises RemoteProtocolError at its byte of the file. `file_position` is the byte
    of the file where the buffer was cut out; `jit` decodes with numba; `headers` adds a column for them.
    """
    report = ReadReport(strict=True) if report is None else report
    for block in iter_record_blocks(buffer, report, jit=jit, file_position=file_position, check_crc=check_crc):
        yield _record_rows(block, headers=headers)


def _batch_rows(table: BatchTable) -> pa.RecordBatch:
    base_offset = table.column("base_offset")
    arrays = {name: fixed_array(table.header[name], BATCHES.field(name).type) for name in _HEADER_FIELDS}
    arrays |= {
        "position": fixed_array(table.position + table.file_position, pa.int64()),
        "size": fixed_array(table.end - table.position, pa.int64()),
        "last_offset": fixed_array(base_offset + table.column("last_offset_delta"), pa.int64()),
        "epoch": fixed_array(table.column("leader_epoch"), pa.int32()),
    }
    return table_batch(BATCHES, arrays)


_HEADER_FIELDS = (
    "base_offset",
    "record_count",
    "attributes",
    "base_timestamp",
    "max_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
)


def _record_rows(block: RecordBlock, *, headers: bool) -> pa.RecordBatch:
    parts, kernels, data = block.parts, block.kernels, block.data
    schema = RECORDS_WITH_HEADERS if headers else RECORDS
    arrays = place_columns(block, np.arange(len(block)))
    for name in ("base_offset", "attributes", "producer_id", "producer_epoch"):
        arrays[name] = fixed_array(block.batch_column(name), schema.field(name).type)
    arrays["sequence"] = fixed_array(_sequence(block), pa.int32())
    arrays["is_control"] = pa.array(block.is_control)
    arrays["key"] = view_array(kernels, data, parts.key_at, parts.key_size)
    arrays["value"] = view_array(kernels, data, parts.value_at, parts.value_size)
    if headers:
        arrays["headers"] = _headers(block)
    return table_batch(schema, arrays)


def _sequence(block: RecordBlock) -> np.ndarray[Any, np.dtype[np.int32]]:  # Any: the shape
    """Count sequence numbers from the batch's first; they wrap to 0 behind 2^31 - 1."""
    base = block.batch_column("base_sequence").astype(np.int64)
    sequence = (base + block.parts.offset_delta) & 0x7FFFFFFF
    return np.where(base < 0, -1, sequence).astype(np.int32)


def _headers(block: RecordBlock) -> pa.Array[Any]:  # Any: a list
    scan = scan_headers(block.data, block.parts, block.end)
    keys = binary_array(block.kernels, block.data, scan.key_at, scan.key_size)
    values = binary_array(block.kernels, block.data, scan.value_at, scan.value_size)
    offsets = np.append(scan.first, len(scan.key_at)).astype(np.int32)
    item = HEADERS_TYPE.value_type
    children = pa.StructArray.from_arrays([keys, values], fields=[item.field(0), item.field(1)])
    return pa.Array.from_buffers(HEADERS_TYPE, len(block), [None, buffer_of(offsets)], children=[children])
