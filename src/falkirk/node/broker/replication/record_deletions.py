"""DeleteRecords at the leader: log starts advance, and the response waits for the followers (KIP-107)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.broker.replication.answers import RecordsDeleted
from falkirk.node.broker.replication.partition_requests import PartitionRequests
from falkirk.node.broker.replication.waits import Wait
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.node.broker.replication.hosted_partitions import HostedPartitions
    from falkirk.node.sliced_work import Slices
    from falkirk.protocol.topic_partition import TopicPartition

HIGH_WATERMARK: Final = -1
DELETED_PER_SLICE: Final = 500


class RecordDeletions(PartitionRequests):
    """DeleteRecords requests."""

    def delete_slices(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        timeout_ms: int,
        done: Callable[[Mapping[TopicPartition, RecordsDeleted]], None],
    ) -> Slices:
        """Advance the log starts, some in a slice; `done` is called then, or once all live replicas have."""
        deleted: dict[TopicPartition, RecordsDeleted] = {}
        required: dict[TopicPartition, int] = {}
        for count, (key, offset) in enumerate(offsets.items(), 1):
            result = self._delete(key, offset)
            if count % DELETED_PER_SLICE == 0:
                yield
            if isinstance(result, RecordsDeleted):
                deleted[key] = result
            else:
                required[key] = result
        wait = _DeletionWait(self._partitions, deleted, required, self._context.now_ms + timeout_ms, done)
        if not wait.try_complete():
            self._waits.watch(wait, required)

    def _delete(self, key: TopicPartition, offset: int) -> int | RecordsDeleted:
        """Return the offset that log starts must reach, or the error."""
        if key.topic in self._context.config.release.internal_topics:
            return RecordsDeleted(error_code=ErrorCode.INVALID_TOPIC_EXCEPTION)
        partition = self._partitions.find(key)
        if isinstance(partition, ErrorCode):
            return RecordsDeleted(error_code=partition)
        log = partition.leader_log
        if log is None:
            return RecordsDeleted(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
        wanted = log.high_watermark if offset == HIGH_WATERMARK else offset
        if not log.config.is_deleted or not 0 <= wanted <= log.high_watermark:
            error = ErrorCode.OFFSET_OUT_OF_RANGE if log.config.is_deleted else ErrorCode.POLICY_VIOLATION
            return RecordsDeleted(error_code=error)
        try:
            if log.increment_log_start_offset(wanted):
                self._waits.touch(key)
        except OSError as failure:
            self._disk_failed(partition, failure)
            return RecordsDeleted(error_code=ErrorCode.KAFKA_STORAGE_ERROR)
        return wanted


class _DeletionWait(Wait):
    __slots__ = ("_deleted", "_done", "_partitions", "_required")

    def __init__(
        self,
        partitions: HostedPartitions,
        deleted: dict[TopicPartition, RecordsDeleted],
        required: dict[TopicPartition, int],
        deadline_ms: int,
        done: Callable[[Mapping[TopicPartition, RecordsDeleted]], None],
    ) -> None:
        super().__init__(deadline_ms)
        self._partitions = partitions
        self._deleted = deleted
        self._required = dict(required)
        self._done = done

    def try_complete(self) -> bool:
        for key, offset in list(self._required.items()):
            result = self._result(key)
            if result.error_code or result.low_watermark >= offset:
                self._deleted[key] = result
                del self._required[key]
        if not self._required:
            self._answer()
        return self.is_done

    def expire(self) -> None:
        for key in self._required:
            result = self._result(key)
            self._deleted[key] = RecordsDeleted(
                error_code=result.error_code or ErrorCode.REQUEST_TIMED_OUT, low_watermark=result.low_watermark
            )
        self._answer()

    def _result(self, key: TopicPartition) -> RecordsDeleted:
        partition = self._partitions.find(key)
        if isinstance(partition, ErrorCode):
            return RecordsDeleted(error_code=partition)
        if not partition.is_leader:
            return RecordsDeleted(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return RecordsDeleted(low_watermark=partition.low_watermark)

    def _answer(self) -> None:
        self.is_done = True
        self._done(self._deleted)
