"""Both indexes of a segment in memory: the entries of `.index` and `.timeindex`, laid out as in those files.

The layouts are in `storage.index`; here they are arrays that grow, because a broker uses them at every read.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left, bisect_right
from operator import ge, gt
from typing import TYPE_CHECKING, Final

from falkirk.protocol.record_batch import NO_TIMESTAMP

if TYPE_CHECKING:
    from falkirk.protocol.record_batch import RecordBatch

TIME_ENTRY_BYTES: Final = 12
_OFFSET_ENTRY_BYTES: Final = 8
_TIME_ENTRY: Final = struct.Struct(">qi")


class SegmentIndex:
    """Sparse entries: last offset and position of a batch; largest timestamp so far and last offset of its batch.

    Offsets are relative to the segment inside, as in the files; arguments and results are absolute.
    """

    __slots__ = ("base_offset", "indexed_position", "largest", "offsets", "positions", "time_offsets", "timestamps")

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.largest = (NO_TIMESTAMP, base_offset)
        """The largest timestamp of all batches, and the last offset of the first that has it; -1 for none."""
        self.indexed_position = 0
        """Where the last batch stands that has an entry."""
        self.offsets = array("i")
        self.positions = array("i")
        self.timestamps = array("q")
        self.time_offsets = array("i")

    def add(self, batch: RecordBatch, position: int, interval_bytes: int) -> None:
        """Add the next batch, at `position`; it gets entries if the last ones are far enough away.

        Source: LogSegment.append, LogSegment.recover.
        """
        if batch.max_timestamp > self.largest[0]:
            self.largest = (batch.max_timestamp, batch.last_offset)
        if position - self.indexed_position > interval_bytes:
            self.offsets.append(batch.last_offset - self.base_offset)
            self.positions.append(position)
            self.add_largest()
            self.indexed_position = position

    def add_largest(self) -> None:
        """Add an entry for the largest timestamp, unless the last one has it; a closed segment ends so."""
        timestamp, last_offset = self.largest
        if timestamp > (self.timestamps[-1] if self.timestamps else NO_TIMESTAMP):
            self.timestamps.append(timestamp)
            self.time_offsets.append(last_offset - self.base_offset)

    def is_full(self, bytes_max: int) -> bool:
        """Return whether a file has no room for another entry, in the time index for one besides that of the roll."""
        return (
            len(self.positions) * _OFFSET_ENTRY_BYTES + _OFFSET_ENTRY_BYTES > bytes_max
            or len(self.timestamps) * TIME_ENTRY_BYTES + 2 * TIME_ENTRY_BYTES > bytes_max
        )

    def position_before(self, offset: int) -> int:
        """Return the position of a batch that is not behind that of `offset`, and mostly not far before it."""
        at = bisect_right(self.offsets, offset - self.base_offset) - 1
        return self.positions[at] if at >= 0 else 0

    def offset_from(self, position: int) -> int | None:
        """Return the last offset of the first indexed batch at `position` or behind it."""
        at = bisect_left(self.positions, position)
        return self.base_offset + self.offsets[at] if at < len(self.positions) else None

    def offset_before_timestamp(self, timestamp: int) -> int:
        """Return an offset before which every record is older than `timestamp`."""
        at = bisect_right(self.timestamps, timestamp) - 1
        return self.base_offset + (self.time_offsets[at] if at >= 0 else 0)

    def cut(self, end_offset: int, size: int) -> None:
        """Remove the entries from `end_offset` on, and those of batches at `size` or behind it.

        `largest` becomes that of the last entry, which may be too low.
        """
        at = min(bisect_left(self.offsets, end_offset - self.base_offset), bisect_left(self.positions, size))
        del self.offsets[at:], self.positions[at:]
        at = bisect_left(self.time_offsets, end_offset - self.base_offset)
        del self.timestamps[at:], self.time_offsets[at:]
        self._begin_at_last_entries()

    def offset_index_bytes(self) -> bytes:
        """Return the content of `.index`."""
        values = [0] * (2 * len(self.offsets))
        values[::2], values[1::2] = self.offsets.tolist(), self.positions.tolist()
        return struct.pack(f">{len(values)}i", *values)

    def time_index_bytes(self) -> bytes:
        """Return the content of `.timeindex`."""
        return b"".join(map(_TIME_ENTRY.pack, self.timestamps, self.time_offsets))

    def load(self, offset_data: bytes, time_data: bytes) -> bool:
        """Load the contents of both files, without preallocated zeros; return whether they are in order."""
        if len(offset_data) % _OFFSET_ENTRY_BYTES or len(time_data) % _TIME_ENTRY.size:
            return False
        used = _used_bytes(offset_data, _OFFSET_ENTRY_BYTES)
        values = struct.unpack(f">{used // 4}i", offset_data[:used])
        self.offsets, self.positions = array("i", values[::2]), array("i", values[1::2])
        used = _used_bytes(time_data, _TIME_ENTRY.size)
        for timestamp, offset in _TIME_ENTRY.iter_unpack(time_data[:used]):
            self.timestamps.append(timestamp)
            self.time_offsets.append(offset)
        self._begin_at_last_entries()
        firsts = [values[0] for values in (self.offsets, self.positions, self.timestamps, self.time_offsets) if values]
        return (
            not any(first < 0 for first in firsts)
            and not any(map(ge, self.offsets, self.offsets[1:]))
            and not any(map(ge, self.positions, self.positions[1:]))
            and not any(map(ge, self.timestamps, self.timestamps[1:]))
            and not any(map(gt, self.time_offsets, self.time_offsets[1:]))
        )

    def _begin_at_last_entries(self) -> None:
        self.indexed_position = self.positions[-1] if self.positions else 0
        self.largest = (NO_TIMESTAMP, self.base_offset)
        if self.timestamps:
            self.largest = (self.timestamps[-1], self.base_offset + self.time_offsets[-1])


def last_time_entry(data: bytes, base_offset: int) -> tuple[int, int] | None:
    """Read the last entry of a trimmed `.timeindex` from the file's last bytes; None if they are not an entry."""
    if len(data) != _TIME_ENTRY.size:
        return None
    timestamp, offset = _TIME_ENTRY.unpack(data)
    return (timestamp, base_offset + offset) if timestamp > 0 and offset >= 0 else None


def _used_bytes(data: bytes, entry_bytes: int) -> int:
    return -(-len(data.rstrip(b"\0")) // entry_bytes) * entry_bytes
