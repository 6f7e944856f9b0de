"""What follows the last whole batch of a log file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.columnar.report import Problem
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record_batch import HEADER_BYTES, IncompleteBatchError, read_batch
from falkirk.storage.batch_borders import first_batch_bytes
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.segment import SegmentReader

if TYPE_CHECKING:
    from falkirk.columnar.report import ProblemKind
    from falkirk.storage.disk import ReadableDisk

TAIL_BYTES_MAX: Final = 32 * 1024 * 1024
"""At most this many bytes behind the last whole batch are examined."""
_Stop = tuple["ProblemKind", int, str]
# Kafka may truncate a log, or replace it by a compacted one, at any time.
_SHRUNK: Final[_Stop] = ("torn tail", 0, "the file became shorter while it was read")
_CHANGED: Final[_Stop] = ("corrupt batch", 0, "the file became another one while it was read")


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
