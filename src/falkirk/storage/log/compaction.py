"""One round of compaction of one log (Kafka's Cleaner), in steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol.batch_filter import filter_batch
from falkirk.protocol.record_batch import read_batches
from falkirk.storage.log.cleaned_transactions import CleanedTransactions
from falkirk.storage.log.key_offsets import KeyOffsets
from falkirk.storage.producer_state import ProducerStates

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from falkirk.protocol.record import Record
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.storage.log.data_segment import DataSegment
    from falkirk.storage.log.unified_log import UnifiedLog
    from falkirk.storage.transaction_index import AbortedTransaction

_PIECE_BYTES: Final = 256 * 1024
_INDEX_ENTRY_BYTES: Final = 12
_RELATIVE_OFFSET_MAX: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanableRange:
    """The part of a log to compact: from `first_dirty_offset` to before `first_uncleanable_offset`, with its bytes.

    What is before was compacted already, and is searched for keys that came again.
    """

    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    dirty_bytes: int
    is_urgent: bool = False
    """A record has waited longer than max.compaction.lag.ms."""

    @property
    def dirty_ratio(self) -> float:
        """The share of never compacted bytes in those that can be compacted."""
        return self.dirty_bytes / max(self.clean_bytes + self.dirty_bytes, 1)


class CompactionDroppedError(Exception):
    """The log changed in the meantime, so the map of its keys is no longer true."""


class Compaction:
    """Reads the dirty section, then rewrites segment after segment.

    A key's last record stays. If that is a tombstone, it goes after delete.retention.ms; so do markers of transactions
    after the last of their data; data of aborted transactions goes at once. Offsets, epochs and the last sequences of
    producers survive. Source: Cleaner.doClean.
    """

    def __init__(self, log: UnifiedLog, cleanable: CleanableRange, *, map_bytes_max: int, now_ms: int) -> None:
        self.log = log
        self.end_offset: int | None = None
        """Up to where the log is clean, once it is done."""
        self._directory = log.directory
        self._range = cleanable
        self._now_ms = now_ms
        self._keys = KeyOffsets(map_bytes_max)
        # Segments yet to be read, as they were at the start.
        self._sources = [
            (each, each.size) for each in log.segments if each.base_offset < cleanable.first_uncleanable_offset
        ]
        self._cleaned: DataSegment | None = None
        self._pieces = self._run()

    def step(self) -> bool:
        """Do one step; return whether it was the last one.

        Raises CompactionDroppedError if the log changed, RemoteProtocolError if a batch cannot be read, OSError. Call
        `drop` unless it returns False, or it was the last one.
        """
        if not self._is_as_it_was():
            raise CompactionDroppedError
        return next(self._pieces, None) is None

    def drop(self) -> None:
        """Abandon the compaction, and remove what was written."""
        self._pieces.close()
        if self._cleaned is not None:
            # Its directory may have been renamed with the log.
            self._cleaned.directory = self.log.directory
            self._cleaned.remove()
            self._cleaned = None

    def _run(self) -> Generator[bool]:
        yield from self._map_keys()
        end_offset = self._keys.latest_offset + 1
        transactions = CleanedTransactions(self._note_aborted)
        self._sources = [each for each in self._sources if each[0].base_offset < end_offset]
        for group in self._groups([segment for segment, _ in self._sources]):
            yield from self._clean_group(group, transactions)
        self.end_offset = end_offset

    def _is_as_it_was(self) -> bool:
        segments = self.log.segments
        active = segments.active
        if self.log.directory != self._directory:
            return False
        return self.log.config.is_compacted and all(
            segment is not active and segment.size == size and segments[segments.floor(segment.base_offset)] is segment
            for segment, size in self._sources
        )

    def _map_keys(self) -> Iterator[bool]:
        start = self._range.first_dirty_offset
        end = self._range.first_uncleanable_offset
        transactions = CleanedTransactions(lambda _: None)
        dirty = self.log.segments.covering(start, end)
        for at, segment in enumerate(dirty):
            # The marker of one that ended before may not be read, and later data of its producer is not aborted.
            transactions.add(each for each in self._aborted_in(segment) if each.last_offset >= start)
            position = segment.index.position_before(start)
            for batches in _pieces(segment, position):
                for batch in batches:
                    is_discardable = transactions.is_discardable(batch)
                    if not batch.is_control and not is_discardable and not self._keys.add(batch.records(), start):
                        return
                    if batch.last_offset >= start:
                        self._keys.latest_offset = max(self._keys.latest_offset, batch.last_offset)
                yield True
            # Offsets may have gaps at the end of a segment.
            next_base = dirty[at + 1].base_offset if at + 1 < len(dirty) else end
            self._keys.latest_offset = max(self._keys.latest_offset, next_base - 1)

    def _groups(self, segments: Sequence[DataSegment]) -> Iterator[list[DataSegment]]:
        """Group small segments, so that they do not get ever smaller. Source: groupSegmentsBySize."""
        config = self.log.config
        group: list[DataSegment] = []
        size = 0
        for at, segment in enumerate(segments):
            next_base = segments[at + 1].base_offset if at + 1 < len(segments) else self._range.first_uncleanable_offset
            index_bytes = (size + segment.size) // max(config.index_interval_bytes, 1) * _INDEX_ENTRY_BYTES
            if group and (
                size + segment.size > config.segment_bytes
                or index_bytes > config.segment_index_bytes
                or (segment.size and next_base - 1 - group[0].base_offset > _RELATIVE_OFFSET_MAX)
            ):
                yield group
                group, size = [], 0
            group.append(segment)
            size += segment.size
        if group:
            yield group

    def _clean_group(self, group: Sequence[DataSegment], transactions: CleanedTransactions) -> Iterator[bool]:
        log = self.log
        cleaned = self._cleaned = log.create_cleaned_segment(group[0].base_offset)
        # Retention uses it where no timestamp is left.
        cleaned.created_ms = group[-1].created_ms
        for segment in group:
            transactions.add(self._aborted_in(segment))
            for batches in _pieces(segment, 0):
                # Read anew each time: producers go on writing.
                producers = ProducerStates(log.active_producers())
                chunks = (self._filtered(batch, transactions, producers) for batch in batches)
                data = b"".join(chunk for chunk in chunks if chunk is not None)
                if data:
                    cleaned.append(data, list(read_batches(data, check_crc=False)))
                yield True
        del self._sources[: len(group)]
        log.replace_segments([cleaned], group)
        self._cleaned = None
        yield True

    def _filtered(
        self, batch: RecordBatch, transactions: CleanedTransactions, producers: ProducerStates
    ) -> bytes | memoryview | None:
        is_discardable = transactions.is_discardable(batch)
        horizon_ms = batch.delete_horizon_ms
        is_horizon_past = horizon_ms is not None and horizon_ms <= self._now_ms
        are_records_gone = is_discardable and (is_horizon_past or not batch.is_control)
        must_stay = producers.is_last_of_its_producer(batch) or batch.end_offset == self._range.first_uncleanable_offset
        if are_records_gone and not must_stay:
            return None
        if batch.is_control and not are_records_gone and not is_discardable and batch.record_count:
            return batch.data

        def keep(record: Record) -> bool:
            if are_records_gone:
                return False
            if batch.is_control or record.offset > self._keys.latest_offset:
                return True
            if record.key is None or (record.value is None and is_horizon_past):
                return False
            return self._keys.is_latest(record.key, record.offset)

        new_horizon_ms = self._now_ms + self.log.config.delete_retention_ms
        return filter_batch(batch, keep, retain_empty=must_stay, delete_horizon_ms=new_horizon_ms)

    def _aborted_in(self, segment: DataSegment) -> tuple[AbortedTransaction, ...]:
        segments = self.log.segments
        at = segments.floor(segment.base_offset)
        return segments.aborted_transactions(at, segment.base_offset, segment.size, self.log.log_end_offset)

    def _note_aborted(self, transaction: AbortedTransaction) -> None:
        assert self._cleaned is not None
        self._cleaned.add_aborted(transaction)


def _pieces(segment: DataSegment, position: int) -> Iterator[list[RecordBatch]]:
    """Yield the batches of a segment from a position in its file on, as many at a time as a tick may process."""
    batches: list[RecordBatch] = []
    size = 0
    for _, batch in segment.batches(position, segment.size):
        batches.append(batch)
        size += batch.size
        if size >= _PIECE_BYTES:
            yield batches
            batches, size = [], 0
    if batches:
        yield batches
