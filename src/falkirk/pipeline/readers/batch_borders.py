"""The ends of batches in a log file, and what follows the last whole one.

Only the first 17 bytes of a batch are read, which hold its length and magic. Files are read in blocks: a request per
batch would be slow on an object store.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from falkirk.columnar.report import Problem
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record_batch import HEADER_BYTES, LENGTH_END, MAGIC, MAGIC_AT, IncompleteBatchError, read_batch
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.segment import SegmentReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.columnar.report import ProblemKind
    from falkirk.storage.disk import ReadableDisk

BLOCK_BYTES: Final = 4 * 1024 * 1024
"""Bytes per read: on an object store a request takes about as long as reading this much."""
TAIL_BYTES_MAX: Final = 32 * 1024 * 1024
"""At most this many bytes behind the last whole batch are examined."""
_length_at = Struct(">i").unpack_from
_LENGTH_MIN: Final = HEADER_BYTES - LENGTH_END
_Stop = tuple["ProblemKind", int, str]
# Kafka may truncate a log, or replace it by a compacted one, at any time.
_SHRUNK: Final[_Stop] = ("torn tail", 0, "the file became shorter while it was read")
_CHANGED: Final[_Stop] = ("corrupt batch", 0, "the file became another one while it was read")


def borders(data: memoryview, at: int = 0) -> Iterator[int]:
    """Yield the end of each whole batch from `at` on; ends where the next one is impossible or incomplete."""
    limit = len(data)
    while at + HEADER_BYTES <= limit:
        (length,) = _length_at(data, at + 8)
        if length < _LENGTH_MIN or data[at + MAGIC_AT] != MAGIC or at + LENGTH_END + length > limit:
            return
        at += LENGTH_END + length
        yield at


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
        (length,) = _length_at(block, at + 8)
        if length < _LENGTH_MIN or block[at + MAGIC_AT] != MAGIC or position + LENGTH_END + length > end:
            return
        position += LENGTH_END + length
        yield position


def first_batch_bytes(data: memoryview) -> int | None:
    """Return the size of the batch that begins here, complete or not; None if none does."""
    if len(data) < HEADER_BYTES or data[MAGIC_AT] != MAGIC:
        return None
    (length,) = _length_at(data, 8)
    return LENGTH_END + int(length) if length >= _LENGTH_MIN else None


def tail_problem(disk: ReadableDisk, path: str, position: int, end: int) -> Problem:
    """Return why there is no whole batch in a byte range of a file that follows one.

    A torn tail is a write that never finished, or zeros: everything before it is valid, and Kafka truncates it at its
    next start. Everything else is a corrupt batch. Nothing from `position` on has rows.
    """
    left = end - position
    tail = memoryview(disk.read(path, position, min(left, TAIL_BYTES_MAX)))
    if len(tail) < min(left, TAIL_BYTES_MAX):
        kind, at, reason = _SHRUNK
    else:
        kind, at, reason = _stop(tail, path) if left <= TAIL_BYTES_MAX else _long_stop(tail, left)
    detail = f"{reason}; the last {left} bytes of the file give no rows"
    return Problem(kind=kind, position=position + at, offset=None, reason=detail)


def _stop(tail: memoryview, path: str) -> _Stop:
    reader = SegmentReader(tail, file=path, base_offset=0)
    try:
        next(iter(reader), None)
    except CorruptFileError as error:
        return "corrupt batch", error.offset or 0, error.reason
    return _CHANGED if reader.torn is None else ("torn tail", 0, reader.torn.reason)


def _long_stop(tail: memoryview, left: int) -> _Stop:
    """Return the reason for a tail that is too long to be searched for a batch behind the damage."""
    if not tail.tobytes().strip(b"\0"):
        return "torn tail", 0, "only zeros follow, as in a preallocated file"
    try:
        read_batch(tail[:HEADER_BYTES], 0)
    except IncompleteBatchError:
        return "corrupt batch", 8, f"batch takes {first_batch_bytes(tail)} bytes, {left} are left"
    except RemoteProtocolError as error:
        return "corrupt batch", error.offset, error.reason
    return _CHANGED
