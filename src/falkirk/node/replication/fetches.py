"""Reading for consumers and followers (Kafka's ReplicaManager.fetchMessages), and fetches that wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.node.replication.fetch_params import PartitionFetched
from falkirk.node.replication.partition_reads import diverging_epoch, read_partition, readable_log, visible_end
from falkirk.node.replication.partition_requests import PartitionRequests
from falkirk.node.replication.replica_selector import NO_PREFERENCE, RACK_AWARE, preferred_read_replica
from falkirk.node.replication.waits import Wait
from falkirk.protocol.error_codes import ErrorCode
from falkirk.storage.log.read import OffsetOutOfRangeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.node.replication.fetch_params import FetchParams, FetchPartition
    from falkirk.node.replication.partition import Partition
    from falkirk.protocol.topic_partition import TopicIdPartition

    Fetched = Sequence[tuple[TopicIdPartition, PartitionFetched]]


class Fetches(PartitionRequests):
    """Fetch requests of consumers and followers."""

    def fetch(
        self,
        params: FetchParams,
        partitions: Sequence[tuple[TopicIdPartition, FetchPartition]],
        done: Callable[[Fetched], None],
    ) -> None:
        """Read, and answer at once or when there is enough."""
        fetched = self.read(params, partitions, is_noted=True)
        size = sum(len(result.records) for _, result in fetched)
        if params.max_wait_ms <= 0 or not partitions or size >= params.min_bytes or _tells_anything(fetched):
            done(fetched)
            return
        deadline_ms = self._context.now_ms + params.max_wait_ms
        wait = _FetchWait(self, params, partitions, size=size, deadline_ms=deadline_ms, done=done)
        # What the follower's own fetch has moved is no reason to answer it.
        self._waits.watch(wait, (key.topic_partition for key, _ in partitions))

    def read(
        self,
        params: FetchParams,
        partitions: Sequence[tuple[TopicIdPartition, FetchPartition]],
        *,
        is_noted: bool,
    ) -> list[tuple[TopicIdPartition, PartitionFetched]]:
        """Read what there is; the first partition with anything gives a whole batch whatever its size (KIP-74)."""
        bytes_left, needs_batch = params.max_bytes, not params.is_limit_hard
        fetched = []
        for key, asked in partitions:
            result = self._read_one(
                params, key, asked, bytes_left=bytes_left, needs_batch=needs_batch, is_noted=is_noted
            )
            size = len(result.records)
            if size:
                needs_batch = False
                bytes_left = max(0, bytes_left - size)
            fetched.append((key, result))
        return fetched

    def _read_one(
        self,
        params: FetchParams,
        key: TopicIdPartition,
        asked: FetchPartition,
        *,
        bytes_left: int,
        needs_batch: bool,
        is_noted: bool,
    ) -> PartitionFetched:
        partition = self._find(key)
        if isinstance(partition, ErrorCode):
            return PartitionFetched(error_code=partition)
        preferred = self._preferred(partition, params, asked)
        if preferred != NO_PREFERENCE and partition.log is not None:
            log = partition.log
            return PartitionFetched(
                high_watermark=log.high_watermark,
                last_stable_offset=log.last_stable_offset,
                log_start_offset=log.log_start_offset,
                preferred_read_replica=preferred,
            )
        try:
            return read_partition(
                partition,
                params,
                asked,
                bytes_max=min(asked.max_bytes, bytes_left),
                is_one_batch_needed=needs_batch,
                is_noted=is_noted,
            )
        except OSError as error:
            self._disk_failed(partition, error)
            return PartitionFetched(error_code=ErrorCode.KAFKA_STORAGE_ERROR)

    def _find(self, key: TopicIdPartition) -> Partition | ErrorCode:
        partition = self._partitions.find(key.topic_partition)
        if not isinstance(partition, ErrorCode) and partition.topic_id != key.topic_id:
            return ErrorCode.INCONSISTENT_TOPIC_ID
        return partition

    def _preferred(self, partition: Partition, params: FetchParams, asked: FetchPartition) -> int:
        has_selector = self._context.settings.replica_selector_class in RACK_AWARE
        if not has_selector or params.is_from_follower or params.is_leader_only or not partition.is_leader:
            return NO_PREFERENCE
        if partition.why_epoch_refused(asked.current_leader_epoch) is not ErrorCode.NONE:
            return NO_PREFERENCE
        cluster = self._context.image.cluster
        return preferred_read_replica(partition, cluster, rack=params.rack, fetch_offset=asked.fetch_offset)

    # --- For those that wait

    def size_of(self, key: TopicIdPartition) -> int:
        """Give the size of a partition's log: how much it grows says how much more there is at most."""
        partition = self._partitions.find(key.topic_partition)
        return 0 if isinstance(partition, ErrorCode) or partition.log is None else partition.log.size

    def has_news(self, params: FetchParams, key: TopicIdPartition, asked: FetchPartition) -> _News:
        """Say whether a wait is to end because of this partition, whatever its size."""
        partition = self._find(key)
        if isinstance(partition, ErrorCode):
            return _ENDS
        _, log = readable_log(partition, params, asked)
        if log is None:
            return _ENDS
        try:
            if diverging_epoch(log, asked) is not None:
                return _ENDS
        except OffsetOutOfRangeError:
            return _ENDS
        end_offset = visible_end(log, params.isolation)
        if asked.fetch_offset > log.log_end_offset or asked.fetch_offset < log.log_start_offset:
            return _ENDS
        return _GROWN if end_offset > asked.fetch_offset else _NOTHING


@dataclass(frozen=True, slots=True)
class _News:
    """`ends`: the answer is due; `has_records`: there is something to read."""

    ends: bool = False
    has_records: bool = False


_ENDS = _News(ends=True)
_GROWN = _News(has_records=True)
_NOTHING = _News()


class _FetchWait(Wait):
    __slots__ = ("_done", "_fetches", "_params", "_partitions", "_size", "_sizes")

    def __init__(
        self,
        fetches: Fetches,
        params: FetchParams,
        partitions: Sequence[tuple[TopicIdPartition, FetchPartition]],
        *,
        size: int,
        deadline_ms: int,
        done: Callable[[Fetched], None],
    ) -> None:
        super().__init__(deadline_ms)
        self._fetches = fetches
        self._params = params
        self._partitions = partitions
        self._done = done
        # Bytes that could be read when the wait began, and how large the logs were then.
        self._size = size
        self._sizes = [fetches.size_of(key) for key, _ in partitions] if params.min_bytes > 1 else []

    def try_complete(self) -> bool:
        params, fetches = self._params, self._fetches
        has_records = False
        for key, asked in self._partitions:
            news = fetches.has_news(params, key, asked)
            if news.ends:
                self.expire()
                return True
            has_records = has_records or news.has_records
        if not has_records:
            return False
        if params.min_bytes > 1:
            return self._complete_if_enough()
        self.expire()
        return True

    def expire(self) -> None:
        self.is_done = True
        self._done(self._fetches.read(self._params, self._partitions, is_noted=False))

    def _complete_if_enough(self) -> bool:
        """Read only if as much may be there: what the logs have grown by bounds what there is to read."""
        fetches, params = self._fetches, self._params
        pairs = zip(self._partitions, self._sizes, strict=True)
        grown = sum(max(0, fetches.size_of(key) - before) for (key, _), before in pairs)
        if self._size + grown < params.min_bytes:
            return False
        fetched = fetches.read(params, self._partitions, is_noted=False)
        if sum(len(result.records) for _, result in fetched) < params.min_bytes and not _tells_anything(fetched):
            return False
        self.is_done = True
        self._done(fetched)
        return True


def _tells_anything(fetched: Fetched) -> bool:
    return any(
        result.error_code or result.diverging_epoch is not None or result.preferred_read_replica != NO_PREFERENCE
        for _, result in fetched
    )
