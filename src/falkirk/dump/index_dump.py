"""Entries of a segment's index files, each compared with the log as Kafka's dump tool does.

Kafka maps a whole index file into memory: a partial entry at the end is not read, and the zeros of a file that was not
trimmed are entries of the base offset, at which the dump ends.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from falkirk.dump.log_reader import LogReader, records_of
from falkirk.storage.errors import CorruptFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.dump.finding import Findings
    from falkirk.protocol.record_batch import RecordBatch

OFFSET_ENTRY: Final = struct.Struct(">ii")
TIME_ENTRY: Final = struct.Struct(">qi")
# Default of --max-message-size: a batch beyond it is not found.
MESSAGE_BYTES_MAX: Final = 5 * 1024 * 1024


class IndexedLog:
    """A segment's log as its indexes point into it."""

    def __init__(self, data: memoryview, *, file: str, base_offset: int) -> None:
        self._data = data
        self.file = file
        self.base_offset = base_offset

    def batches(self, position: int, bytes_max: int | None, *, index: str, entry: int) -> Iterator[RecordBatch]:
        """Yield the batches from a position on. Raises CorruptFileError, naming the entry, if it is outside the log."""
        if not 0 <= position <= len(self._data):
            reason = f"entry {entry} points at byte {position} of a log of {len(self._data)} bytes"
            raise CorruptFileError(reason, offset=entry * OFFSET_ENTRY.size, file=index)
        yield from LogReader(self._data, file=self.file, position=position, bytes_max=bytes_max)


def offset_entries(
    data: memoryview, log: IndexedLog, findings: Findings, *, file: str, absolute: str, message_bytes_max: int
) -> Iterator[tuple[int, int]]:
    """Yield (offset, position) of each entry; an entry with another offset in the log goes into `findings`.

    Raises CorruptFileError if an entry does not point at a batch, or at one larger than `message_bytes_max`.
    """
    for number, (relative, position) in enumerate(_entries(data, OFFSET_ENTRY)):
        offset = log.base_offset + relative
        if offset == log.base_offset and number > 0:
            return
        batch = next(log.batches(position, message_bytes_max, index=file, entry=number), None)
        if batch is None:
            reason = f"entry {number} points at byte {position} of the log, where no batch of at most"
            reason += f" {message_bytes_max} bytes begins"
            raise CorruptFileError(reason, offset=number * OFFSET_ENTRY.size, file=file)
        if batch.last_offset != offset:
            findings.index_mismatches.setdefault(absolute, []).append((offset, batch.last_offset))
        yield offset, position


def time_entries(
    data: memoryview, index: memoryview, log: IndexedLog, findings: Findings, *, file: str, absolute: str
) -> Iterator[tuple[int, int]]:
    """Yield (timestamp, offset) of each entry; one that does not fit the log goes into `findings`.

    `index` is the segment's offset index, which shortens the search. Raises CorruptFileError if the log is damaged.
    """
    offsets, positions = _rising_entries(index, log.base_offset)
    before = -1
    for number, (timestamp, relative) in enumerate(_entries(data, TIME_ENTRY)):
        offset = log.base_offset + relative
        if offset == log.base_offset and number > 0:
            return
        slot = bisect_right(offsets, offset) - 1
        position = positions[slot] if slot >= 0 else 0
        found = _first_batch(log.batches(position, None, index=file, entry=number), offset)
        if found is None or found.last_offset != offset:
            pair = (offset, -1 if found is None else found.last_offset)
            findings.missing_offsets.setdefault(absolute, []).append(pair)
        else:
            largest = max((record.timestamp for record in records_of(found, log.file)), default=-1)
            largest = max(largest, -1)
            if largest != timestamp:
                findings.timestamp_mismatches.setdefault(absolute, []).append((timestamp, largest))
            if before >= timestamp:
                findings.unordered_timestamps.setdefault(absolute, []).append((timestamp, before))
        yield timestamp, offset
        before = timestamp


def check_offset_index(data: memoryview, *, file: str, base_offset: int) -> None:
    """Run the checks of a starting broker. Raises CorruptFileError."""
    size = OFFSET_ENTRY.size
    count = len(data) // size
    if count:
        last = base_offset + OFFSET_ENTRY.unpack_from(data, (count - 1) * size)[0]
        _check_last(last, base_offset, (count - 1) * size, file)
    _check_whole(len(data), size, file)


def check_time_index(data: memoryview, *, file: str, base_offset: int) -> None:
    """Run the checks of a starting broker. Raises CorruptFileError."""
    size = TIME_ENTRY.size
    count = len(data) // size
    if count:
        at = (count - 1) * size
        timestamp, relative = TIME_ENTRY.unpack_from(data, at)
        first = TIME_ENTRY.unpack_from(data, 0)[0]
        if timestamp < first:
            reason = f"last timestamp is {timestamp}, less than the first, {first}"
            if timestamp == 0:
                reason += ": the file was not trimmed, as after an unclean stop"
            raise CorruptFileError(reason, offset=at, file=file)
        _check_last(base_offset + relative, base_offset, at, file)
    _check_whole(len(data), size, file)


def _entries(data: memoryview, entry: struct.Struct) -> Iterator[tuple[int, int]]:
    yield from entry.iter_unpack(data[: len(data) // entry.size * entry.size])


def _rising_entries(index: memoryview, base_offset: int) -> tuple[list[int], list[int]]:
    """Return offsets and positions of an offset index as long as they rise; in one in use, zeros follow."""
    offsets: list[int] = []
    positions: list[int] = []
    for relative, position in _entries(index, OFFSET_ENTRY):
        if offsets and base_offset + relative <= offsets[-1]:
            break
        offsets.append(base_offset + relative)
        positions.append(position)
    return offsets, positions


def _first_batch(batches: Iterator[RecordBatch], offset: int) -> RecordBatch | None:
    return next((batch for batch in batches if batch.last_offset >= offset), None)


def _check_last(last: int, base_offset: int, at: int, file: str) -> None:
    if last < base_offset:
        reason = f"last offset is {last}, less than the base offset, {base_offset}"
        raise CorruptFileError(reason, offset=at, file=file)


def _check_whole(length: int, size: int, file: str) -> None:
    if length % size:
        reason = f"{length} bytes are not a whole number of entries of {size} bytes"
        raise CorruptFileError(reason, offset=length - length % size, file=file)
