"""All records of any log, as raw keys and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from falkirk.columnar.arrow_arrays import binary_array, buffer_of, fixed_array, view_array
from falkirk.columnar.record_columns import place_columns, table_batch
from falkirk.columnar.record_frames import iter_record_blocks
from falkirk.columnar.record_headers import scan_headers
from falkirk.columnar.schemas import HEADERS_TYPE, RECORDS, RECORDS_WITH_HEADERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.columnar.record_frames import RecordBlock
    from falkirk.columnar.report import ReadReport


def records(
    buffer: Any,  # Any: whatever has the buffer protocol
    *,
    headers: bool = False,
    report: ReadReport,
    file_position: int = 0,
) -> Iterator[pa.RecordBatch]:
    """Yield one row for each record, control records too. Keys and values are views of the buffer, not copies.

    `file_position` is the byte of the file where the buffer was cut out; `headers` adds a column for them. Problems go
    to `report`.
    """
    for block in iter_record_blocks(buffer, report, file_position=file_position):
        yield _record_rows(block, headers=headers)


def _record_rows(block: RecordBlock, *, headers: bool) -> pa.RecordBatch:
    parts, data = block.parts, block.data
    schema = RECORDS_WITH_HEADERS if headers else RECORDS
    arrays = place_columns(block, np.arange(len(block)))
    for name in ("base_offset", "attributes", "producer_id", "producer_epoch"):
        arrays[name] = fixed_array(block.batch_column(name), schema.field(name).type)
    arrays["sequence"] = fixed_array(_sequence(block), pa.int32())
    arrays["is_control"] = pa.array(block.is_control)
    arrays["key"] = view_array(data, parts.key_at, parts.key_size)
    arrays["value"] = view_array(data, parts.value_at, parts.value_size)
    if headers:
        arrays["headers"] = _headers(block)
    return table_batch(schema, arrays)


def _sequence(block: RecordBlock) -> np.ndarray[Any, np.dtype[np.int32]]:  # Any: the shape
    """Count sequence numbers from the batch's first; they wrap to 0 after 2^31 - 1."""
    base = block.batch_column("base_sequence").astype(np.int64)
    sequence = (base + block.parts.offset_delta) & 0x7FFFFFFF
    return np.where(base < 0, -1, sequence).astype(np.int32)


def _headers(block: RecordBlock) -> pa.Array[Any]:  # Any: a list
    scan = scan_headers(block.data, block.parts, block.end)
    keys = binary_array(block.data, scan.key_at, scan.key_size)
    values = binary_array(block.data, scan.value_at, scan.value_size)
    offsets = np.append(scan.first, len(scan.key_at)).astype(np.int32)
    item = HEADERS_TYPE.value_type
    children = pa.StructArray.from_arrays([keys, values], fields=[item.field(0), item.field(1)])
    return pa.Array.from_buffers(HEADERS_TYPE, len(block), [None, buffer_of(offsets)], children=[children])
