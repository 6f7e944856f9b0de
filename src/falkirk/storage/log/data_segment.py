"""One segment of a data log: `.log`, both indexes, `.txnindex`.

While a segment is active its indexes are in memory only, and their files may be stale: after an unclean shutdown they
are rebuilt, by Kafka too. They are written when the segment is rolled and when the log is closed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from crc32c import crc32c

from falkirk.protocol.record_batch import (
    IncompleteBatchError,
    RecordBatch,
    read_batch,
)
from falkirk.storage.batch_search import BatchPlace, find_batch, place_at
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.log.segment_index import (
    TIME_ENTRY_BYTES,
    SegmentIndex,
    last_time_entry,
)
from falkirk.storage.segment import SegmentFile, format_segment_file
from falkirk.storage.transaction_index import (
    AbortedTransaction,
    format_transaction_index,
    parse_transaction_index,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.storage.disk import Disk, LogFile
    from falkirk.storage.log.log_config import LogConfig

CLEANED: Final = "cleaned"
SWAP: Final = "swap"
DELETED: Final = "deleted"
SEGMENT_KINDS: Final = ("log", "index", "timeindex", "txnindex")
_RELATIVE_OFFSET_MAX: Final = (1 << 31) - 1
_PIECE_BYTES: Final = 1024 * 1024
# Above this two reads cost less than a copy.
_VIEWED_BYTES_MIN: Final = 64 * 1024


class DataSegment:
    """A segment: appended to, read by offset, and truncated.

    Indexes and files are loaded and opened on first use. `marker` is the suffix of its files, empty for a segment in
    use. An OSError of `append` leaves the segment as it was, if the file can be truncated.
    """

    __slots__ = (
        "_aborted",
        "_disk",
        "_file",
        "_first_timestamp",
        "_index",
        "_largest_on_disk",
        "_synced_bytes",
        "_txn_file",
        "base_offset",
        "created_ms",
        "directory",
        "index_interval_bytes",
        "marker",
        "size",
    )

    def __init__(
        self,
        disk: Disk,
        directory: str,
        base_offset: int,
        *,
        created_ms: int,
        index_interval_bytes: int,
        size: int = 0,
        marker: str = "",
        is_new: bool = False,
    ) -> None:
        """Use existing files, or (`is_new`) start without any, or with none that are worth keeping."""
        self._disk = disk
        self.directory = directory
        self.base_offset = base_offset
        self.created_ms = created_ms
        self.index_interval_bytes = index_interval_bytes
        self.size = size
        self.marker = marker
        # How much of the `.log` is known to be synced.
        self._synced_bytes = 0
        self._file: LogFile | None = None
        self._txn_file: LogFile | None = None
        self._index: SegmentIndex | None = None
        self._largest_on_disk: tuple[int, int] | None = None
        self._first_timestamp: int | None = None
        self._aborted: list[AbortedTransaction] | None = None
        if is_new:
            self._index = SegmentIndex(base_offset)
            self._aborted = []

    @property
    def path(self) -> str:
        """Path of the `.log`."""
        return self.path_of("log")

    @property
    def file(self) -> LogFile:
        """The open `.log`."""
        if self._file is None:
            self._file = self._disk.open_log_file(self.path)
        return self._file

    @property
    def index(self) -> SegmentIndex:
        """Both indexes; rebuilt from the `.log` if their files are missing or do not fit."""
        if self._index is None:
            self._index = self._load_index()
        return self._index

    @property
    def largest(self) -> tuple[int, int]:
        """The largest timestamp, and the last offset of the first batch that has it; timestamp -1 for none."""
        if self._index is not None:
            return self._index.largest
        if self._largest_on_disk is None:
            self._largest_on_disk = self._load_largest()
        return self._largest_on_disk

    @property
    def aborted(self) -> Sequence[AbortedTransaction]:
        """The transactions aborted by markers in this segment."""
        return self._loaded_aborted()

    @property
    def first_timestamp(self) -> int:
        """The largest timestamp of the first batch, from which the segment's age counts; -1 for none."""
        if self._first_timestamp is None:
            if not self.size:
                return -1
            batch = next(self.batches(0, self.size))[1]
            self._first_timestamp = batch.max_timestamp
        return self._first_timestamp

    def must_roll(self, size: int, last: RecordBatch, max_timestamp: int, now_ms: int, config: LogConfig) -> bool:
        """Return whether `size` more bytes that end with `last` belong into a new segment.

        Source: LogSegment.shouldRoll.
        """
        if (
            self.size + size > config.segment_bytes
            or last.base_offset + last.last_offset_delta - self.base_offset > _RELATIVE_OFFSET_MAX
            or (self._index or self.index).is_full(config.segment_index_bytes)
        ):
            return True
        return self._is_due(max_timestamp, now_ms, config)

    def is_expired(self, now_ms: int, config: LogConfig) -> bool:
        """Return whether the segment is due to be rolled by time."""
        return self._is_due(now_ms, now_ms, config)

    def append(self, data: bytes | bytearray | memoryview, batches: Sequence[RecordBatch]) -> None:
        """Write `data`, which are these batches one after the other, in one call."""
        index = self._index or self.index
        file = self._file or self.file
        position = self.size
        try:
            file.append(data)
        except OSError:
            with suppress(OSError):
                file.truncate(position)
            raise
        if position == 0:
            self._first_timestamp = batches[0].max_timestamp
        for batch in batches:
            index.add(batch, position, self.index_interval_bytes)
            position += batch.size
        self.size = position

    def add_aborted(self, transaction: AbortedTransaction) -> None:
        """Add a transaction that a marker in this segment aborted."""
        aborted = self._loaded_aborted()
        if self._txn_file is None:
            self._txn_file = self._disk.open_log_file(self.path_of("txnindex"))
        self._txn_file.append(format_transaction_index([transaction]))
        aborted.append(transaction)

    def find(self, offset: int, end: int | None = None) -> BatchPlace | None:
        """Return the first batch that ends at `offset` or later; None if there is none before byte `end`."""
        end = self.size if end is None else end
        position = self.index.position_before(offset)
        return find_batch(self.file.read, position, end, offset, file=self.path)

    def read(
        self, offset: int, bytes_max: int, end: int, *, is_one_batch_needed: bool
    ) -> tuple[BatchPlace, memoryview] | None:
        """Return the first batch that ends at `offset` or later, and the bytes from it on, before byte `end`.

        None if there is no such batch. At most `bytes_max` bytes, truncated anywhere behind the first batch; nothing if
        that alone is larger, unless `is_one_batch_needed`.
        """
        position = (self._index or self.index).position_before(offset)
        if position >= end:
            return None
        if min(bytes_max, end - position) >= _VIEWED_BYTES_MIN:
            # Headers are read, so that a failing disk raises here; the rest is passed on uncopied.
            return self._read_at(position, offset, bytes_max, end, is_one_batch_needed=is_one_batch_needed)
        # Mostly one read: the batch begins less than an index interval and a batch behind the entry.
        data = memoryview(self.file.read(position, min(end - position, self.index_interval_bytes + bytes_max)))
        at = 0
        place = place_at(data, at)
        while place is not None and place.last_offset < offset:
            at += place.size
            place = place_at(data, at)
        if place is None or (at + place.size > len(data) and (is_one_batch_needed or place.size <= bytes_max)):
            return self._read_at(position + at, offset, bytes_max, end, is_one_batch_needed=is_one_batch_needed)
        if place.size > bytes_max:
            bytes_max = place.size if is_one_batch_needed else 0
        return place._replace(position=position + at), data[at : at + bytes_max]

    def batches(self, position: int, end: int, *, check_crc: bool = False) -> Iterator[tuple[int, RecordBatch]]:
        """Yield the batches with their positions in the file.

        Raises RemoteProtocolError where a batch is damaged or truncated; its offset counts in a part of the file.
        """
        wanted = _PIECE_BYTES
        while position < end:
            data = memoryview(self.file.read(position, min(wanted, end - position)))
            at = 0
            while at < len(data):
                try:
                    batch = read_batch(data, at, check_crc=check_crc)
                except IncompleteBatchError:
                    break
                yield position + at, batch
                at = batch.end_position
            place = place_at(data, 0)
            wanted = _PIECE_BYTES
            if at == 0:
                # A batch larger than a piece, or truncated by the end of the file.
                if place is None or place.size <= len(data) or place.size > end - position:
                    raise IncompleteBatchError(f"the file ends in the batch at byte {position}", offset=0)
                wanted = place.size
            position += at

    def next_offset(self) -> int:
        """Return the offset behind the last batch, found from the last index entry on."""
        offset = self.base_offset
        for _, batch in self.batches(self.index.indexed_position, self.size):
            offset = batch.end_offset
        return offset

    def truncate(self, end_offset: int) -> int:
        """Truncate to `end_offset`, a batch that contains it as a whole; return the new end of the log."""
        place = self.find(end_offset)
        aborted = [transaction for transaction in self.aborted if transaction.last_offset < end_offset]
        if len(aborted) < len(self.aborted):
            self._write_aborted(aborted)
        if place is None:
            return end_offset
        self.cut(min(place.base_offset, end_offset), place.position)
        return min(place.base_offset, end_offset)

    def cut(self, end_offset: int, size: int) -> None:
        """Truncate the file to `size` bytes, which end before `end_offset`.

        It is synced: else a crash of the host could leave the old end among what is written here later.
        """
        self.file.truncate(size)
        self.file.sync()
        self.size = size
        index = self.index
        index.cut(end_offset, size)
        # A larger timestamp may follow the last entry.
        for _, batch in self.batches(index.position_before(index.largest[1]), size):
            if batch.max_timestamp > index.largest[0]:
                index.largest = (batch.max_timestamp, batch.last_offset)
        if not size:
            self._first_timestamp = None

    def apply_scan(self, size: int, index: SegmentIndex, aborted: Sequence[AbortedTransaction]) -> None:
        """Apply the result of a scan of the whole file: its valid size, and the content of the indexes."""
        self._index = index
        if size < self.size:
            self.file.truncate(size)
            self.file.sync()
            self.size = size
        if not size:
            self._first_timestamp = None
        if list(aborted) != self._aborted_on_disk():
            self._write_aborted(aborted)
        self._aborted = list(aborted)

    def write_indexes(self, *, is_synced: bool = False) -> None:
        """Write both indexes as those of a closed segment, with its largest timestamp at the end."""
        self.index.add_largest()
        for kind, data in (("index", self.index.offset_index_bytes()), ("timeindex", self.index.time_index_bytes())):
            write_file(self._disk, self.path_of(kind), data, is_synced=is_synced)

    def sync_ahead(self, bytes_max: int) -> bool:
        """Sync a part of the `.log`; return whether no more than that is left for `sync`."""
        self._synced_bytes = min(self._synced_bytes, self.size)
        if self.size - self._synced_bytes <= bytes_max:
            return True
        self.file.sync_ahead(self._synced_bytes, bytes_max)
        self._synced_bytes += bytes_max
        return False

    def sync(self) -> None:
        """Make the `.log` and its other files durable."""
        self.file.sync()
        self._synced_bytes = self.size
        for kind in SEGMENT_KINDS[1:]:
            path = self.path_of(kind)
            if self._disk.exists(path):
                file = self._disk.open_log_file(path)
                file.sync()
                file.close()

    def change_marker(self, marker: str) -> list[str]:
        """Rename all its files; return their new names."""
        names: list[str] = []
        sources = [self.path_of(kind) for kind in SEGMENT_KINDS]
        self.marker = marker
        for kind, source in zip(SEGMENT_KINDS, sources, strict=True):
            if self._disk.exists(source):
                self._disk.rename(source, self.path_of(kind))
                names.append(self._name(kind))
        return names

    def close(self) -> None:
        """Close the files; they are opened again when needed."""
        for file in (self._file, self._txn_file):
            if file is not None:
                file.close()
        self._file = self._txn_file = None

    def remove(self) -> None:
        """Remove all its files at once."""
        self.close()
        for kind in SEGMENT_KINDS:
            with suppress(FileNotFoundError):
                self._disk.remove(self.path_of(kind))

    def path_of(self, kind: str) -> str:
        """Path of one of its files."""
        return f"{self.directory}/{self._name(kind)}"

    def _name(self, kind: str) -> str:
        return format_segment_file(SegmentFile(base_offset=self.base_offset, kind=kind, marker=self.marker))

    def _is_due(self, timestamp: int, now_ms: int, config: LogConfig) -> bool:
        """Return whether the segment has `segment.ms` behind it, less a jitter that is its own."""
        if not self.size:
            return False
        jitter_ms_max = min(config.segment_jitter_ms, config.segment_ms)
        # Kafka's jitter is random; this one, too, differs between logs that were created together.
        jitter_ms = crc32c(self.path.encode()) % jitter_ms_max if jitter_ms_max else 0
        return self._waited_ms(timestamp, now_ms) > config.segment_ms - jitter_ms

    def _waited_ms(self, timestamp: int, now_ms: int) -> int:
        first = self.first_timestamp if self._first_timestamp is None else self._first_timestamp
        return timestamp - first if first >= 0 else now_ms - self.created_ms

    def _read_at(
        self, position: int, offset: int, bytes_max: int, end: int, *, is_one_batch_needed: bool
    ) -> tuple[BatchPlace, memoryview] | None:
        place = find_batch(self.file.read, position, end, offset, file=self.path)
        if place is None:
            return None
        if place.size > bytes_max:
            bytes_max = place.size if is_one_batch_needed else 0
        return place, memoryview(self.file.view(place.position, min(bytes_max, end - place.position)))

    def _load_index(self) -> SegmentIndex:
        offset_path, time_path = self.path_of("index"), self.path_of("timeindex")
        index = SegmentIndex(self.base_offset)
        if self._disk.exists(offset_path) and self._disk.exists(time_path):
            is_in_order = index.load(self._disk.read(offset_path), self._disk.read(time_path))
            if is_in_order and index.indexed_position <= self.size:
                return index
            index = SegmentIndex(self.base_offset)
        for position, batch in self.batches(0, self.size):
            index.add(batch, position, self.index_interval_bytes)
        return index

    def _load_largest(self) -> tuple[int, int]:
        path = self.path_of("timeindex")
        if self._disk.exists(path):
            start = max(self._disk.size(path) - TIME_ENTRY_BYTES, 0)
            entry = last_time_entry(self._disk.read(path, start), self.base_offset)
            if entry is not None:
                return entry
        return self.index.largest

    def _loaded_aborted(self) -> list[AbortedTransaction]:
        if self._aborted is None:
            self._aborted = self._aborted_on_disk() or []
        return self._aborted

    def _aborted_on_disk(self) -> list[AbortedTransaction] | None:
        """Return the entries of `.txnindex`, none without a file; None if it cannot be read."""
        path = self.path_of("txnindex")
        if not self._disk.exists(path):
            return []
        try:
            return list(parse_transaction_index(self._disk.read(path), base_offset=self.base_offset, file=path))
        except CorruptFileError:
            return None

    def _write_aborted(self, aborted: Sequence[AbortedTransaction]) -> None:
        if self._txn_file is not None:
            self._txn_file.close()
            self._txn_file = None
        write_file(self._disk, self.path_of("txnindex"), format_transaction_index(aborted))
        self._aborted = list(aborted)


def write_file(disk: Disk, path: str, data: bytes, *, is_synced: bool = False) -> None:
    """Create or replace a small file; without a sync its content is undefined after a crash of the host."""
    file = disk.open_log_file(path)
    file.truncate(0)
    file.append(data)
    if is_synced:
        file.sync()
    file.close()
