"""The kernels compiled by numba: the same steps as plain loops over the rows.

Compiled code is kept on disk beside this module, or where NUMBA_CACHE_DIR says, and is made again for another machine.
"""

# ruff: noqa: D102 - what the methods do stands in `Kernels`
# ruff: noqa: PLR0917, C901, PLR0912, FBT001 - compiled functions take positions only, and calls cost more than branches
# In compiled code np.int64 and int are one type:
# mypy: disable-error-code="assignment"

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numba
import numpy as np

from falkirk.columnar.kernels import ABSENT, NO_TYPE, NULL, FieldScan, Kernels, RecordScan
from falkirk.columnar.kernels.numpy_kernels import NUMPY_KERNELS
from falkirk.protocol.record import RECORD_BYTES_MIN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from falkirk.columnar.field_plan import FieldPlan, PlannedField

    Bytes = NDArray[np.uint8]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


class NumbaKernels:
    """See `Kernels`."""

    # Rows cost no more in large blocks, and there is less to do between them.
    rows_per_block = 1 << 16

    def hop_records(self, data: Bytes, body_start: Ints, body_end: Ints, count: Ints) -> tuple[Ints, Flags]:
        starts = np.empty(int(count.sum()), np.int64)
        sound = np.empty(len(count), np.bool_)
        _hop_records(data, body_start, body_end, count, starts, sound)
        return starts, sound

    def scan_records(self, data: Bytes, start: Ints, end: Ints) -> RecordScan:
        parts = np.empty((_PARTS, len(start)), np.int64)
        attributes = np.empty(len(start), np.int8)
        sound = np.empty(len(start), np.bool_)
        _scan_records(data, start, end, parts, attributes, sound)
        return RecordScan(
            sound=sound,
            attributes=attributes,
            timestamp_delta=parts[_TIMESTAMP_DELTA],
            offset_delta=parts[_OFFSET_DELTA],
            key_at=parts[_KEY_SIZE + _AT],
            key_size=parts[_KEY_SIZE],
            value_at=parts[_VALUE_SIZE + _AT],
            value_size=parts[_VALUE_SIZE],
            headers_at=parts[_HEADERS_AT],
            header_count=parts[_HEADER_COUNT],
        )

    def peek_types(self, data: Bytes, start: Ints) -> NDArray[np.uint16]:
        found = np.empty(len(start), np.uint16)
        _peek_types(data, start, found)
        return found

    def scan_fields(self, plan: FieldPlan, data: Bytes, start: Ints, end: Ints) -> FieldScan:
        fields = [*plan.fields, *plan.tagged]
        table = np.array([_row(field) for field in fields], np.int64).reshape(len(fields), _COLUMNS)
        # Half the memory to write and read, wherever positions fit.
        numbers = np.int32 if len(data) <= _INT32_MAX else np.int64
        at = np.empty((len(fields), len(start)), numbers)
        count = np.empty((len(fields), len(start)), numbers)
        sound = np.empty(len(start), np.bool_)
        _scan_fields(table, len(plan.fields), plan.flexible, data, start, end, at, count, sound)
        return FieldScan(sound=sound, at=list(at), count=list(count))

    def frame_types(self, data: Bytes, value_at: Ints, value_end: Ints) -> NDArray[np.uint16]:
        found = np.empty(len(value_at), np.uint16)
        _frame_types(data, value_at, value_end, found)
        return found

    def gather_fixed(self, data: Bytes, at: Ints, dtype: np.dtype[Any]) -> NDArray[Any]:
        # numpy copies spans of one size as fast as a loop does.
        return NUMPY_KERNELS.gather_fixed(data, at, dtype)

    def gather_lists(self, data: Bytes, at: Ints, offsets: Ints, dtype: np.dtype[Any]) -> NDArray[Any]:
        total = int(offsets[-1])
        if not total:
            return np.empty(0, dtype.newbyteorder("="))
        if dtype.str == ">i4":
            numbers = np.empty(total, np.int32)
            _gather_int32(data, at, offsets, numbers)
            return numbers
        if dtype.itemsize == 16:
            out = np.empty(total * 16, np.uint8)
            _gather_uuid(data, at, offsets, out)
            return out.view(dtype)
        return NUMPY_KERNELS.gather_lists(data, at, offsets, dtype)

    def copy_spans(self, source: Bytes, source_at: Ints, target: Bytes, target_at: Ints, size: Ints) -> None:
        _copy_spans(source, source_at, target, target_at, size)


NUMBA_KERNELS: Final[Kernels] = NumbaKernels()

_compiled: Final = numba.njit(cache=True, nogil=True)

_INT32_MAX: Final = (1 << 31) - 1
_INT64_MAX: Final = (1 << 63) - 1
_PEEKED_VARINT_BYTES: Final = 4
_RECORD_BODY_MIN: Final = RECORD_BYTES_MIN - 1

# What a record consists of, in its order; behind the header count the places of what is not a number.
_SIZE, _TIMESTAMP_DELTA, _OFFSET_DELTA, _KEY_SIZE, _VALUE_SIZE, _HEADER_COUNT, _HEADERS_AT = range(7)
_AT: Final = 4
_PARTS: Final = _VALUE_SIZE + _AT + 1

# One row of numbers for each planned field.
_FIXED, _COMPACT, _INT16, _INT32 = range(4)
_FORMS: Final = {"fixed": _FIXED, "compact": _COMPACT, "int16": _INT16, "int32": _INT32}
_FORM, _ELEMENT_SIZE, _LEAST, _MOST, _TAG, _COLUMNS = range(6)
_NO_TAG: Final = -1


def _row(field: PlannedField) -> tuple[int, ...]:
    tag = _NO_TAG if field.tag is None else field.tag
    return _FORMS[field.form], field.size, NULL if field.nullable else 0, field.length_max, tag


# What follows is compiled: plain loops, numbers of 64 bits, no objects. Positions behind `end` are never read. A call
# that takes arrays costs as much as a row (their references are counted), so common cases stand in the loops, and only
# rare ones in functions of their own: varints of more than two bytes, tagged fields.


@_compiled
def _long_varint(data: Bytes, at: int, end: int, bytes_max: int) -> tuple[int, int]:
    """Give the 64 bits of an unsigned varint and the position behind it; -1 as position where it does not parse."""
    value = 0
    for index in range(bytes_max):
        if at >= end:
            return 0, -1
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            # The fifth byte may fill 32 bits, the tenth 64.
            if (index == 4 and bytes_max == 5 and byte > 0x0F) or (index == 9 and byte > 0x01):
                return 0, -1
            return value, at
    return 0, -1


@_compiled
def _hop_records(data: Bytes, body_start: Ints, body_end: Ints, count: Ints, starts: Ints, sound: Flags) -> None:
    first = 0
    for batch in range(len(count)):
        at, end = body_start[batch], body_end[batch]
        behind = first + count[batch]
        for index in range(first, behind):
            starts[index] = at
            if at >= end:
                at = -1
                break
            size = np.int64(data[at])
            if size < 0x80:
                at += 1
            elif at + 1 < end and data[at + 1] < 0x80:
                size = (size & 0x7F) | (np.int64(data[at + 1]) << 7)
                at += 2
            else:
                size, at = _long_varint(data, at, end, 10)
            # An odd number is a negative size.
            if at < 0 or size & 1 or size >> 1 < _RECORD_BODY_MIN or size >> 1 > end - at:
                at = -1
                break
            at += size >> 1
        sound[batch] = at == end
        if at != end:
            starts[first:behind] = body_start[batch]
        first = behind


@_compiled
def _scan_records(data: Bytes, start: Ints, end: Ints, parts: Ints, attributes: NDArray[np.int8], sound: Flags) -> None:
    for row in range(len(start)):
        at, stop = start[row], end[row]
        sound[row] = False
        for part in range(_SIZE, _HEADER_COUNT + 1):
            if at >= stop:
                break
            value = np.int64(data[at])
            if value < 0x80:
                at += 1
            elif at + 1 < stop and data[at + 1] < 0x80:
                value = (value & 0x7F) | (np.int64(data[at + 1]) << 7)
                at += 2
            else:
                value, at = _long_varint(data, at, stop, 10)
                if at < 0:
                    break
            value = ((value >> 1) & _INT64_MAX) ^ -(value & 1)
            if part == _SIZE:
                if value != stop - at or at >= stop:
                    break
                attributes[row] = np.int8(data[at])
                at += 1
            elif part == _OFFSET_DELTA:
                if value < 0 or value > _INT32_MAX:
                    break
                parts[_OFFSET_DELTA, row] = value
            elif part == _TIMESTAMP_DELTA:
                parts[_TIMESTAMP_DELTA, row] = value
            elif part == _HEADER_COUNT:
                parts[_HEADERS_AT, row] = at
                parts[_HEADER_COUNT, row] = value
                sound[row] = at == stop if value == 0 else 0 < value <= (stop - at) >> 1
            else:
                if value < NULL or value > stop - at:
                    break
                parts[part, row] = value
                parts[part + _AT, row] = at
                if value > 0:
                    at += value


@_compiled
def _peek_types(data: Bytes, start: Ints, found: NDArray[np.uint16]) -> None:
    limit = len(data)
    for row in range(len(start)):
        at = start[row]
        # Size, attributes and timestamp delta; offset delta and key; value size and frame version.
        sound = True
        for part in range(3):
            first = at
            while at < limit and at - first < _PEEKED_VARINT_BYTES and data[at] >= 0x80:
                at += 1
            at += 1
            sound = at - first <= _PEEKED_VARINT_BYTES and at + 2 < limit
            if not sound:
                break
            if part == 0:
                sound = data[at] == 0 and data[at + 1] == 0
                at += 2
            else:
                sound = data[at] == 1
                at += 1
            if not sound:
                break
        found[row] = NO_TYPE
        if sound and at + 1 < limit and data[at] < 0x80 and data[at + 1] < 0x80:
            found[row] = np.uint16(data[at]) << np.uint16(8) | np.uint16(data[at + 1])


@_compiled
def _frame_types(data: Bytes, value_at: Ints, value_end: Ints, found: NDArray[np.uint16]) -> None:
    for row in range(len(value_at)):
        at = value_at[row]
        found[row] = NO_TYPE
        if value_end[row] - at >= 3 and data[at] == 1 and data[at + 1] < 0x80 and data[at + 2] < 0x80:
            found[row] = np.uint16(data[at + 1]) << np.uint16(8) | np.uint16(data[at + 2])


@_compiled
def _scan_fields(
    table: Ints,
    untagged: int,
    flexible: bool,
    data: Bytes,
    start: Ints,
    end: Ints,
    places: Ints,
    counts: Ints,
    sound: Flags,
) -> None:
    for row in range(len(start)):
        at, stop = start[row], end[row]
        for field in range(untagged):
            form, size = table[field, _FORM], table[field, _ELEMENT_SIZE]
            if form == _FIXED:
                places[field, row] = at
                at += size
                continue
            if form == _COMPACT and at < stop and data[at] < 0x80:
                count = np.int64(data[at]) - 1
                at += 1
            else:
                count, at = _long_length(form, data, at, stop)
            if at < 0 or count < table[field, _LEAST] or count > table[field, _MOST] or count * size > stop - at:
                at = -1
                break
            places[field, row] = at
            counts[field, row] = count
            if count > 0:
                at += count * size
        if flexible:
            for field in range(untagged, len(table)):
                places[field, row] = ABSENT
                counts[field, row] = ABSENT
            if 0 <= at < stop:
                at = at + 1 if data[at] == 0 else _scan_tags(table, untagged, data, at, stop, row, places, counts)
            else:
                at = -1
        sound[row] = at == stop


@_compiled
def _long_length(form: int, data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Read a length of any form: (count, position of the first element); -1 as position where it does not parse."""
    if form == _COMPACT:
        count, at = _long_varint(data, at, end, 5)
        return count - 1, at
    width = 2 if form == _INT16 else 4
    if end - at < width:
        return 0, -1
    count = np.int64(np.int8(data[at]))
    for index in range(1, width):
        count = count << 8 | np.int64(data[at + index])
    return count, at + width


@_compiled
def _scan_tags(table: Ints, first: int, data: Bytes, at: int, end: int, row: int, places: Ints, counts: Ints) -> int:
    """Locate the tagged fields; give the position behind them, or -1 if one is wrong or not in the table."""
    left, at = _long_varint(data, at, end, 5)
    if left > len(table) - first:
        return -1
    while left > 0 and at >= 0:
        left -= 1
        tag, at = _long_varint(data, at, end, 5)
        if at >= 0:
            size, at = _long_varint(data, at, end, 5)
        if at < 0 or size > end - at:
            return -1
        stop = at + size
        field = first
        while field < len(table) and table[field, _TAG] != tag:
            field += 1
        if field == len(table):
            return -1
        at = _scan_tag(table, field, data, at, stop, row, places, counts)
    return at


@_compiled
def _scan_tag(table: Ints, field: int, data: Bytes, at: int, stop: int, row: int, places: Ints, counts: Ints) -> int:
    """Locate the value of one tagged field, which must end at `stop`; give that, or -1."""
    size = table[field, _ELEMENT_SIZE]
    count = 1
    if table[field, _FORM] != _FIXED:
        count, at = _long_length(table[field, _FORM], data, at, stop)
        if at < 0 or count < table[field, _LEAST] or count > table[field, _MOST]:
            return -1
    places[field, row] = at
    counts[field, row] = count
    return stop if max(count, 0) * size == stop - at else -1


@_compiled
def _gather_int32(data: Bytes, at: Ints, offsets: Ints, out: NDArray[np.int32]) -> None:
    for row in range(len(at)):
        place = at[row]
        for index in range(offsets[row], offsets[row + 1]):
            high = np.uint32(data[place]) << np.uint32(24) | np.uint32(data[place + 1]) << np.uint32(16)
            low = np.uint32(data[place + 2]) << np.uint32(8) | np.uint32(data[place + 3])
            out[index] = np.int32(high | low)
            place += 4


@_compiled
def _gather_uuid(data: Bytes, at: Ints, offsets: Ints, out: Bytes) -> None:
    for row in range(len(at)):
        place = at[row]
        for to in range(offsets[row] * 16, offsets[row + 1] * 16, 16):
            for index in range(16):
                out[to + index] = data[place + index]
            place += 16


@_compiled
def _copy_spans(source: Bytes, source_at: Ints, target: Bytes, target_at: Ints, size: Ints) -> None:
    for row in range(len(size)):
        begin, to = source_at[row], target_at[row]
        for index in range(size[row]):
            target[to + index] = source[begin + index]
