"""A contiguous log in segments: appended to, truncated at both ends, and read by offset."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record_batch import (
    HEADER_BYTES,
    LENGTH_END,
    NO_TIMESTAMP,
    IncompleteBatchError,
    RecordBatch,
    read_batch,
)
from falkirk.storage.batch_search import find_batch
from falkirk.storage.batch_tail import BatchTail
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.segment import SegmentFile, format_segment_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.storage.disk import Disk, LogFile

INDEX_INTERVAL_BYTES: Final = 4096
"""The minimum distance of entries in a segment's index (Kafka's log.index.interval.bytes)."""
_RELATIVE_OFFSET_MAX: Final = (1 << 31) - 1
# A real Kafka's files beside a `.log`; it rebuilds them when they are missing.
_COMPANIONS: Final = ("index", "timeindex", "txnindex", "snapshot")


@dataclass(slots=True, kw_only=True)
class LogSegment:
    """One `.log`: its end, and a sparse index in memory (offsets and positions of batches)."""

    base_offset: int
    end_offset: int
    size: int = 0
    first_timestamp: int = NO_TIMESTAMP
    index_offsets: array[int] = field(default_factory=lambda: array("q"))
    index_positions: array[int] = field(default_factory=lambda: array("q"))

    def add(self, batch: RecordBatch) -> None:
        """Add the next batch."""
        assert batch.base_offset == self.end_offset
        positions = self.index_positions
        if not positions or self.size - positions[-1] >= INDEX_INTERVAL_BYTES:
            self.index_offsets.append(batch.base_offset)
            positions.append(self.size)
        if self.size == 0:
            self.first_timestamp = batch.max_timestamp
        self.size += batch.size
        self.end_offset = batch.end_offset

    def position_before(self, offset: int) -> int:
        """Return the position of a batch that begins at `offset` or not far before it."""
        at = bisect_right(self.index_offsets, offset) - 1
        return self.index_positions[at] if at >= 0 else 0

    def cut(self, end_offset: int, size: int) -> None:
        """Remove what is behind."""
        at = bisect_right(self.index_positions, size - 1)
        del self.index_offsets[at:], self.index_positions[at:]
        self.end_offset, self.size = end_offset, size
        if size == 0:
            self.first_timestamp = NO_TIMESTAMP


class SegmentLog:
    """The segments of one directory, all of them valid. There is always one, though perhaps no file for it yet.

    Appends are on disk when the call returns, but for those that leave that to `sync`. After an OSError of a write the
    disk's content is uncertain, and every later write raises it again; reading goes on. Opening such a log anew repairs
    it.
    """

    def __init__(
        self,
        disk: Disk,
        directory: str,
        segments: Sequence[LogSegment],
        *,
        segment_bytes: int,
        segment_ms: int,
        tail_bytes: int,
    ) -> None:
        assert segments
        self._disk = disk
        self._directory = directory
        self._segments = list(segments)
        self._bases = [segment.base_offset for segment in segments]
        self._segment_bytes = segment_bytes
        self._segment_ms = segment_ms
        self._tail = BatchTail(tail_bytes)
        self._error: OSError | None = None
        # The active segment's file while it has something that is not synced.
        self._unsynced: LogFile | None = None

    @property
    def base_offset(self) -> int:
        """The base offset of the first segment."""
        return self._bases[0]

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self._segments[-1].end_offset

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return sum(segment.size for segment in self._segments)

    def append(self, data: bytes | memoryview, batches: Sequence[RecordBatch], *, is_synced: bool = True) -> None:
        """Append `data`, which are these batches, in one write; rolls a segment before if it is due."""
        assert batches[0].base_offset == self.end_offset
        assert all(before.end_offset == after.base_offset for before, after in pairwise(batches))
        self._roll_if_due(len(data), batches[-1])
        active = self._segments[-1]
        path = self._path(active.base_offset)
        if is_synced:
            self.sync()
            with self._writing():
                self._disk.append(path, data)
        else:
            self._append_unsynced(path, data)
        for batch in batches:
            active.add(batch)
        self._tail.append(batches)

    def sync(self) -> None:
        """Sync what was appended without that."""
        file, self._unsynced = self._unsynced, None
        if file is not None:
            with closing(file), self._writing():
                file.sync()

    def roll(self) -> None:
        """Let the next batch start a segment."""
        active = self._segments[-1]
        if active.size:
            self.sync()
            self._segments.append(LogSegment(base_offset=active.end_offset, end_offset=active.end_offset))
            self._bases.append(active.end_offset)

    def base_from(self, offset: int) -> int | None:
        """Return the first segment's base offset at `offset` or behind it; None if there is none."""
        at = bisect_left(self._bases, offset)
        return self._bases[at] if at < len(self._bases) else None

    def truncate(self, end_offset: int) -> None:
        """Truncate the log; a batch that contains `end_offset` is removed as a whole. No-op beyond the log's end.

        `end_offset` must not be below the log's first segment.
        """
        assert end_offset >= self.base_offset
        if end_offset >= self.end_offset:
            return
        while self._bases[-1] > end_offset:
            self._remove_last()
        active = self._segments[-1]
        position, offset = self._position_of(active, end_offset)
        if position < active.size:
            self.sync()
            with self._writing():
                self._disk.truncate(self._path(active.base_offset), position)
        active.cut(offset, position)
        self._tail.truncate(offset)

    def clear(self, start_offset: int) -> None:
        """Remove everything, and continue at `start_offset`.

        Starts at the end: after a crash the rest is still a valid beginning of the log.
        """
        while self._segments:
            self._remove_last()
        self._segments.append(LogSegment(base_offset=start_offset, end_offset=start_offset))
        self._bases.append(start_offset)

    def delete_before(self, offset: int) -> tuple[str, ...]:
        """Remove the segments that end by `offset`, never the last one; return their names."""
        removed: list[str] = []
        while len(self._segments) > 1 and self._bases[1] <= offset:
            base = self._bases[0]
            self._remove_files(base)
            removed.append(format_segment_file(SegmentFile(base_offset=base, kind="log")))
            del self._segments[0], self._bases[0]
        self._tail.drop_before(self.base_offset)
        return tuple(removed)

    def read(self, offset: int, bytes_max: int, *, check_crc: bool = False) -> list[RecordBatch]:
        """Return whole batches from the one of `offset` on: as many as fit, at least one, none at the log's end.

        `check_crc`: of what is read from the disk. Raises CorruptFileError if a file is no longer what was written.
        """
        assert offset >= self.base_offset
        if offset >= self.end_offset:
            return []
        if self._tail.holds(offset):
            return self._tail.read(offset, bytes_max)
        segment = self._segments[bisect_right(self._bases, offset) - 1]
        return self._read_segment(segment, offset, bytes_max, check_crc=check_crc)

    def _roll_if_due(self, size: int, last: RecordBatch) -> None:
        active = self._segments[-1]
        if not active.size:
            return
        age_ms = last.max_timestamp - active.first_timestamp
        if (
            active.size + size > self._segment_bytes
            or (active.first_timestamp >= 0 and age_ms > self._segment_ms)
            or last.last_offset - active.base_offset > _RELATIVE_OFFSET_MAX
        ):
            self.roll()

    def _read_segment(self, segment: LogSegment, offset: int, bytes_max: int, *, check_crc: bool) -> list[RecordBatch]:
        position = segment.position_before(offset)
        found: list[RecordBatch] = []
        # Mostly one read: the batch may begin nearly an index interval behind the index entry.
        data = self._read_file(segment, position, INDEX_INTERVAL_BYTES + bytes_max)
        at = 0
        while at < len(data):
            try:
                batch = self._batch_at(segment, data, position, at, check_crc=check_crc)
            except IncompleteBatchError:
                if found:
                    break
                # A large batch before the one of `offset`, or that one itself: read on from there.
                position, at = position + at, 0
                data = self._read_file(segment, position, self._size_at(segment, position) + bytes_max)
                continue
            at = batch.end_position
            if batch.end_offset <= offset:
                continue
            bytes_max -= batch.size
            if found and bytes_max < 0:
                break
            found.append(batch)
        assert found
        return found

    def _read_file(self, segment: LogSegment, position: int, length: int) -> memoryview:
        length = min(length, segment.size - position)
        return memoryview(self._disk.read(self._path(segment.base_offset), position, length))

    def _size_at(self, segment: LogSegment, position: int) -> int:
        header = self._read_file(segment, position, HEADER_BYTES)
        size = int.from_bytes(header[8:LENGTH_END], "big") + LENGTH_END
        if not HEADER_BYTES <= size <= segment.size - position:
            reason = f"a batch of {size} bytes where {segment.size - position} are left"
            raise CorruptFileError(reason, offset=position, file=self._path(segment.base_offset))
        return size

    def _batch_at(
        self, segment: LogSegment, data: memoryview, position: int, at: int, *, check_crc: bool
    ) -> RecordBatch:
        try:
            return read_batch(data, at, check_crc=check_crc)
        except IncompleteBatchError:
            raise
        except RemoteProtocolError as error:
            file = self._path(segment.base_offset)
            raise CorruptFileError(error.reason, offset=position + error.offset, file=file) from error

    def _position_of(self, segment: LogSegment, offset: int) -> tuple[int, int]:
        """Return the position in the file of the batch that contains `offset`, and its base offset."""
        if offset >= segment.end_offset:
            return segment.size, segment.end_offset
        place = find_batch(
            lambda position, length: self._read_file(segment, position, length),
            segment.position_before(offset),
            segment.size,
            offset,
            file=self._path(segment.base_offset),
        )
        assert place is not None
        return place.position, place.base_offset

    def _remove_last(self) -> None:
        base_offset = self._bases[-1]
        self._remove_files(base_offset)
        del self._segments[-1], self._bases[-1]
        self._tail.truncate(base_offset)

    def _append_unsynced(self, path: str, data: bytes | memoryview) -> None:
        with self._writing():
            if self._unsynced is None:
                is_new = not self._disk.exists(path)
                self._unsynced = self._disk.open_log_file(path)
                if is_new:
                    self._disk.sync_directory(self._directory)
            self._unsynced.append(data)

    def _remove_files(self, base_offset: int) -> None:
        self.sync()
        with self._writing():
            for kind in ("log", *_COMPANIONS):
                with suppress(FileNotFoundError):
                    self._disk.remove(self._path(base_offset, kind))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if self._error is not None:
            raise self._error
        try:
            yield
        except OSError as error:
            self._error = error
            raise

    def _path(self, base_offset: int, kind: str = "log") -> str:
        return f"{self._directory}/{format_segment_file(SegmentFile(base_offset=base_offset, kind=kind))}"
