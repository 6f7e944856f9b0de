"""The log of one partition as a broker keeps it (Kafka's UnifiedLog)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy_extensions import mypyc_attr

from falkirk.protocol.error_codes import ErrorCode
from falkirk.storage.log.append import AppendOrigin, AppendRefusedError, CorruptRecordsError, LogAppendInfo
from falkirk.storage.log.local_log import LocalLog
from falkirk.storage.log.log_loader import rebuild_producers
from falkirk.storage.log.offset_reader import OffsetReader
from falkirk.storage.log.read import FetchedData, FetchIsolation, OffsetOutOfRangeError
from falkirk.storage.log.record_validator import validate_produced
from falkirk.storage.log.replicated_batches import read_replicated
from falkirk.storage.log.retention import expired_segments
from falkirk.storage.log.timestamp_search import offset_for_timestamp, offset_of_max_timestamp, segment_starts
from falkirk.storage.log.verification import UNVERIFIED, Verifications
from falkirk.storage.transaction_index import aborted_transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.protocol.topic_partition import TopicPartition
    from falkirk.storage.disk import Disk
    from falkirk.storage.leader_epochs import LeaderEpochs
    from falkirk.storage.log.data_segment import DataSegment
    from falkirk.storage.log.leader_epoch_file import LeaderEpochFile
    from falkirk.storage.log.log_config import LogConfig
    from falkirk.storage.log.log_loader import LoadedLog
    from falkirk.storage.log.log_producers import RecentBatch
    from falkirk.storage.log.log_segments import LogSegments
    from falkirk.storage.log.read import TimestampOffset
    from falkirk.storage.log.record_validator import CheckedRecords
    from falkirk.storage.producer_state import ProducerEntry


@mypyc_attr(allow_interpreted_subclasses=True)
class UnifiedLog:
    """Segments, indexes, producer state and leader epochs of one directory; files and names are Kafka's.

    Raises the disk's OSErrors: the log must not be used after one, its log directory is offline.
    """

    def __init__(
        self,
        disk: Disk,
        directory: str,
        *,
        config: LogConfig,
        topic_partition: TopicPartition,
        topic_id: bytes,
        loaded: LoadedLog,
        epochs: LeaderEpochFile,
        producer_id_expiration_ms: int,
        now_ms: int,
    ) -> None:
        """Use `LogOpening` instead."""
        self._local = LocalLog(
            disk,
            directory,
            loaded.segments,
            loaded.snapshots,
            now_ms=now_ms,
            index_interval_bytes=config.index_interval_bytes,
        )
        self.config = config
        """May be set anew at any time."""
        self.topic_partition = topic_partition
        self._name = str(topic_partition)
        self.topic_id = topic_id
        self.recovery = loaded.recovery
        """What opening had to put right."""
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.high_watermark: int = loaded.log_start_offset
        self.recovery_point: int = max(loaded.recovery_point, loaded.log_start_offset)
        self.segments: LogSegments = loaded.segments
        """For the cleaner and for tests; changed by this class only."""
        self._reader = OffsetReader(loaded.segments)
        self._epochs = epochs
        self._producers = loaded.producers
        self._verifications = Verifications()
        self._producer_id_expiration_ms = producer_id_expiration_ms
        self.on_truncated: Callable[[UnifiedLog], None] = _ignore
        """Told when the end was cut off, before anything is appended there: checkpoints may speak of it."""
        self.when_rolled: Callable[[UnifiedLog], None] = _ignore
        """Told when there is a new active segment: those before it are to be flushed."""

    @property
    def directory(self) -> str:
        """Its path; it changes when the log is renamed."""
        return self._local.directory

    @property
    def size(self) -> int:
        """Bytes of all `.log` files."""
        return self._local.size

    @property
    def latest_epoch(self) -> int | None:
        """The latest leader epoch in the log: that of the last batch, or one that was assigned behind it."""
        return self._epochs.cache.latest_epoch

    @property
    def leader_epochs(self) -> LeaderEpochs:
        """The start offset of each leader epoch."""
        return self._epochs.cache.to_leader_epochs()

    @property
    def first_unstable_offset(self) -> int | None:
        """The start of the first transaction that is open, or ended above the high watermark."""
        first = self._producers.first_unstable_offset
        return None if first is None else max(first, self.log_start_offset)

    @property
    def last_stable_offset(self) -> int:
        """The start of the first open transaction below the high watermark, else the high watermark."""
        first = self.first_unstable_offset
        return self.high_watermark if first is None else min(first, self.high_watermark)

    def begin_verification(
        self, producer_id: int, epoch: int, sequence: int, now_ms: int, *, adds_partitions: bool
    ) -> int:
        """Return the guard with which a transaction's first records are appended once its coordinator knows of it.

        UNVERIFIED if the transaction is open here. `adds_partitions`: the coordinator is asked to add the partition,
        not only whether it was added.

        Raises AppendRefusedError (INVALID_PRODUCER_EPOCH) for a producer that is fenced here.
        """
        latest = self._producers.epoch_of(producer_id)
        if epoch < latest:
            reason = f"producer {producer_id} has epoch {epoch}, {latest} was seen already"
            raise AppendRefusedError(ErrorCode.INVALID_PRODUCER_EPOCH, reason)
        if self._producers.is_open(producer_id, epoch):
            return UNVERIFIED
        return self._verifications.begin(producer_id, epoch, sequence, now_ms, adds_partitions=adds_partitions)

    def append_as_leader(
        self,
        records: bytes | memoryview,
        leader_epoch: int,
        now_ms: int,
        *,
        origin: AppendOrigin,
        guard: int = UNVERIFIED,
        transaction_version: int = 0,
        checked: CheckedRecords | None = None,
    ) -> LogAppendInfo:
        """Check, number and append produced records: one batch of magic 2 from clients, as Kafka requires.

        `guard`: from `begin_verification`. `transaction_version`: of the coordinator that sent a marker.
        `checked`: as in `validate_produced`.
        Raises AppendRefusedError with Kafka's error code; nothing was written then.
        """
        self._local.now_ms = now_ms
        first_offset = self.log_end_offset
        validated = validate_produced(
            records,
            topic=self._name,
            config=self.config,
            first_offset=first_offset,
            leader_epoch=leader_epoch,
            now_ms=now_ms,
            origin=origin,
            checked=checked,
        )
        batches = validated.batches
        for batch in batches:
            if batch.producer_id >= 0:
                duplicate = self._producers.check(
                    batch,
                    origin,
                    verification=self._verifications.of(batch.producer_id),
                    guard=guard,
                    transaction_version=transaction_version,
                )
                if duplicate is not None:
                    return self._duplicate_info(duplicate)
        if leader_epoch != self._epochs.cache.latest_epoch:
            self.assign_epoch_start_offset(leader_epoch, first_offset)
        self._append(validated.data, batches)
        return LogAppendInfo(
            first_offset=first_offset,
            last_offset=self.log_end_offset - 1,
            log_append_time_ms=validated.log_append_time_ms,
            log_start_offset=self.log_start_offset,
        )

    def append_as_follower(
        self, records: bytes | memoryview, *, leader_epoch: int | None = None
    ) -> LogAppendInfo | None:
        """Append the leader's whole batches at the log's end; an incomplete one at their end is dropped.

        Batches of a later epoch than `leader_epoch` are dropped, too: the follower fetched them from an older leader
        (KAFKA-18723). None if there was none. Raises CorruptRecordsError for batches that are not contiguous or have a
        wrong CRC (as in Kafka's follower: the partition is retried later).
        """
        batches = read_replicated(memoryview(records), leader_epoch)
        if not batches:
            return None
        first_offset = batches[0].base_offset
        if first_offset < self.log_end_offset:
            # The leader's log starts in the middle of this batch, and this log is empty.
            if self.log_start_offset != self.log_end_offset or batches[-1].end_offset <= self.log_end_offset:
                reason = f"the first batch begins at offset {first_offset}, the log ends at {self.log_end_offset}"
                raise CorruptRecordsError(reason)
            self.truncate_fully_and_start_at(first_offset)
        self._epochs.assign_all([(batch.leader_epoch, batch.base_offset) for batch in batches])
        self._append(memoryview(records)[: batches[-1].end_position], batches)
        return LogAppendInfo(
            first_offset=first_offset,
            last_offset=self.log_end_offset - 1,
            log_start_offset=self.log_start_offset,
        )

    def read(
        self, offset: int, bytes_max: int, isolation: FetchIsolation, *, is_one_batch_needed: bool = False
    ) -> FetchedData:
        """Read from `offset` on; with `is_one_batch_needed` the first batch whatever its size.

        Reads at most one segment. Raises OffsetOutOfRangeError below the log's start or beyond its end; beyond what
        `isolation` allows the result is empty.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            reason = f"offset {offset} is not between {self.log_start_offset} and {self.log_end_offset}"
            raise OffsetOutOfRangeError(reason)
        if isolation is FetchIsolation.LOG_END:
            end_offset = self.log_end_offset
        else:
            is_committed = isolation is FetchIsolation.TXN_COMMITTED
            end_offset = self.last_stable_offset if is_committed else self.high_watermark
        return self._reader.read(
            offset,
            bytes_max,
            isolation,
            end_offset=end_offset,
            log_end_offset=self.log_end_offset,
            is_one_batch_needed=is_one_batch_needed,
        )

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """Return the first record with at least this timestamp."""
        return offset_for_timestamp(self.segments, timestamp, self.log_start_offset)

    def offset_of_max_timestamp(self) -> TimestampOffset | None:
        """Return the first record with the largest timestamp."""
        return offset_of_max_timestamp(self.segments)

    def segment_starts(self, now_ms: int) -> list[TimestampOffset]:
        """Return the start of each segment, and the end, each with its time (ListOffsets v0)."""
        return segment_starts(self.segments, self.log_start_offset, self.log_end_offset, now_ms)

    def end_offset_for_epoch(self, epoch: int) -> OffsetAndEpoch | None:
        """Return the largest epoch not above `epoch`, and its end offset here (KIP-279).

        An epoch before the first known one ends where that starts; None for one after all of them.
        """
        return self._epochs.end_offset_for(epoch, self.log_end_offset)

    def epoch_of(self, offset: int) -> int | None:
        """Return the leader epoch that wrote `offset` (or will, at the log's end); None if unknown."""
        return self._epochs.cache.epoch_of(offset)

    def assign_epoch_start_offset(self, epoch: int, start_offset: int) -> None:
        """Record where a leader's epoch starts, before it has written anything."""
        self._epochs.assign(epoch, start_offset)

    def take_epochs(self, other: UnifiedLog) -> None:
        """Have the leader epochs of a log of the same records: those that wrote nothing are in no batch."""
        self._epochs.replace(other._epochs)

    def update_high_watermark(self, offset: int) -> bool:
        """Set the high watermark, limited to the log's start and end; return whether it changed."""
        offset = min(max(offset, self.log_start_offset), self.log_end_offset)
        if offset == self.high_watermark:
            return False
        self.high_watermark = offset
        self._producers.on_high_watermark(offset)
        return True

    def increment_log_start_offset(self, offset: int) -> bool:
        """Move the start to `offset` (DeleteRecords, a leader's log start). ValueError above the high watermark."""
        if offset > self.high_watermark:
            raise ValueError(f"offset {offset} is beyond the high watermark {self.high_watermark}")
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.recovery_point = max(self.recovery_point, offset)
        self._epochs.truncate_from_start(offset)
        return True

    def truncate_to(self, offset: int) -> bool:
        """Truncate the log to `offset`; return whether anything was removed. Indexes, epochs, producers follow.

        A batch that contains `offset` is removed as a whole, and the log ends before it.
        """
        if offset >= self.log_end_offset:
            # An epoch may have started at the log's end and written nothing.
            self._epochs.truncate_from_end(self.log_end_offset)
            return False
        if offset < self.segments[0].base_offset:
            self.truncate_fully_and_start_at(offset)
            return True
        offset = self._local.truncate(offset)
        self._end_at(offset)
        self._epochs.truncate_from_end(offset)
        self._producers = rebuild_producers(
            self.segments,
            self._local.snapshots,
            log_start_offset=self.log_start_offset,
            end_offset=offset,
            now_ms=self._local.now_ms,
            expiration_ms=self._producer_id_expiration_ms,
        )
        # They were read again without knowing whose markers are replicated.
        self._producers.on_high_watermark(self.high_watermark)
        self.on_truncated(self)
        return True

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Delete everything and start anew at `offset`."""
        self._local.restart_at(offset)
        self._producers = type(self._producers)(end_offset=offset)
        self._epochs.clear()
        self.log_start_offset = offset
        self._end_at(offset)
        self.high_watermark = offset
        self.on_truncated(self)

    def roll_if_due(self, now_ms: int) -> None:
        """Roll the active segment if it is old enough, though nothing is appended.

        Differs from Kafka: there an idle segment stays active, and is never compacted.
        """
        self._local.now_ms = now_ms
        if self.segments.active.is_expired(now_ms, self.config):
            self._roll(self.log_end_offset)

    def delete_old_segments(self, now_ms: int, *, segments_max: int | None = None) -> int:
        """Delete segments that neither retention nor the log's start keeps, or some of them; return how many.

        Files are renamed to `.deleted` and removed by the log manager later (`pop_deleted_files`).
        """
        self._local.now_ms = now_ms
        expired = expired_segments(
            self.segments,
            self.config,
            log_start_offset=self.log_start_offset,
            log_end_offset=self.log_end_offset,
            high_watermark=self.high_watermark,
            now_ms=now_ms,
            segments_max=segments_max,
        )
        if not expired:
            return 0
        if len(expired) == len(self.segments):
            self._roll(self.log_end_offset)
        self.increment_log_start_offset(self.segments[len(expired)].base_offset)
        for segment in expired:
            self._local.delete_segment(segment)
        self._reader.forget_ends()
        return len(expired)

    def pop_deleted_files(self) -> tuple[str, ...]:
        """Return the names of the files that were renamed to `.deleted` since the last call; to be removed."""
        return self._local.pop_deleted_files()

    def sync_ahead(self, up_to: int, bytes_max: int) -> bool:
        """Do a part of a flush up to `up_to`; return whether the flush is short now."""
        return self._local.sync_ahead(self.recovery_point, up_to, bytes_max)

    def flush(self, *, up_to: int | None = None) -> None:
        """Sync everything before `up_to` (all by default) and move the recovery point."""
        if up_to is not None and up_to <= self.recovery_point:
            return
        end = self.log_end_offset if up_to is None else up_to
        self._local.sync(self.recovery_point, end)
        self.recovery_point = end

    def active_producers(self) -> list[ProducerEntry]:
        """Return the state of the producers (DescribeProducers)."""
        return list(self._producers.states.entries.values())

    def remove_expired_producers(self, now_ms: int) -> None:
        """Remove producers that have been idle for producer.id.expiration.ms."""
        self._producers.remove_expired(now_ms, self._producer_id_expiration_ms)
        self._verifications.remove_expired(now_ms, self._producer_id_expiration_ms)

    def create_cleaned_segment(self, base_offset: int) -> DataSegment:
        """Start a segment that will replace others: append to it, add aborted transactions, then `replace_segments`.

        Its files end in `.cleaned`; `remove` it if it is no longer needed.
        """
        return self._local.create_cleaned_segment(base_offset)

    def replace_segments(self, new: Sequence[DataSegment], old: Sequence[DataSegment]) -> None:
        """Replace old segments, none of them active, by cleaned ones. A crash leaves the old or the new ones.

        The old files are renamed to `.deleted`. Source: LocalLog.replaceSegments.
        """
        assert new
        assert all(segment is not self.segments.active for segment in old)
        self._local.replace_segments(new, old)
        self._reader.forget_ends()

    def rename(self, directory_name: str) -> None:
        """Move the directory to another name in the same log directory."""
        target = f"{self.directory.rpartition('/')[0]}/{directory_name}"
        self._local.rename(target)
        self._epochs.directory = target

    def close(self) -> None:
        """Flush, trim the indexes, and write a producer snapshot, for a clean shutdown."""
        self._producers.end_offset = self.log_end_offset
        if self.log_end_offset > self.log_start_offset:
            self._local.snapshots.write(self._producers, is_synced=True)
        self.segments.active.write_indexes()
        self._local.has_new_names = True
        self.flush()
        self.close_files()

    def close_files(self) -> None:
        """Close the files without writing anything: the log is deleted, or its disk has failed."""
        self._local.close()

    def _append(self, data: bytes | bytearray | memoryview, batches: Sequence[RecordBatch]) -> None:
        segment, last = self.segments.active, batches[-1]
        if segment.must_roll(len(data), last, _largest_timestamp(batches), self._local.now_ms, self.config):
            segment = self._roll(batches[0].base_offset)
        segment.append(data, batches)
        self._local.size += len(data)
        self.log_end_offset = last.end_offset
        producers = self._producers
        for batch in batches:
            if batch.producer_id >= 0:
                completed = producers.append(batch)
                if batch.is_transactional:
                    self._verifications.end(batch.producer_id, batch.producer_epoch, is_marker=batch.is_control)
                if completed is not None and completed.is_aborted:
                    segment.add_aborted(aborted_transaction(completed))
                    self._local.has_new_names = True
        producers.end_offset = self.log_end_offset
        if self.log_end_offset - self.recovery_point >= self.config.flush_messages:
            self.flush()

    def _roll(self, offset: int) -> DataSegment:
        """Start a segment at `offset`, or at the log's end if that is further; nothing is synced."""
        offset = max(offset, self.log_end_offset)
        active = self.segments.active
        if active.base_offset == offset:
            # Empty, and its indexes have no room at all: rolling would not help.
            return active
        # Files before the recovery point will neither be synced later nor rebuilt when the log is opened.
        active.write_indexes(is_synced=self.recovery_point >= self.log_end_offset)
        self._local.index_interval_bytes = self.config.index_interval_bytes
        segment = self._local.add_segment(offset)
        self._producers.end_offset = offset
        self._local.snapshots.write(self._producers, is_synced=False)
        self.when_rolled(self)
        return segment

    def _end_at(self, offset: int) -> None:
        self._reader.forget_ends()
        self._verifications.clear()
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.recovery_point = min(self.recovery_point, offset)
        self.high_watermark = min(self.high_watermark, offset)

    def _duplicate_info(self, duplicate: RecentBatch) -> LogAppendInfo:
        return LogAppendInfo(
            first_offset=duplicate.first_offset,
            last_offset=duplicate.last_offset,
            log_append_time_ms=duplicate.timestamp,
            log_start_offset=self.log_start_offset,
            is_duplicate=True,
        )


def _largest_timestamp(batches: Sequence[RecordBatch]) -> int:
    if len(batches) == 1:
        return batches[0].max_timestamp
    return max(batch.max_timestamp for batch in batches)


def _ignore(log: UnifiedLog) -> None:
    del log
