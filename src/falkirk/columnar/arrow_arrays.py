"""Arrow arrays that share the memory of numpy arrays."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from falkirk.columnar.kernels.spans import copy_spans, gather_lists

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DTYPES: Final = {
    "bool": "?",
    "int8": "i1",
    "int16": ">i2",
    "uint16": ">u2",
    "int32": ">i4",
    "uint32": ">u4",
    "int64": ">i8",
    "float64": ">f8",
    "uuid": "V16",
}
_VIEW_DTYPE: Final = np.dtype([("size", "<i4"), ("prefix", "V4"), ("buffer", "<i4"), ("offset", "<i4")])
_INLINE_BYTES_MAX: Final = 12
_PREFIX_AT: Final = 4
_PREFIX_BYTES: Final = 4
_VIEW_SHIFT: Final = 30


def buffer_of(values: NDArray[Any]) -> pa.Buffer:  # Any: whatever has a fixed width
    """Wrap an array's memory as a buffer, without a copy."""
    return pa.py_buffer(values.view(np.uint8).data)


def bytes_of(buffer: pa.Buffer | None) -> NDArray[np.uint8]:
    """View a buffer's memory as an array; Arrow has no buffer for some empty arrays."""
    if buffer is None:
        return np.empty(0, np.uint8)
    return np.frombuffer(buffer, np.uint8)  # type: ignore[call-overload, no-any-return]  # the stubs miss the protocol


def constant_array(value: Any, count: int, type_: pa.DataType) -> pa.Array[Any]:  # Any: of the type
    """Repeat one value (None: null) `count` times."""
    if value is None:
        return pa.nulls(count, type_)  # type: ignore[call-overload, no-any-return]  # the stubs want a known type
    if not count:
        return pa.array([], type_)  # Arrow cannot repeat a list no times
    return pa.repeat(pa.scalar(value, type_), count)  # type: ignore[call-overload, no-any-return]  # same


def numbers_dtype(wire_type: str) -> np.dtype[Any]:  # Any: the type's own
    """Return the layout of a fixed-width type on the wire."""
    return np.dtype(_DTYPES[wire_type])


def fixed_array(values: NDArray[Any], type_: pa.DataType) -> pa.Array[Any]:  # Any: the type's own
    """Make an array of fixed-width values in wire byte order."""
    if values.dtype.kind == "b":
        return pa.array(values, type_)
    native = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("="), copy=False))
    return pa.Array.from_buffers(type_, len(native), [None, buffer_of(native)])


def list_array(
    data: NDArray[np.uint8],
    at: NDArray[np.int64],
    count: NDArray[np.int64],
    *,
    wire_type: str,
    type_: pa.ListType[Any],  # Any: of numbers or uuids
) -> pa.Array[Any]:  # Any: a list
    """Make lists of `count` fixed-width elements each (negative: null) that start at `at`."""
    dtype = numbers_dtype(wire_type)
    offsets, _, validity = _offsets(count)
    child = fixed_array(gather_lists(data, at, offsets, dtype), type_.value_type)
    buffers = [validity, buffer_of(offsets.astype(np.int32))]
    return pa.Array.from_buffers(type_, len(count), buffers, children=[child])


def text_array(
    data: NDArray[np.uint8],
    at: NDArray[np.int64],
    size: NDArray[np.int64],
    type_: pa.DataType,
) -> tuple[pa.Array[Any] | None, NDArray[np.int64] | None]:  # Any: a string or bytes
    """Make strings or binaries of `size` bytes each (negative: null).

    If `type_` is string and some are not UTF-8, return no array but the rows of those.
    """
    offsets, size, validity = _offsets(size)
    values = np.empty(int(offsets[-1]), np.uint8)
    copy_spans(data, at, values, offsets[:-1], size)
    buffers = [validity, buffer_of(offsets.astype(np.int32)), buffer_of(values)]
    array = pa.Array.from_buffers(type_, len(size), buffers)
    if pa.types.is_string(type_) and int(values.max(initial=0)) >= 0x80:
        try:
            array.validate(full=True)
        except pa.ArrowInvalid:
            return None, _not_utf8(values, offsets)
    return array, None


def binary_array(
    data: NDArray[np.uint8], at: NDArray[np.int64], size: NDArray[np.int64]
) -> pa.Array[Any]:  # Any: bytes
    """Make binaries of `size` bytes each (negative: null) by copying them."""
    array, _ = text_array(data, at, size, pa.binary())
    assert array is not None, "only strings are checked"
    return array


def view_array(data: NDArray[np.uint8], at: NDArray[np.int64], size: NDArray[np.int64]) -> pa.Array[Any]:  # Any: bytes
    """Make binary views of spans of `data` (negative size: null): only values of up to 12 bytes are copied."""
    views = np.zeros(len(at), _VIEW_DTYPE)
    length = np.maximum(size, 0)
    # Offsets of views have 31 bits: beyond 1 GiB they count in a buffer that starts later.
    views["size"], views["buffer"], views["offset"] = length, at >> _VIEW_SHIFT, at & ((1 << _VIEW_SHIFT) - 1)
    short = length <= _INLINE_BYTES_MAX
    views["buffer"][short] = views["offset"][short] = 0
    inlined = np.where(short, length, _PREFIX_BYTES)
    target_at = np.arange(len(at)) * _VIEW_DTYPE.itemsize + _PREFIX_AT
    copy_spans(data, at, views.view(np.uint8), target_at, inlined)
    parts = [buffer_of(data[start:]) for start in range(0, max(len(data), 1), 1 << _VIEW_SHIFT)]
    return pa.Array.from_buffers(pa.binary_view(), len(at), [_validity(size), buffer_of(views), *parts])


def _offsets(
    count: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], pa.Buffer | None]:
    """Return the offsets of the lists, their sizes with 0 for null, and the validity bitmap (None without nulls)."""
    validity = _validity(count)
    size = count if validity is None else np.maximum(count, 0)
    offsets = np.zeros(len(count) + 1, np.int64)
    np.cumsum(size, out=offsets[1:])
    return offsets, size, validity


def _validity(count: NDArray[np.int64]) -> pa.Buffer | None:
    if int(count.min(initial=0)) >= 0:
        return None
    return buffer_of(np.packbits(count >= 0, bitorder="little"))


def _not_utf8(values: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    found = []
    text = values.tobytes()
    ends = offsets.tolist()
    for row, (start, end) in enumerate(pairwise(ends)):
        try:
            text[start:end].decode()
        except UnicodeDecodeError:
            found.append(row)
    return np.array(found, np.int64)
