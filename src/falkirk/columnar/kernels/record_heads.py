"""The first bytes of many records side by side: fields that most records encode alike are read once for all.

In a metadata log nearly all records of a block begin alike: sizes of two bytes, no key, offset deltas of equally many
bytes. So the heads are copied into the rows of a matrix, the shape of one in the middle is tried on all of them, and
where it fits, every field is in the same columns. The other records are read varint by varint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

# Size (4), attributes, timestamp delta (1), offset delta (4), null key, value size (4), frame version, type, version.
HEAD_BYTES: Final = 18
NULL_KEY: Final = 0x01
_VARINT_BYTES_MAX: Final = 4
_MORE: Final = 0x80


@dataclass(frozen=True, slots=True)
class HeadShape:
    """Bytes of the three varints whose size differs; the timestamp delta takes one byte, and there is no key."""

    size: int
    offset_delta: int
    value_size: int

    @property
    def attributes_at(self) -> int:
        """Column of the attributes; the timestamp delta follows, then the offset delta."""
        return self.size

    @property
    def key_at(self) -> int:
        """Column of the key's size; the value's size follows."""
        return self.size + 2 + self.offset_delta

    @property
    def value_at(self) -> int:
        """Column where the value starts."""
        return self.key_at + 1 + self.value_size


def heads_of(data: Bytes, start: Ints) -> Bytes:
    """Copy the first HEAD_BYTES of each record into a row; so many bytes must follow each start."""
    window = np.ndarray((max(len(data) - HEAD_BYTES + 1, 0),), f"V{HEAD_BYTES}", data, strides=(1,))
    return window[start].view(np.uint8).reshape(len(start), HEAD_BYTES)


def shape_of(head: bytes) -> HeadShape | None:
    """Read the shape of one head; None if it is not of this kind."""
    size = _varint_bytes(head, 0)
    offset_delta = _varint_bytes(head, size + 2)
    key_at = size + 2 + offset_delta
    value_size = _varint_bytes(head, key_at + 1)
    if not (size and offset_delta and value_size and head[key_at] == NULL_KEY):
        return None
    return HeadShape(size, offset_delta, value_size)


def fits(heads: Bytes, shape: HeadShape) -> Flags:
    """Return which heads have that shape."""
    fitting: Flags = heads[:, shape.key_at] == NULL_KEY
    fitting &= heads[:, shape.attributes_at + 1] < _MORE
    for column, size in (
        (0, shape.size),
        (shape.attributes_at + 2, shape.offset_delta),
        (shape.key_at + 1, shape.value_size),
    ):
        for each in range(column, column + size - 1):
            fitting &= heads[:, each] >= _MORE
        fitting &= heads[:, column + size - 1] < _MORE
    return fitting


def varint_columns(heads: Bytes, column: int, size: int) -> Ints:
    """Read a varint of `size` bytes from the same column of each row: the number before zigzag."""
    value = heads[:, column + size - 1].astype(np.int64)
    for each in range(size - 2, -1, -1):
        value <<= 7
        value |= heads[:, column + each] & (_MORE - 1)
    return value


def _varint_bytes(head: bytes, at: int) -> int:
    """Count the bytes of a varint; 0 if there are too many."""
    for size in range(1, _VARINT_BYTES_MAX + 1):
        if head[at + size - 1] < _MORE:
            return size
    return 0
