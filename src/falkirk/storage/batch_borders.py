"""The ends of batches in bytes of a log, and in a log file.

Only the first 17 bytes of a batch are read, which hold its length and magic. Files are read in blocks: a request per
batch would be slow on an object store.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from falkirk.protocol.record_batch import HEADER_BYTES, LENGTH_END, MAGIC, MAGIC_AT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.storage.disk import ReadableDisk

BLOCK_BYTES: Final = 4 * 1024 * 1024
"""Bytes per read: on an object store a request takes about as long as reading this much."""
_int_at = Struct(">i").unpack_from
_LEADER_EPOCH_AT: Final = 12
_LENGTH_MIN: Final = HEADER_BYTES - LENGTH_END


def borders(data: memoryview, at: int = 0) -> Iterator[int]:
    """Yield the end of each whole batch from `at` on; ends where the next one is impossible or incomplete."""
    limit = len(data)
    while at + HEADER_BYTES <= limit:
        (length,) = _int_at(data, at + 8)
        if length < _LENGTH_MIN or data[at + MAGIC_AT] != MAGIC or at + LENGTH_END + length > limit:
            return
        at += LENGTH_END + length
        yield at


def leader_epochs(data: memoryview) -> Iterator[int]:
    """Yield the leader epoch of each whole batch."""
    at = 0
    for end in borders(data):
        (epoch,) = _int_at(data, at + _LEADER_EPOCH_AT)
        yield epoch
        at = end


def iter_borders(
    disk: ReadableDisk, path: str, start: int, end: int, *, block_bytes: int = BLOCK_BYTES
) -> Iterator[int]:
    """Yield the end of each whole batch in a byte range of a file; a batch must begin at `start`."""
    position = start
    block, block_at = memoryview(b""), start
    while position + HEADER_BYTES <= end:
        at = position - block_at
        if at + HEADER_BYTES > len(block):
            block, block_at, at = memoryview(disk.read(path, position, min(block_bytes, end - position))), position, 0
            if len(block) < HEADER_BYTES:
                return
        (length,) = _int_at(block, at + 8)
        if length < _LENGTH_MIN or block[at + MAGIC_AT] != MAGIC or position + LENGTH_END + length > end:
            return
        position += LENGTH_END + length
        yield position


def first_batch_bytes(data: memoryview) -> int | None:
    """Return the size of the batch that begins here, complete or not; None if none does."""
    if len(data) < HEADER_BYTES or data[MAGIC_AT] != MAGIC:
        return None
    (length,) = _int_at(data, 8)
    return LENGTH_END + int(length) if length >= _LENGTH_MIN else None
