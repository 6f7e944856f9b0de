"""Appending as the leader (Kafka's ReplicaManager.appendRecords)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from falkirk.node.broker.replication.answers import PartitionProduced
from falkirk.node.broker.replication.partition_requests import PartitionRequests
from falkirk.node.broker.replication.produce_wait import ProduceWait
from falkirk.protocol.error_codes import NO_ERROR, ErrorCode
from falkirk.slices import SliceBudget
from falkirk.storage.log.append import AppendRefusedError
from falkirk.storage.log.record_validator import check_slices, is_old_or_compressed
from falkirk.storage.log.verification import UNVERIFIED
from falkirk.structs import FrozenStruct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.node.broker.replication.hosted_partition import HostedPartition
    from falkirk.protocol.topic_partition import TopicIdPartition, TopicPartition
    from falkirk.slices import Slices, Turn
    from falkirk.storage.log.append import AppendOrigin
    from falkirk.storage.log.record_validator import CheckedRecords
    from falkirk.storage.log.unified_log import UnifiedLog

ALL_IN_SYNC: Final = -1
APPENDED_PER_SLICE: Final = 500
"""Partitions: about 10 ms."""
# So much of a request is checked when it is appended: up to 15 ms if it has nothing but small records or headers.
_UNCHECKED_BYTES_MAX: Final = 48 * 1024
_PLAIN_REFUSALS: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.CORRUPT_MESSAGE)


class _AppendChecks(FrozenStruct):
    """How the log of one partition is to check the records, as in `UnifiedLog.append_as_leader`."""

    origin: "AppendOrigin"
    guard: int
    transaction_version: int
    checked: "CheckedRecords | None"


class Appends(PartitionRequests):
    """Appends of produce requests and of the group coordinator."""

    def check_slices(
        self, records: Mapping[TopicIdPartition, bytes | memoryview], turn: Turn
    ) -> Slices[dict[TopicIdPartition, CheckedRecords]]:
        """Check a client's records where that may take long, as far as it does not depend on what is in the logs."""
        budget = SliceBudget()
        unchecked_bytes = 0
        checked: dict[TopicIdPartition, CheckedRecords] = {}
        for key, batches in records.items():
            if budget.spend(1):
                yield
            if unchecked_bytes + len(batches) <= _UNCHECKED_BYTES_MAX and not is_old_or_compressed(batches):
                unchecked_bytes += len(batches)
                continue
            log = self._leader_log(key.topic_partition)
            # Else the append is refused, whatever the records are.
            if not isinstance(log, ErrorCode):
                checked[key] = yield from check_slices(
                    batches,
                    topic=str(log.topic_partition),
                    config=log.config,
                    now_ms=self._context.now_ms,
                    turn=turn,
                    budget=budget,
                )
        return checked

    def append_slices(
        self,
        records: Mapping[TopicIdPartition, bytes | memoryview],
        *,
        required_acks: int,
        timeout_ms: int,
        origin: AppendOrigin,
        are_internal_topics_allowed: bool,
        guards: Mapping[TopicIdPartition, int],
        transaction_version: int,
        checked: Mapping[TopicIdPartition, CheckedRecords],
        done: Callable[[Mapping[TopicIdPartition, PartitionProduced]], None],
    ) -> Slices[None]:
        """Append, to some partitions in each slice; `done` is called in the last one, or when all is replicated."""
        produced: dict[TopicIdPartition, PartitionProduced] = {}
        forbidden = frozenset() if are_internal_topics_allowed else self._context.config.release.internal_topics
        waiting: list[tuple[TopicIdPartition, TopicPartition, int]] = []
        for number, (key, batches) in enumerate(records.items(), 1):
            if number % APPENDED_PER_SLICE == 0:
                yield
            if key.topic in forbidden:
                error = ErrorCode.INVALID_TOPIC_EXCEPTION
                produced[key] = PartitionProduced(
                    error_code=error, error_message=f"Cannot append to internal topic {key.topic}"
                )
                continue
            partition = key.topic_partition
            checks = _AppendChecks(origin, guards.get(key, UNVERIFIED), transaction_version, checked.get(key))
            produced[key], end_offset = self._append_to(key, partition, batches, required_acks, checks)
            if end_offset >= 0 and required_acks == ALL_IN_SYNC:
                waiting.append((key, partition, end_offset))
        if waiting:
            waiting = self._not_yet_replicated(produced, waiting)
        if not waiting:
            done(produced)
            return
        pending = {partition: key for key, partition, _ in waiting}
        wait = ProduceWait(produced, pending, deadline_ms=self._context.now_ms + timeout_ms, done=done)
        self._waits.watch_offsets(wait, [(partition, offset) for _, partition, offset in waiting])

    def await_replicated(self, key: TopicIdPartition, *, timeout_ms: int, done: Callable[[ErrorCode], None]) -> None:
        """Call `done` when all that a partition holds now is below the high watermark, however few are in sync then."""
        partition = key.topic_partition
        log = self._leader_log(partition)
        if isinstance(log, ErrorCode):
            done(log)
            return
        end_offset = log.log_end_offset
        if log.high_watermark >= end_offset:
            done(NO_ERROR)
            return

        def replicated(produced: Mapping[TopicIdPartition, PartitionProduced]) -> None:
            error = produced[key].error_code
            done(NO_ERROR if error is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND else error)

        wait = ProduceWait(
            {key: PartitionProduced()},
            {partition: key},
            deadline_ms=self._context.now_ms + timeout_ms,
            done=replicated,
        )
        self._waits.watch_offsets(wait, [(partition, end_offset)])

    def _leader_log(self, key: TopicPartition) -> UnifiedLog | ErrorCode:
        partition = self._partitions.find(key)
        if isinstance(partition, ErrorCode):
            return partition
        return partition.leader_log or ErrorCode.NOT_LEADER_OR_FOLLOWER

    def _not_yet_replicated(
        self,
        produced: dict[TopicIdPartition, PartitionProduced],
        offsets: list[tuple[TopicIdPartition, TopicPartition, int]],
    ) -> list[tuple[TopicIdPartition, TopicPartition, int]]:
        """Return the offsets to wait for: none where only the leader is in sync."""
        waiting = []
        for key, partition, offset in offsets:
            outcome = self._partitions.outcome(partition, offset)
            if outcome is None:
                waiting.append((key, partition, offset))
            elif outcome is not NO_ERROR:
                produced[key] = replace(produced[key], error_code=outcome)
        return waiting

    def _append_to(
        self,
        key: TopicIdPartition,
        topic_partition: TopicPartition,
        records: bytes | memoryview,
        required_acks: int,
        checks: _AppendChecks,
    ) -> tuple[PartitionProduced, int]:
        """Return the result, and the end offset of the records; -1: nothing was appended."""
        partition = self._writable(key, topic_partition, required_acks)
        if isinstance(partition, ErrorCode):
            return PartitionProduced(error_code=partition), -1
        log = partition.leader_log
        assert log is not None, "only a leader is writable"
        try:
            info = log.append_as_leader(
                records,
                partition.leader_epoch,
                self._context.now_ms,
                origin=checks.origin,
                guard=checks.guard,
                transaction_version=checks.transaction_version,
                checked=checks.checked,
            )
        except AppendRefusedError as refused:
            return _refused(refused, log.log_start_offset), -1
        except OSError as error_of_disk:
            self._disk_failed(partition, error_of_disk)
            return PartitionProduced(error_code=ErrorCode.KAFKA_STORAGE_ERROR), -1
        if not partition.appended():
            # Followers may fetch it, even if consumers may not.
            self._waits.touch(partition.topic_partition)
        return (
            PartitionProduced(
                base_offset=info.first_offset,
                log_append_time_ms=info.log_append_time_ms,
                log_start_offset=log.log_start_offset,
            ),
            info.last_offset + 1,
        )

    def _writable(
        self, key: TopicIdPartition, topic_partition: TopicPartition, required_acks: int
    ) -> HostedPartition | ErrorCode:
        partition = self._partitions.find(topic_partition)
        if isinstance(partition, ErrorCode):
            return partition
        if partition.topic_id != key.topic_id:
            return ErrorCode.UNKNOWN_TOPIC_ID
        if partition.leader_log is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        error = partition.min_isr_error() if required_acks == ALL_IN_SYNC else NO_ERROR
        return partition if error is NO_ERROR else error


def _refused(refused: AppendRefusedError, log_start_offset: int) -> PartitionProduced:
    """Return the result of a refusal, with a message only for single records.

    The log start is -1 for errors of a whole batch.
    """
    return PartitionProduced(
        error_code=refused.error_code,
        log_start_offset=-1 if refused.error_code in _PLAIN_REFUSALS else log_start_offset,
        record_errors=refused.record_errors,
        error_message=refused.message if refused.record_errors else None,
    )
