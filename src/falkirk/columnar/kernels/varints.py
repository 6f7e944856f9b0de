"""Varints at many positions at once: one round per byte, over the rows that have that byte."""

# ruff: noqa: PLR0917 - columns of the same rows, as many as it takes

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

UVARINT_BYTES_MAX: Final = 5
UVARLONG_BYTES_MAX: Final = 10
_MORE: Final = 0x80
_DENSE_BYTES_MAX: Final = 3


def varints(data: Bytes, at: Ints, sound: Flags) -> tuple[Ints, Ints]:
    """Read a zigzag varint of up to 64 bits at each position: (value, position behind it); clears `sound`."""
    value, end = unsigned_varints(data, at, sound, UVARLONG_BYTES_MAX)
    # All 64 bits may be in use: the shift must not bring in a sign.
    half = (value.view(np.uint64) >> np.uint64(1)).view(np.int64)
    value &= 1
    return half ^ np.negative(value, out=value), end


def bytes_at(data: Bytes, at: Ints) -> Bytes:
    """Read a byte at each position; positions outside of `data` read some other byte of it."""
    return data.take(at, mode="clip")


def unsigned_varints(data: Bytes, at: Ints, sound: Flags, bytes_max: int = UVARINT_BYTES_MAX) -> tuple[Ints, Ints]:
    """Read an unsigned varint at each position: (value, position behind it).

    Clears `sound` (and sets the value to 0) where there are more than `bytes_max` bytes, or more bits than 32 or 64.
    """
    first = bytes_at(data, at)
    end = at + 1
    if int(first.max(initial=0)) < _MORE:
        return first.astype(np.int64), end
    value = (first & 0x7F).astype(np.int64)
    more = (first >> 7).astype(np.int64)
    for index in range(1, _DENSE_BYTES_MAX):
        # For all rows: where some have this byte, most do.
        byte = bytes_at(data, at + index).astype(np.int64)
        value += more * ((byte & 0x7F) << 7 * index)
        end += more
        more &= byte >> 7
        if not more.any():
            return value, end
    _read_on(data, np.flatnonzero(more), value, end, sound, bytes_max)
    return value, end


def _read_on(data: Bytes, rows: Ints, value: Ints, end: Ints, sound: Flags, bytes_max: int) -> None:
    """Read the bytes behind the first three, one round per byte."""
    for index in range(_DENSE_BYTES_MAX, bytes_max):
        byte = bytes_at(data, end[rows])
        end[rows] += 1
        value[rows] |= (byte & 0x7F).astype(np.int64) << (7 * index)
        more = byte >= _MORE
        if index == bytes_max - 1:
            # The last byte holds the bits up to 32, or the one bit up to 64.
            more |= byte > (0x0F if bytes_max == UVARINT_BYTES_MAX else 0x01)
        if not more.any():
            return
        rows = rows[more]
    sound[rows] = False
    value[rows] = 0
