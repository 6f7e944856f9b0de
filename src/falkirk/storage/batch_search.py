"""Finding a batch in a `.log` from header to header, without reading anything else."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.protocol.record_batch import HEADER_BYTES, LENGTH_END
from falkirk.storage.errors import CorruptFileError

if TYPE_CHECKING:
    from collections.abc import Callable

_PIECE_BYTES: Final = 4096 + HEADER_BYTES
_HEAD: Final = struct.Struct(">qi11xi")


class BatchPlace(NamedTuple):
    """A batch in a file: position, size in bytes, and its offsets (the last one inclusive)."""

    position: int
    size: int
    base_offset: int
    last_offset: int


def find_batch(
    read: Callable[[int, int], bytes | memoryview], position: int, end: int, offset: int, *, file: str
) -> BatchPlace | None:
    """Return the first batch from `position` on that ends at `offset` or later; None if there is none before `end`.

    `read` takes a position and a length. Raises CorruptFileError for an impossible header.
    """
    start, data = position, memoryview(b"")
    while position < end:
        if position - start + HEADER_BYTES > len(data):
            start, data = position, memoryview(read(position, min(_PIECE_BYTES, end - position)))
        place = place_at(data, position - start)
        if place is None or place.size > end - position:
            reason = f"no batch fits the {end - position} bytes that are left"
            raise CorruptFileError(reason, offset=position, file=file)
        if place.last_offset >= offset:
            return BatchPlace(position, place.size, place.base_offset, place.last_offset)
        position += place.size
    return None


def place_at(data: memoryview, at: int) -> BatchPlace | None:
    """Read a header's offsets and size; None if the buffer ends in it or the size is impossible.

    `position` counts in `data`.
    """
    if at + _HEAD.size > len(data):
        return None
    base_offset, length, last_delta = _HEAD.unpack_from(data, at)
    if length < HEADER_BYTES - LENGTH_END:
        return None
    return BatchPlace(at, length + LENGTH_END, base_offset, base_offset + last_delta)
