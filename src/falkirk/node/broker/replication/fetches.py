"""Fetches of consumers and followers (Kafka's ReplicaManager.fetchMessages), and those that wait."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from falkirk.node.broker.replication.fetch_params import PartitionFetched
from falkirk.node.broker.replication.partition_reads import diverging_epoch, read_partition, readable_log, visible_end
from falkirk.node.broker.replication.partition_requests import PartitionRequests
from falkirk.node.broker.replication.replica_selector import NO_PREFERENCE, RACK_AWARE, preferred_read_replica
from falkirk.node.broker.replication.waits import Wait, Waits
from falkirk.protocol.error_codes import ErrorCode
from falkirk.slices import exhaust
from falkirk.storage.log.read import FetchIsolation, OffsetOutOfRangeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from falkirk.node.broker.replication.context import ReplicationContext
    from falkirk.node.broker.replication.fetch_params import FetchParams, FetchPartition
    from falkirk.node.broker.replication.hosted_partition import HostedPartition
    from falkirk.node.broker.replication.hosted_partitions import HostedPartitions
    from falkirk.node.broker.replication.replication_quotas import ReplicationQuota
    from falkirk.protocol.topic_partition import TopicIdPartition
    from falkirk.slices import Slices

    Fetched: TypeAlias = Sequence[tuple[TopicIdPartition, PartitionFetched]]

READ_PER_SLICE: Final = 1_000
"""Partitions: about 10 ms."""


class Fetches(PartitionRequests):
    """Fetch requests of consumers and followers.

    While the rate of `quota` is exceeded, followers that are not in sync get no records of throttled partitions.
    """

    def __init__(
        self,
        context: ReplicationContext,
        partitions: HostedPartitions,
        waits: Waits,
        disk_failed: Callable[[HostedPartition, OSError], None],
        *,
        quota: ReplicationQuota,
    ) -> None:
        super().__init__(context, partitions, waits, disk_failed)
        self._quota = quota

    def fetch_slices(
        self,
        params: FetchParams,
        partitions: Sequence[tuple[TopicIdPartition, FetchPartition]],
        done: Callable[[Fetched], None],
    ) -> Slices[None]:
        """Read some partitions in each slice; `done` is called in the last one, or when `min_bytes` have arrived."""
        if params.is_from_follower:
            done = self._counting(done)
        is_sliced = len(partitions) >= READ_PER_SLICE
        sizes = self._sizes(params, partitions) if is_sliced else None
        fetched = yield from self.read_slices(params, partitions, updates_follower=True)
        size = sum(len(result.records) for _, result in fetched)
        if params.max_wait_ms <= 0 or not partitions or size >= params.min_bytes or _is_immediate(fetched):
            done(fetched)
            return
        deadline_ms = self._context.now_ms + params.max_wait_ms
        if sizes is None:
            sizes = self._sizes(params, partitions)
        wait = _FetchWait(self, params, partitions, fetched, sizes, deadline_ms=deadline_ms, done=done)
        # Changes by the follower's own fetch do not complete it; those since its first slice do.
        if not (is_sliced and wait.try_complete()):
            self._waits.watch(wait, [key.topic_partition for key, _ in partitions])

    def _sizes(self, params: FetchParams, partitions: Sequence[tuple[TopicIdPartition, FetchPartition]]) -> list[int]:
        """Return the sizes of the logs, if the request waits for more than anything at all."""
        return [self.size_of(key) for key, _ in partitions] if params.min_bytes > 1 else []

    def _counting(self, done: Callable[[Fetched], None]) -> Callable[[Fetched], None]:
        """Return `done`, with what a follower gets of throttled partitions counted for the quota."""

        def counted(fetched: Fetched) -> None:
            self._quota.record(
                sum(len(result.records) for key, result in fetched if self._quota.is_throttled(key.topic_partition))
            )
            done(fetched)

        return counted

    def _is_throttled(self, partition: HostedPartition, params: FetchParams) -> bool:
        """Return whether a follower gets no records of a partition now."""
        return (
            params.is_from_follower
            and params.replica_id not in partition.isr.committed
            and self._quota.is_throttled(partition.topic_partition)
            and self._quota.is_exceeded
        )

    def read_slices(
        self,
        params: FetchParams,
        partitions: Sequence[tuple[TopicIdPartition, FetchPartition]],
        *,
        updates_follower: bool,
        known: Mapping[TopicIdPartition, PartitionFetched] = MappingProxyType({}),
    ) -> Slices[list[tuple[TopicIdPartition, PartitionFetched]]]:
        """Read up to the limits; the first partition with records returns a whole batch whatever its size (KIP-74).

        Partitions that stay quiet are left out. `known`: earlier results, which are used again where nothing changed.
        """
        bytes_left, needs_batch = params.max_bytes, not params.is_limit_hard
        may_skip = self._may_skip(params)
        fetched = []
        for number, (key, requested) in enumerate(partitions, 1):
            if number % READ_PER_SLICE == 0:
                yield
            if may_skip and _stays_quiet(params, key, requested, updates_follower=updates_follower):
                continue
            earlier = known.get(key)
            if earlier is not None and earlier.quiet is not None and earlier.quiet.holds(key.topic_id):
                fetched.append((key, earlier))
                continue
            result = self._read_one(
                params,
                key,
                requested,
                bytes_left=bytes_left,
                needs_batch=needs_batch,
                updates_follower=updates_follower,
            )
            size = len(result.records)
            if size:
                needs_batch = False
                bytes_left = max(0, bytes_left - size)
            fetched.append((key, result))
        return fetched

    def _may_skip(self, params: FetchParams) -> bool:
        """Return whether results depend on nothing but partitions and their followers."""
        if params.isolation is FetchIsolation.TXN_COMMITTED:
            return False
        if not params.is_from_follower:
            return self._context.settings.replica_selector_class not in RACK_AWARE
        broker = self._context.alive(params.replica_id)
        return broker is not None and broker.broker_epoch == params.replica_epoch

    def _read_one(
        self,
        params: FetchParams,
        key: TopicIdPartition,
        requested: FetchPartition,
        *,
        bytes_left: int,
        needs_batch: bool,
        updates_follower: bool,
    ) -> PartitionFetched:
        partition = self._find(key)
        if isinstance(partition, ErrorCode):
            return PartitionFetched(error_code=partition)
        preferred = self._preferred(partition, params, requested)
        if preferred != NO_PREFERENCE and partition.log is not None:
            log = partition.log
            return PartitionFetched(
                high_watermark=log.high_watermark,
                last_stable_offset=log.last_stable_offset,
                log_start_offset=log.log_start_offset,
                preferred_read_replica=preferred,
            )
        is_throttled = self._is_throttled(partition, params)
        try:
            return read_partition(
                partition,
                params,
                requested,
                bytes_max=0 if is_throttled else min(requested.max_bytes, bytes_left),
                is_one_batch_needed=needs_batch and not is_throttled,
                updates_follower=updates_follower,
            )
        except OSError as error:
            self._disk_failed(partition, error)
            return PartitionFetched(error_code=ErrorCode.KAFKA_STORAGE_ERROR)

    def _find(self, key: TopicIdPartition) -> HostedPartition | ErrorCode:
        partition = self._partitions.find(key.topic_partition)
        if not isinstance(partition, ErrorCode) and partition.topic_id != key.topic_id:
            return ErrorCode.INCONSISTENT_TOPIC_ID
        return partition

    def _preferred(self, partition: HostedPartition, params: FetchParams, requested: FetchPartition) -> int:
        has_selector = self._context.settings.replica_selector_class in RACK_AWARE
        if not has_selector or params.is_from_follower or params.is_leader_only or not partition.is_leader:
            return NO_PREFERENCE
        if partition.leader_epoch_error(requested.current_leader_epoch) is not ErrorCode.NONE:
            return NO_PREFERENCE
        cluster = self._context.image.cluster
        return preferred_read_replica(partition, cluster, rack=params.rack, fetch_offset=requested.fetch_offset)

    # --- For waiting fetches

    def size_of(self, key: TopicIdPartition) -> int:
        """Return the size of a partition's log; its growth bounds what more there is to read."""
        partition = self._partitions.find(key.topic_partition)
        return 0 if isinstance(partition, ErrorCode) or partition.log is None else partition.log.size

    def progress_of(self, params: FetchParams, key: TopicIdPartition, requested: FetchPartition) -> _Progress:
        """Return whether a wait ends because of this partition whatever its size, or may have records."""
        partition = self._find(key)
        if isinstance(partition, ErrorCode):
            return _ENDS
        _, log = readable_log(partition, params, requested)
        if log is None:
            return _ENDS
        try:
            if diverging_epoch(log, requested) is not None:
                return _ENDS
        except OffsetOutOfRangeError:
            return _ENDS
        end_offset = visible_end(log, params.isolation)
        if requested.fetch_offset > log.log_end_offset or requested.fetch_offset < log.log_start_offset:
            return _ENDS
        has_records = end_offset > requested.fetch_offset and not self._is_throttled(partition, params)
        return _GROWN if has_records else _NOTHING


@dataclass(frozen=True, slots=True)
class _Progress:
    """`ends`: the response is due; `has_records`: there is something to read."""

    ends: bool = False
    has_records: bool = False


_ENDS = _Progress(ends=True)
_GROWN = _Progress(has_records=True)
_NOTHING = _Progress()


class _FetchWait(Wait):
    __slots__ = ("_done", "_fetches", "_known", "_params", "_partitions", "_size", "_sizes")

    def __init__(
        self,
        fetches: Fetches,
        params: FetchParams,
        partitions: Sequence[tuple[TopicIdPartition, FetchPartition]],
        fetched: Fetched,
        sizes: Sequence[int],
        *,
        deadline_ms: int,
        done: Callable[[Fetched], None],
    ) -> None:
        super().__init__(deadline_ms)
        self._fetches = fetches
        self._params = params
        self._partitions = partitions
        self._done = done
        # Results without records, and readable bytes, when the wait began; sizes of the logs then or before.
        self._known = {key: result for key, result in fetched if result.quiet is not None}
        self._size = sum(len(result.records) for _, result in fetched)
        self._sizes = sizes

    def try_complete(self) -> bool:
        params, fetches = self._params, self._fetches
        has_records = False
        for key, requested in self._partitions:
            known = self._known.get(key)
            quiet = requested.quiet if known is None else known.quiet
            if quiet is not None and quiet.holds(key.topic_id):
                continue
            progress = fetches.progress_of(params, key, requested)
            if progress.ends:
                self.expire()
                return True
            has_records = has_records or progress.has_records
        if not has_records:
            return False
        if params.min_bytes > 1:
            return self._complete_if_enough()
        self.expire()
        return True

    def expire(self) -> None:
        self.is_done = True
        self._done(self._read())

    def _read(self) -> Fetched:
        slices = self._fetches.read_slices(self._params, self._partitions, updates_follower=False, known=self._known)
        return exhaust(slices)

    def _complete_if_enough(self) -> bool:
        """Read only if `min_bytes` may have arrived: the growth of the logs bounds what there is to read."""
        fetches, params = self._fetches, self._params
        pairs = zip(self._partitions, self._sizes, strict=True)
        grown = sum(max(0, fetches.size_of(key) - before) for (key, _), before in pairs)
        if self._size + grown < params.min_bytes:
            return False
        fetched = self._read()
        if sum(len(result.records) for _, result in fetched) < params.min_bytes and not _is_immediate(fetched):
            return False
        self.is_done = True
        self._done(fetched)
        return True


def _stays_quiet(
    params: FetchParams, key: TopicIdPartition, requested: FetchPartition, *, updates_follower: bool
) -> bool:
    """Return whether a partition that had nothing still has nothing; a follower's state is updated then."""
    quiet = requested.quiet
    if quiet is None or not quiet.holds(key.topic_id):
        return False
    if not (updates_follower and params.is_from_follower):
        return True
    return quiet.partition.in_sync_follower_fetched_again(
        params.replica_id, requested.fetch_offset, requested.log_start_offset, broker_epoch=params.replica_epoch
    )


def _is_immediate(fetched: Fetched) -> bool:
    return any(
        result.error_code or result.diverging_epoch is not None or result.preferred_read_replica != NO_PREFERENCE
        for _, result in fetched
    )
