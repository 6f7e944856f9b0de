"""The offset index (`.index`) and time index (`.timeindex`) of a segment.

offset index entry := offset relative to the segment int32, position in the `.log` int32
time index entry   := timestamp int64, offset relative to the segment int32

The index files of the active segment have their maximum size, with zeros behind the last entry; an unclean shutdown
leaves them so. Kafka rebuilds both files from the `.log` when they are missing or do not fit.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from falkirk.protocol.record_batch import NO_TIMESTAMP, RecordBatch
from falkirk.storage.errors import CorruptFileError

INDEX_INTERVAL_BYTES = 4096
"""Default of `index.interval.bytes`: the first batch more than this behind the last entry gets an entry."""
_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetIndex:
    """Entries (last offset of a batch, position of that batch), both increasing; offsets are absolute."""

    base_offset: int
    entries: tuple[tuple[int, int], ...] = ()
    preallocated_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeIndex:
    """Entries (largest timestamp so far, last offset of its batch), both increasing."""

    base_offset: int
    entries: tuple[tuple[int, int], ...] = ()
    preallocated_bytes: int = 0


def parse_offset_index(data: bytes, *, base_offset: int, file: str) -> OffsetIndex:
    """Read a file. Raises CorruptFileError for a partial entry, or offsets or positions that do not increase."""
    entries, zeros = _entries(data, _OFFSET_ENTRY, file)
    for index, (before, after) in enumerate(pairwise([(-1, -1), *entries])):
        if after[0] <= before[0] or after[1] <= before[1]:
            reason = f"entry {index} (relative offset {after[0]}, position {after[1]}) does not increase"
            raise CorruptFileError(reason, offset=index * _OFFSET_ENTRY.size, file=file)
    absolute = tuple((base_offset + relative, position) for relative, position in entries)
    return OffsetIndex(base_offset=base_offset, entries=absolute, preallocated_bytes=zeros)


def format_offset_index(index: OffsetIndex) -> bytes:
    """Write a file, with the zeros behind the last entry if it had any."""
    entries = b"".join(_OFFSET_ENTRY.pack(offset - index.base_offset, position) for offset, position in index.entries)
    return entries + bytes(index.preallocated_bytes)


def parse_time_index(data: bytes, *, base_offset: int, file: str) -> TimeIndex:
    """Read a file. Raises CorruptFileError for a partial entry, or timestamps or offsets that decrease.

    An entry of zeros only (timestamp 0 at the segment's first offset) at the end counts as preallocated.
    """
    entries, zeros = _entries(data, _TIME_ENTRY, file)
    for index, (before, after) in enumerate(pairwise([(NO_TIMESTAMP, 0), *entries])):
        if after[0] <= before[0] or after[1] < before[1]:
            reason = f"entry {index} (timestamp {after[0]}, relative offset {after[1]}) does not increase"
            raise CorruptFileError(reason, offset=index * _TIME_ENTRY.size, file=file)
    absolute = tuple((timestamp, base_offset + relative) for timestamp, relative in entries)
    return TimeIndex(base_offset=base_offset, entries=absolute, preallocated_bytes=zeros)


def format_time_index(index: TimeIndex) -> bytes:
    """Write a file, with the zeros behind the last entry if it had any."""
    entries = b"".join(_TIME_ENTRY.pack(timestamp, offset - index.base_offset) for timestamp, offset in index.entries)
    return entries + bytes(index.preallocated_bytes)


def rebuild_indexes(
    batches: Iterable[RecordBatch], *, base_offset: int, interval_bytes: int = INDEX_INTERVAL_BYTES
) -> tuple[OffsetIndex, TimeIndex]:
    """Make both indexes of a segment as Kafka's recovery does, trimmed as those of a closed segment.

    The batches' positions count from the start of the `.log`. Source: LogSegment.recover.
    """
    offsets: list[tuple[int, int]] = []
    times: list[tuple[int, int]] = []
    largest = (NO_TIMESTAMP, base_offset)
    last_indexed = 0
    for batch in batches:
        if batch.max_timestamp > largest[0]:
            largest = (batch.max_timestamp, batch.last_offset)
        if batch.position - last_indexed > interval_bytes:
            offsets.append((batch.last_offset, batch.position))
            _append_time(times, largest)
            last_indexed = batch.position
    _append_time(times, largest)
    return (
        OffsetIndex(base_offset=base_offset, entries=tuple(offsets)),
        TimeIndex(base_offset=base_offset, entries=tuple(times)),
    )


def first_misfit(index: OffsetIndex, batches: Iterable[RecordBatch]) -> tuple[int, int] | None:
    """Return the first entry that does not point at a batch with that last offset, None if all fit."""
    last_offsets = {batch.position: batch.last_offset for batch in batches}
    for offset, position in index.entries:
        if last_offsets.get(position) != offset:
            return offset, position
    return None


def _append_time(times: list[tuple[int, int]], entry: tuple[int, int]) -> None:
    if entry[0] > (times[-1][0] if times else NO_TIMESTAMP):
        times.append(entry)


def _entries(data: bytes, layout: struct.Struct, file: str) -> tuple[list[tuple[int, int]], int]:
    """Return the entries and the number of zero bytes behind them."""
    size = layout.size
    if len(data) % size:
        reason = f"{len(data)} bytes are not a whole number of entries of {size} bytes"
        raise CorruptFileError(reason, offset=len(data) - len(data) % size, file=file)
    used = -(-len(data.rstrip(b"\0")) // size) * size
    return list(layout.iter_unpack(data[:used])), len(data) - used
