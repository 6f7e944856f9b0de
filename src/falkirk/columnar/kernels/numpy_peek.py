"""Which type of metadata record stands at each place, read from the first bytes of the record alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from falkirk.columnar.kernels import NO_TYPE
from falkirk.columnar.kernels.numpy_heads import HEAD_BYTES, NULL_KEY, fits, heads_of, shape_of
from falkirk.columnar.kernels.numpy_varints import bytes_at
from falkirk.protocol.metadata_record import FRAME_VERSION

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Ints = NDArray[np.int64]
    Codes = NDArray[np.uint16]

_MORE: Final = 0x80
_VARINT_BYTES_MAX: Final = 4


def peek_types(data: Bytes, start: Ints) -> Codes:
    """See `Kernels.peek_types`."""
    near_end = int(np.count_nonzero(start + HEAD_BYTES > len(data)))
    if not near_end:
        return _peek(heads_of(data, start))
    # Room behind the last records; no type or version begins with what it is filled with.
    first = int(start[-near_end])
    tail = np.full(len(data) - first + HEAD_BYTES, 0xFF, np.uint8)
    tail[: len(data) - first] = data[first:]
    last = _peek(heads_of(tail, start[-near_end:] - first))
    return np.concatenate([peek_types(data, start[:-near_end]), last])


def frame_types(data: Bytes, value_at: Ints, value_end: Ints) -> Codes:
    """See `Kernels.frame_types`."""
    whole = value_end - value_at >= _FRAME_BYTES
    if not whole.all():
        found = np.full(len(value_at), NO_TYPE, np.uint16)
        found[whole] = frame_types(data, value_at[whole], value_end[whole])
        return found
    window = np.ndarray((max(len(data) - _FRAME_BYTES + 1, 0),), f"V{_FRAME_BYTES}", data, strides=(1,))
    frames = window[value_at].view(np.uint8).reshape(len(value_at), _FRAME_BYTES)
    record_type, version = frames[:, 1], frames[:, 2]
    sound = (frames[:, 0] == FRAME_VERSION) & ((record_type | version) < _MORE)
    return np.where(sound, record_type.astype(np.uint16) << 8 | version, np.uint16(NO_TYPE))


_FRAME_BYTES: Final = 3


def _peek(heads: Bytes) -> Codes:
    shape = shape_of(heads[len(heads) // 2].tobytes()) if len(heads) else None
    if shape is None:
        return _peek_any(heads)
    fitting = fits(heads, shape)
    at = shape.value_at
    record_type, version = heads[:, at + 1], heads[:, at + 2]
    sound = heads[:, shape.attributes_at] == 0
    sound &= heads[:, shape.attributes_at + 1] == 0
    sound &= heads[:, at] == FRAME_VERSION
    sound &= (record_type | version) < _MORE
    found = np.where(sound, record_type.astype(np.uint16) << 8 | version, np.uint16(NO_TYPE))
    if not fitting.all():
        others = np.flatnonzero(~fitting)
        found[others] = _peek_any(heads[others])
    return found


def _peek_any(heads: Bytes) -> Codes:
    flat = heads.ravel()
    row = np.arange(len(heads)) * HEAD_BYTES
    at, sound = _behind_varint(flat, row)
    # Attributes and timestamp delta are 0 in every metadata record.
    sound &= (bytes_at(flat, at) == 0) & (bytes_at(flat, at + 1) == 0)
    at, small = _behind_varint(flat, at + 2)
    sound &= small & (bytes_at(flat, at) == NULL_KEY)
    at, small = _behind_varint(flat, at + 1)
    sound &= small & (bytes_at(flat, at) == FRAME_VERSION)
    record_type, version = bytes_at(flat, at + 1), bytes_at(flat, at + 2)
    sound &= (record_type | version) < _MORE
    return np.where(sound, record_type.astype(np.uint16) << 8 | version, np.uint16(NO_TYPE))


def _behind_varint(heads: Bytes, at: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Give the position behind each varint, and which have at most four bytes."""
    more = bytes_at(heads, at) >> 7
    end = at + 1 + more
    for _ in range(_VARINT_BYTES_MAX - 1):
        if not more.any():
            break
        more &= bytes_at(heads, end - 1) >> 7
        end += more
    return end, more == 0
