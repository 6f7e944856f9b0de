"""The parts of many records: those that begin alike column by column, the others varint by varint."""

# ruff: noqa: PLR0917 - columns of the same rows, as many as it takes

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from falkirk.columnar.kernels import NULL
from falkirk.columnar.kernels.record_heads import HEAD_BYTES, HeadShape, fits, heads_of, shape_of, varint_columns
from falkirk.columnar.kernels.varints import bytes_at, varints

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

_INT32_MAX: Final = (1 << 31) - 1
# Fewer records than this are not worth looking for what they have in common.
_ALIKE_MIN: Final = 64
# Arrays of so many rows are made without asking the system for memory, and stay in a core's cache between steps.
_ROWS_IN_CACHE: Final = 1 << 13


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordScan:
    """Positions and sizes, in bytes, of the parts of each record (size NULL for a null key or value)."""

    sound: Flags
    attributes: NDArray[np.int8]
    timestamp_delta: Ints
    offset_delta: Ints
    key_at: Ints
    key_size: Ints
    value_at: Ints
    value_size: Ints
    headers_at: Ints
    header_count: Ints


def select_scan(scan: RecordScan, rows: slice | NDArray[Any]) -> RecordScan:  # Any: numbers of rows, or a mask
    """Return the scan of some of the records; a slice shares their memory."""
    return RecordScan(**{each.name: getattr(scan, each.name)[rows] for each in fields(RecordScan)})


def scan_records(data: Bytes, start: Ints, end: Ints) -> RecordScan:
    """Locate the parts of the records between `start` and `end`. Headers are located, not checked."""
    found = _new_scan(len(start))
    for low in range(0, len(start), _ROWS_IN_CACHE):
        rows = slice(low, low + _ROWS_IN_CACHE)
        _scan(data, start[rows], end[rows], select_scan(found, rows))
    return found


def _new_scan(rows: int) -> RecordScan:
    numbers = {each.name: np.empty(rows, np.int64) for each in fields(RecordScan)}
    return RecordScan(**numbers | {"sound": np.empty(rows, np.bool_), "attributes": np.empty(rows, np.int8)})


def _scan(data: Bytes, start: Ints, end: Ints, found: RecordScan) -> None:
    if len(start) >= _ALIKE_MIN and int(start.max()) + HEAD_BYTES <= len(data):
        heads = heads_of(data, start)
        shape = shape_of(heads[len(heads) // 2].tobytes())
        if shape is not None:
            _scan_alike(data, heads, shape, start, end, found)
            others = np.flatnonzero(~found.sound)
            if len(others):
                rest = _new_scan(len(others))
                _scan_any(data, start[others], end[others], rest)
                _put(found, others, rest)
            return
    _scan_any(data, start, end, found)


def _scan_alike(data: Bytes, heads: Bytes, shape: HeadShape, start: Ints, end: Ints, found: RecordScan) -> None:
    """Scan the records of one shape without headers; all others come out as not sound."""
    size = varint_columns(heads, 0, shape.size)
    offset_delta = varint_columns(heads, shape.attributes_at + 2, shape.offset_delta)
    value_size = varint_columns(heads, shape.key_at + 1, shape.value_size)
    timestamp_delta = heads[:, shape.attributes_at + 1].view(np.int8)
    fitting = fits(heads, shape)
    # Odd numbers are negative.
    fitting &= (size | offset_delta | value_size) & 1 == 0
    value_at = start + shape.value_at
    headers_at = value_at + (value_size >> 1) + 1
    # The size gives the end of the record; its last byte is a header count of 0.
    fitting &= ((size >> 1) + (start + shape.size) == end) & (headers_at == end)
    fitting &= bytes_at(data, end - 1) == 0
    found.sound[:] = fitting
    found.attributes[:] = heads[:, shape.attributes_at].view(np.int8)
    found.timestamp_delta[:] = (timestamp_delta >> 1) ^ -(timestamp_delta & 1)
    found.offset_delta[:] = offset_delta >> 1
    found.key_at[:] = start + (shape.key_at + 1)
    found.key_size[:] = NULL
    found.value_at[:] = value_at
    found.value_size[:] = value_size >> 1
    found.headers_at[:] = headers_at
    found.header_count[:] = 0


def _scan_any(data: Bytes, start: Ints, end: Ints, found: RecordScan) -> None:
    sound = found.sound
    sound[:] = True
    size, at = varints(data, start, sound)
    sound &= size == end - at
    found.attributes[:] = bytes_at(data, at).view(np.int8)
    found.timestamp_delta[:], at = varints(data, at + 1, sound)
    offset_delta, at = varints(data, at, sound)
    key_size, key_at = varints(data, at, sound)
    _check_size(key_size, end - key_at, sound)
    value_size, value_at = varints(data, key_at + np.maximum(key_size, 0), sound)
    _check_size(value_size, end - value_at, sound)
    header_count, headers_at = varints(data, value_at + np.maximum(value_size, 0), sound)
    # A header takes two bytes at least; without headers the record ends here.
    left = end - headers_at
    sound &= (header_count >= 0) & np.where(header_count == 0, left == 0, header_count <= left >> 1)
    sound &= (offset_delta >= 0) & (offset_delta <= _INT32_MAX)
    found.offset_delta[:] = offset_delta
    found.key_at[:], found.key_size[:] = key_at, key_size
    found.value_at[:], found.value_size[:] = value_at, value_size
    found.headers_at[:], found.header_count[:] = headers_at, header_count


def _check_size(size: Ints, left: Ints, sound: Flags) -> None:
    """Refuse sizes below null or beyond the record, and set them to null."""
    wrong = (size < NULL) | (size > left)
    if wrong.any():
        sound[wrong] = False
        size[wrong] = NULL


def _put(found: RecordScan, rows: Ints, rest: RecordScan) -> None:
    for name in RecordScan.__slots__:
        getattr(found, name)[rows] = getattr(rest, name)
