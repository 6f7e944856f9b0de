"""The kernels in numpy: each step of the format is one operation over all rows.

- Reads are gathers from `data` with clipping, so a position that ran away reads rubbish and not memory; whether rows
  came out sound is decided at the end, by where they stopped.
- Varints are read by rounds: the first byte for all rows, the next one only for the rows that have it.
- How records are hopped stands in `numpy_hop`, varints in `numpy_varints`.
"""

# ruff: noqa: D102 - what the methods do stands in `Kernels`
# ruff: noqa: PLR0917 - columns of the same rows, as many as it takes

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from falkirk.columnar.kernels import ABSENT, NULL, FieldScan, Kernels, RecordScan, new_scan, select_scan
from falkirk.columnar.kernels.numpy_hop import hop_records
from falkirk.columnar.kernels.numpy_peek import frame_types, peek_types
from falkirk.columnar.kernels.numpy_scan import scan_records
from falkirk.columnar.kernels.numpy_varints import unsigned_varints

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from falkirk.columnar.field_plan import FieldPlan, PlannedField

    Bytes = NDArray[np.uint8]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

ROWS_IN_CACHE: Final = 1 << 13
"""Arrays of so many rows are made without asking the system for memory, and stay in a core's cache between steps."""

# Above this many different sizes, spans are copied by the powers of two that make up each size.
_SIZES_APART_MAX: Final = 16
_SIZE_COUNTED_MAX: Final = 4096
_COPY_BYTES_MAX: Final = 1 << 14


class NumpyKernels:
    """See `Kernels`."""

    # More rows would leave the cache, fewer would pay more for the calls between them.
    rows_per_block = 1 << 15

    def hop_records(self, data: Bytes, body_start: Ints, body_end: Ints, count: Ints) -> tuple[Ints, Flags]:
        return hop_records(data, body_start, body_end, count, self.scan_records)

    def scan_records(self, data: Bytes, start: Ints, end: Ints) -> RecordScan:
        found = new_scan(len(start))
        for low in range(0, len(start), ROWS_IN_CACHE):
            rows = slice(low, low + ROWS_IN_CACHE)
            scan_records(data, start[rows], end[rows], select_scan(found, rows))
        return found

    def peek_types(self, data: Bytes, start: Ints) -> NDArray[np.uint16]:
        step = self.rows_per_block
        parts = [peek_types(data, start[low : low + step]) for low in range(0, len(start), step)]
        return np.concatenate(parts) if parts else np.empty(0, np.uint16)

    def scan_fields(self, plan: FieldPlan, data: Bytes, start: Ints, end: Ints) -> FieldScan:
        scan = FieldScan(sound=np.ones(len(start), np.bool_), at=[], count=[])
        no_count = np.empty(0, np.int64)
        at = start
        for field in plan.fields:
            count = no_count
            if field.form == "fixed":
                scan.at.append(at)
                at = at + field.size
            else:
                count, at = _lengths(field, data, at, end, scan.sound)
                scan.at.append(at)
                at = at + np.maximum(count, 0) * field.size
            scan.count.append(count)
        if plan.flexible:
            at = _scan_tags(plan, data, at, end, scan)
        scan.sound[at != end] = False
        return scan

    def frame_types(self, data: Bytes, value_at: Ints, value_end: Ints) -> NDArray[np.uint16]:
        return frame_types(data, value_at, value_end)

    def gather_fixed(self, data: Bytes, at: Ints, dtype: np.dtype[Any]) -> NDArray[Any]:
        return _window(data, dtype.itemsize)[at].view(dtype)

    def gather_lists(self, data: Bytes, at: Ints, offsets: Ints, dtype: np.dtype[Any]) -> NDArray[Any]:
        if not offsets[-1]:
            return np.empty(0, dtype.newbyteorder("="))
        packed = np.empty(int(offsets[-1]) * dtype.itemsize, np.uint8)
        size = np.diff(offsets) * dtype.itemsize
        self.copy_spans(data, at, packed, offsets[:-1] * dtype.itemsize, size)
        return packed.view(dtype).astype(dtype.newbyteorder("="), copy=False)

    def copy_spans(self, source: Bytes, source_at: Ints, target: Bytes, target_at: Ints, size: Ints) -> None:
        if not len(size):
            return
        largest = int(size.max())
        if largest <= _SIZE_COUNTED_MAX:
            sizes = np.flatnonzero(np.bincount(size)).tolist()
            if len(sizes) <= _SIZES_APART_MAX:
                for each in sizes:
                    rows = slice(None) if len(sizes) == 1 else np.flatnonzero(size == each)
                    _copy(source, source_at[rows], target, target_at[rows], each)
                return
        _copy_by_powers(source, source_at, target, target_at, size, largest)


NUMPY_KERNELS: Final[Kernels] = NumpyKernels()


def _lengths(field: PlannedField, data: Bytes, at: Ints, end: Ints, sound: Flags) -> tuple[Ints, Ints]:
    """Read a field's length; give (count, position of the first element). What cannot be is refused and becomes 0."""
    if field.form == "compact":
        count, at = unsigned_varints(data, at, sound)
        count -= 1
    else:
        width = 2 if field.form == "int16" else 4
        safe = np.minimum(at, len(data) - width)
        raw = _window(data, width)[safe] if len(data) >= width else np.zeros(len(at), f"V{width}")
        count = raw.view(f">i{width}").astype(np.int64)
        at = at + width
    wrong = count * field.size > end - at
    if int(count.min(initial=0)) < (NULL if field.nullable else 0):
        wrong |= count < (NULL if field.nullable else 0)
    wrong |= count > field.length_max
    if wrong.any():
        sound[wrong] = False
        count[wrong] = 0
    return count, at


def _scan_tags(plan: FieldPlan, data: Bytes, at: Ints, end: Ints, scan: FieldScan) -> Ints:
    """Locate tagged fields, one round per field of the row that has most; rows with unknown ones are refused."""
    rows_all = len(at)
    first = len(plan.fields)
    for _ in plan.tagged:
        scan.at.append(np.full(rows_all, ABSENT, np.int64))
        scan.count.append(np.full(rows_all, ABSENT, np.int64))
    left, at = unsigned_varints(data, at, scan.sound)
    # More fields than there are tags: one repeats, or one is unknown.
    scan.sound[left > len(plan.tagged)] = False
    rows = np.flatnonzero((left > 0) & scan.sound)
    left = left[rows]
    while len(rows):
        sound = np.ones(len(rows), np.bool_)
        tag, position = unsigned_varints(data, at[rows], sound)
        size, position = unsigned_varints(data, position, sound)
        stop = position + size
        sound &= stop <= end[rows]
        known = np.zeros(len(rows), np.bool_)
        for index, field in enumerate(plan.tagged, first):
            mine = np.flatnonzero((tag == field.tag) & sound)
            if len(mine):
                known[mine] = True
                _scan_tag(field, index, data, rows[mine], position[mine], stop[mine], scan)
        sound &= known
        scan.sound[rows[~sound]] = False
        at[rows] = stop
        left -= 1
        go_on = sound & (left > 0)
        rows, left = rows[go_on], left[go_on]
    return at


def _scan_tag(field: PlannedField, index: int, data: Bytes, rows: Ints, at: Ints, stop: Ints, scan: FieldScan) -> None:
    if field.form == "fixed":
        scan.at[index][rows] = at
        scan.sound[rows[at + field.size != stop]] = False
        return
    sound = np.ones(len(rows), np.bool_)
    count, at = _lengths(field, data, at, stop, sound)
    scan.at[index][rows] = at
    scan.count[index][rows] = count
    sound &= at + np.maximum(count, 0) * field.size == stop
    scan.sound[rows[~sound]] = False


def _window(data: Bytes, width: int) -> NDArray[np.void]:
    """See `width` bytes at every position. Indexing it is a gather, or a scatter, of that many bytes a row."""
    return np.ndarray((max(len(data) - width + 1, 0),), f"V{width}", data, strides=(1,))


def _copy(source: Bytes, source_at: Ints, target: Bytes, target_at: Ints, size: int) -> None:
    if size:
        _window(target, size)[target_at] = _window(source, size)[source_at]


def _copy_by_powers(source: Bytes, source_at: Ints, target: Bytes, target_at: Ints, size: Ints, largest: int) -> None:
    """Copy spans of any sizes: each as blocks of powers of two, the very large ones one by one."""
    if largest >= 2 * _COPY_BYTES_MAX:
        for row in np.flatnonzero(size >= 2 * _COPY_BYTES_MAX).tolist():
            start, at, length = int(source_at[row]), int(target_at[row]), int(size[row])
            target[at : at + length] = source[start : start + length]
        size = np.where(size >= 2 * _COPY_BYTES_MAX, 0, size)
    done = np.zeros(len(size), np.int64)
    power = 1
    while power <= min(largest, _COPY_BYTES_MAX):
        rows = np.flatnonzero(size & power)
        if len(rows):
            _copy(source, source_at[rows] + done[rows], target, target_at[rows] + done[rows], power)
            done[rows] += power
        power <<= 1
