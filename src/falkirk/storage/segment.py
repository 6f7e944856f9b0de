"""Segments of a partition's log: their file names, and reading the valid part of a `.log` file batch by batch.

A segment ends in one of three ways. Clean: after a whole batch. Torn: a write did not finish, so the last batch is
truncated, or replaced by zeros (a preallocated file, or blocks that never reached the disk); Kafka truncates such a
tail at its next start. Corrupt: anything else, above all a batch with a wrong CRC; that is an error, because valid
batches may follow it and Kafka's own recovery would throw them away. Only a starting node treats a bad last batch as
torn, too (`cuts_bad_end`): fewer zeros than a block at its end look like any other damage.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from crc32c import crc32c

from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record_batch import (
    ATTRIBUTES_AT,
    CRC_AT,
    HEADER_BYTES,
    LENGTH_END,
    MAGIC,
    MAGIC_AT,
    IncompleteBatchError,
    RecordBatch,
    read_batch,
)
from falkirk.storage.errors import CorruptFileError

_KINDS = "log|index|timeindex|txnindex|snapshot"
_NAME = re.compile(rf"([0-9]{{20}})\.({_KINDS})(?:\.(deleted|cleaned|swap))?\Z")
_INT64_MAX = (1 << 63) - 1
_CHUNK = 1 << 20
# The smallest unit of disk writes. Fewer zeros at a batch's end may well be its own.
_BLOCK_BYTES = 512
# The search for a batch behind a damaged length computes the CRCs of at most this many times the bytes searched.
_SEARCH_EFFORT_MAX = 16
# How often a batch is searched for behind a damaged one, and in how many bytes, where all valid ones are counted.
_SEARCHES_MAX = 16
_SEARCHED_BYTES_MAX = 1 << 26


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFile:
    """A file name like `00000000000000000042.log`.

    `kind` is the first extension (log, index, timeindex, txnindex, snapshot), `marker` what follows it: empty,
    `deleted` (to be deleted), `cleaned` or `swap` (the cleaner's work, unfinished and finished).
    """

    base_offset: int
    kind: str
    marker: str = ""


def parse_segment_file(name: str) -> SegmentFile | None:
    """Read a file name; None if it is not that of a segment's file."""
    match = _NAME.match(name)
    if match is None or int(match.group(1)) > _INT64_MAX:
        return None
    return SegmentFile(base_offset=int(match.group(1)), kind=match.group(2), marker=match.group(3) or "")


def format_segment_file(file: SegmentFile) -> str:
    """Write a file name."""
    return f"{file.base_offset:020d}.{file.kind}" + (f".{file.marker}" if file.marker else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class TornTail:
    """The reader stopped at byte `position` of `size`, because of `reason`; what is before is valid."""

    position: int
    size: int
    reason: str

    def __str__(self) -> str:
        """Return one line for the operator."""
        return f"torn at byte {self.position} of {self.size}: {self.reason}"


class SegmentReader:
    """Iterates the batches of one segment once; afterwards the fields describe its end.

    `contiguous` is for metadata logs and snapshots, whose offsets have no gaps and whose epochs never fall: it detects
    a flipped bit of a base offset or leader epoch, which no CRC covers. Elsewhere offsets must only increase. CRCs of
    batches that begin before `checked_bytes` are not checked.
    """

    def __init__(
        self,
        data: bytes | bytearray | memoryview,
        *,
        file: str,
        base_offset: int,
        contiguous: bool = False,
        check_crc: bool = True,
        checked_bytes: int = 0,
        cuts_bad_end: bool = False,
    ) -> None:
        self._data = memoryview(data)
        self.file = file
        """Name of the `.log`, as errors give it."""
        self.base_offset = base_offset
        self._contiguous = contiguous
        self._check_crc = check_crc
        self._checked_bytes = checked_bytes
        self._cuts_bad_end = cuts_bad_end
        self.end_offset = base_offset
        """First offset behind the batches read so far."""
        self.end_position = 0
        """First byte behind the batches read so far."""
        self.leader_epoch = -1
        """Epoch of the last batch read so far."""
        self.torn: TornTail | None = None
        """Set when the end is reached and was torn."""

    @property
    def is_finished(self) -> bool:
        """True if the end was reached, clean or torn."""
        return self.torn is not None or self.end_position == len(self._data)

    def __iter__(self) -> Iterator[RecordBatch]:
        """Iterate over the batches. Raises CorruptFileError with byte, base offset and reason."""
        data, size = self._data, len(self._data)
        while self.end_position < size and self.torn is None:
            position = self.end_position
            try:
                check_crc = self._check_crc and position >= self._checked_bytes
                batch = read_batch(data, position, check_crc=check_crc)
            except RemoteProtocolError as error:
                self._stop(error)
                return
            self._check_order(batch)
            self.end_position = position + batch.length + LENGTH_END
            self.end_offset = batch.end_offset
            self.leader_epoch = batch.leader_epoch
            yield batch

    def _stop(self, error: RemoteProtocolError) -> None:
        """Record a torn tail, or raise for anything else."""
        position, size = self.end_position, len(self._data)
        tail = self._data[position:]
        written = _written_bytes(tail)
        if written == 0:
            reason = "only zeros follow, as in a preallocated file"
        elif isinstance(error, IncompleteBatchError):
            later = _next_batch(tail)
            if later is not None:
                raise CorruptFileError(
                    f"{error.reason}, but a valid batch follows at byte {position + later}: the length is wrong",
                    offset=position,
                    file=self.file,
                ) from error
            reason = error.reason
        elif _is_zero_filled(tail, written):
            reason = f"the last batch was not written beyond byte {position + written}, zeros follow"
        elif self._cuts_bad_end and _next_batch(tail) is None:
            reason = f"{error.reason}, and no valid batch follows"
        else:
            raise CorruptFileError(error.reason, offset=error.offset, file=self.file) from error
        self.torn = TornTail(position=position, size=size, reason=reason)

    def _check_order(self, batch: RecordBatch) -> None:
        expected = self.end_offset
        if batch.base_offset < expected or (self._contiguous and batch.base_offset != expected):
            reason = f"batch begins at offset {batch.base_offset}, {expected} was expected"
        elif self._contiguous and batch.leader_epoch < self.leader_epoch:
            reason = (
                f"batch of offset {batch.base_offset} has leader epoch {batch.leader_epoch} after {self.leader_epoch}"
            )
        else:
            return
        raise CorruptFileError(reason, offset=batch.position, file=self.file)


def valid_batches_within(data: memoryview) -> Iterator[RecordBatch]:
    """Yield the valid batches among damaged bytes, by their positions in `data`.

    Behind a damaged batch the next one is searched for, in a bounded part of the bytes and not more than some times:
    there may be more.
    """
    position, searches_left = 0, _SEARCHES_MAX
    while position < len(data):
        try:
            batch = read_batch(data, position)
        except RemoteProtocolError:
            later = _batch_behind(data[position:]) if searches_left else None
            if later is None:
                return
            searches_left -= 1
            position += later
        else:
            yield batch
            position += batch.size


def _batch_behind(data: memoryview) -> int | None:
    """Return where the next valid batch begins behind a damaged one."""
    damaged = _plausible_batch(data, 0)
    if damaged is not None and damaged.size < len(data):
        following = _plausible_batch(data, damaged.size)
        if following is not None and following.crc_is_valid:
            return damaged.size
    # 0: a damaged length hides a batch that is complete; it cannot be read.
    return _next_batch(data[:_SEARCHED_BYTES_MAX]) or None


def _written_bytes(tail: memoryview) -> int:
    """Return the number of bytes before the zeros at the end of the file."""
    for end in range(len(tail), 0, -_CHUNK):
        start = max(end - _CHUNK, 0)
        written = len(tail[start:end].tobytes().rstrip(b"\0"))
        if written:
            return start + written
    return 0


def _is_zero_filled(tail: memoryview, written: int) -> bool:
    """Return whether the file ends with a batch whose last blocks never reached the disk."""
    batch = _plausible_batch(tail, 0)
    return batch is not None and written <= batch.size - _BLOCK_BYTES


def _next_batch(tail: memoryview) -> int | None:
    """Find a valid batch in what looks like a truncated one: then its length was damaged, not its end.

    0 means that the batch itself is complete if it ends where the file does.
    """
    if len(tail) < HEADER_BYTES:
        return None
    if crc32c(tail[ATTRIBUTES_AT:]) == int.from_bytes(tail[CRC_AT:ATTRIBUTES_AT], "big"):
        return 0
    data = tail.tobytes()
    budget = len(data) * _SEARCH_EFFORT_MAX
    magic_at = data.find(MAGIC, HEADER_BYTES + MAGIC_AT)
    while magic_at >= 0 and budget > 0:
        batch = _plausible_batch(tail, magic_at - MAGIC_AT)
        if batch is not None:
            budget -= batch.size
            if batch.crc_is_valid:
                return batch.position
        magic_at = data.find(MAGIC, magic_at + 1)
    return None


def _plausible_batch(tail: memoryview, position: int) -> RecordBatch | None:
    try:
        return read_batch(tail, position, check_crc=False)
    except RemoteProtocolError:
        return None
