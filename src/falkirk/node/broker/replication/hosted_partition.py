"""A partition that this broker leads or follows (Kafka's Partition): its ISR, and its high watermark.

The high watermark is the lowest log end of the leader, of replicas that are or may be in the ISR, and of those that
have caught up and are about to join; it does not advance while fewer than min.insync.replicas are in sync (KIP-966). A
replica joins when it reaches the high watermark and the start of the leader's epoch, under the broker epoch that the
controller knows (KIP-841, KIP-903), and leaves when it has not been at the end for replica.lag.time.max.ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.image.partition import RECOVERED
from falkirk.node.broker.replication.isr import AlteredIsr, IsrState, ProposedIsr
from falkirk.node.broker.replication.remote_replica import RemoteReplica
from falkirk.protocol.error_codes import NO_ERROR, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.image.partition import Partition as PartitionState
    from falkirk.node.broker.replication.alter_partition_sender import AlterPartitionSender
    from falkirk.node.broker.replication.context import ReplicationContext
    from falkirk.protocol.topic_partition import TopicIdPartition
    from falkirk.storage.log.unified_log import UnifiedLog

NO_LEADER: Final = -1
# The controller has not made the change, and will not.
_NOT_MADE: Final = frozenset((ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA))
# The controller has newer state, which the next image brings.
_AWAIT_METADATA: Final = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    )
)


class HostedPartition:
    """`progressed` is called when requests that wait at this partition may be complete.

    `log` is None while no working directory holds the replica. `future_log`: the replica that moves to another
    directory (KIP-113); `log_failed` is called with one that cannot be truncated.
    """

    def __init__(
        self,
        topic_id_partition: TopicIdPartition,
        context: ReplicationContext,
        sender: AlterPartitionSender,
        progressed: Callable[[HostedPartition], None],
        log_failed: Callable[[UnifiedLog, OSError], None],
    ) -> None:
        self.topic_id_partition = topic_id_partition
        self.topic_partition = topic_id_partition.topic_partition
        self.topic_id = topic_id_partition.topic_id
        self.log: UnifiedLog | None = None
        self.future_log: UnifiedLog | None = None
        self.leader_id = NO_LEADER
        self.leader_epoch = -1
        self.partition_epoch = -1
        # The log end when this broker became the leader; None while it follows.
        self.leader_epoch_start_offset: int | None = None
        self.adding_replicas: tuple[int, ...] = ()
        self.isr = IsrState()
        self.remote_replicas: dict[int, RemoteReplica] = {}
        self._context = context
        self._sender = sender
        self._progressed = progressed
        self._log_failed = log_failed
        # The replicas' directories in the image, while this broker leads.
        self._directories: Mapping[int, bytes] = {}

    @property
    def is_leader(self) -> bool:
        """True if this broker leads."""
        return self.leader_id == self._context.node_id

    @property
    def leader_log(self) -> UnifiedLog | None:
        """The log if this broker leads, else None."""
        return self.log if self.leader_id == self._context.node_id else None

    # --- Roles

    def make_leader(self, target: PartitionState, log: UnifiedLog) -> bool:
        """Lead as the image says; return whether this broker did not lead before.

        An image that is behind a response of the controller is ignored. The leader of an unclean election is RECOVERED
        at once: there is nothing to recover from.
        """
        if target.partition_epoch < self.partition_epoch:
            return False
        context = self._context
        is_new_leader, is_new_epoch = not self.is_leader, target.leader_epoch > self.leader_epoch
        self.log = log
        self.adding_replicas = target.adding_replicas
        self.isr = IsrState(frozenset(target.isr), RECOVERED)
        self._directories = dict(zip(target.replicas, target.directories, strict=True))
        known = self.remote_replicas
        self.remote_replicas = {
            broker_id: known.get(broker_id) or RemoteReplica(broker_id)
            for broker_id in target.replicas
            if broker_id != context.node_id
        }
        if is_new_epoch:
            start = log.log_end_offset
            # A follower may have batches of a later epoch than any in this log, and must learn where that ends.
            log.assign_epoch_start_offset(target.leader_epoch, start)
            for replica in self.remote_replicas.values():
                is_in_sync = replica.broker_id in self.isr.committed
                replica.begin_epoch(start, is_new_leader=is_new_leader, is_in_sync=is_in_sync, now_ms=context.now_ms)
            self.leader_epoch = target.leader_epoch
            self.leader_epoch_start_offset = start
        self.partition_epoch = target.partition_epoch
        self.leader_id = context.node_id
        self._advance(log)
        return is_new_leader

    def make_follower(self, target: PartitionState, log: UnifiedLog | None) -> bool:
        """Follow as the image says; return whether the leader epoch is new, so that fetching starts again."""
        if target.partition_epoch < self.partition_epoch:
            return False
        is_new_epoch = target.leader_epoch > self.leader_epoch
        if log is not None:
            self.log = log
        self.leader_id = target.leader
        self.leader_epoch = target.leader_epoch
        self.leader_epoch_start_offset = None
        self.partition_epoch = target.partition_epoch
        self.adding_replicas = target.adding_replicas
        self.isr = IsrState(leader_recovery_state=target.leader_recovery_state)
        self.remote_replicas = {}
        return is_new_epoch

    def close(self) -> None:
        """Stop leading or following: the replica is deleted, or its directory has failed."""
        self.log = self.future_log = None
        self.leader_id = NO_LEADER
        self.leader_epoch_start_offset = None
        self.isr = IsrState()
        self.remote_replicas = {}

    def leader_epoch_error(self, current_leader_epoch: int) -> ErrorCode:
        """Compare a client's or follower's leader epoch with ours; -1: none was sent (KIP-320)."""
        if current_leader_epoch in {-1, self.leader_epoch}:
            return ErrorCode.NONE
        is_older = current_leader_epoch < self.leader_epoch
        return ErrorCode.FENCED_LEADER_EPOCH if is_older else ErrorCode.UNKNOWN_LEADER_EPOCH

    # --- Followers, on the leader

    @property
    def min_insync_replicas(self) -> int:
        """The number of in-sync replicas that writes with acks=all need: never more than there are replicas."""
        assert self.log is not None
        return min(self.log.config.min_insync_replicas, len(self.remote_replicas) + 1)

    def min_isr_error(self) -> ErrorCode:
        """Return NOT_ENOUGH_REPLICAS if the ISR is too small for appends with acks=all."""
        return NO_ERROR if self._are_enough(self.isr.committed) else ErrorCode.NOT_ENOUGH_REPLICAS

    def acknowledged(self, required_offset: int) -> ErrorCode | None:
        """Return the outcome for records that end before `required_offset`; None while in-sync replicas lack them."""
        log = self.leader_log
        if log is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if log.high_watermark < required_offset:
            return None
        return NO_ERROR if self._are_enough(self.isr.maximal) else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    def appended(self) -> bool:
        """Advance the high watermark after an append; return whether it moved."""
        assert self.log is not None
        return self._advance(self.log)

    def follower_fetched(
        self, replica: RemoteReplica, fetch_offset: int, log_start_offset: int, *, end_offset: int, broker_epoch: int
    ) -> ErrorCode:
        """Update a follower's state by its fetch; `end_offset`: the leader's, before the response was read.

        NOT_LEADER_OR_FOLLOWER for a fetch of an earlier broker epoch.
        """
        context, log = self._context, self.log
        assert log is not None
        alive = context.alive(replica.broker_id)
        if broker_epoch != -1 and alive is not None and alive.broker_epoch > broker_epoch:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        has_moved = replica.log_end_offset != fetch_offset
        start_moved = replica.log_start_offset != log_start_offset
        replica.fetched(
            fetch_offset,
            log_start_offset,
            leader_end_offset=end_offset,
            now_ms=context.now_ms,
            broker_epoch=broker_epoch,
        )
        self._expand(replica, log)
        if has_moved:
            self._advance(log)
        if start_moved:
            self._progressed(self)
        return ErrorCode.NONE

    def in_sync_follower_fetched_again(
        self, broker_id: int, fetch_offset: int, log_start_offset: int, *, broker_epoch: int
    ) -> bool:
        """Update a follower's state by another fetch at the same offset; False if it is not in sync, or has changed."""
        replica, log = self.remote_replicas.get(broker_id), self.log
        if (
            log is None
            or replica is None
            or broker_id not in self.isr.committed
            or replica.broker_epoch != broker_epoch
            or replica.log_end_offset != fetch_offset
            or replica.log_start_offset != log_start_offset
        ):
            return False
        replica.fetched(
            fetch_offset,
            log_start_offset,
            leader_end_offset=log.log_end_offset,
            now_ms=self._context.now_ms,
            broker_epoch=broker_epoch,
        )
        return True

    def shrink(self) -> None:
        """Propose an ISR without replicas that have not been at the log's end for too long.

        Records that waited for such a replica to join are committed now (Differs from Kafka: there they wait for the
        next append. Such a follower may never fetch again).
        """
        log, isr = self.leader_log, self.isr
        if log is None:
            return
        if log.high_watermark < log.log_end_offset:
            self._advance(log)
        if isr.pending is not None or len(isr.committed) <= 1:
            return
        late = {broker_id for broker_id in isr.committed if not self._is_caught_up(broker_id, log.log_end_offset)}
        if late:
            self._propose(isr.committed - late, added=None)

    @property
    def low_watermark(self) -> int:
        """The lowest log start of all live replicas (DeleteRecords)."""
        log = self.log
        assert log is not None
        low = log.log_start_offset
        if self.future_log is not None:
            low = min(low, self.future_log.log_start_offset)
        for replica in self.remote_replicas.values():
            if replica.log_start_offset < low and self._context.alive(replica.broker_id) is not None:
                low = replica.log_start_offset
        return low

    # --- Following

    def append_as_follower(self, records: bytes | memoryview, high_watermark: int, log_start_offset: int) -> None:
        """Append records of the leader, and adopt its high watermark and log start.

        Raises CorruptRecordsError for records that do not fit, OSError if the disk fails.
        """
        log = self.log
        assert log is not None
        if records:
            # The leader cannot have batches of a later epoch than that of the request (KAFKA-18723).
            log.append_as_follower(records, leader_epoch=self.leader_epoch)
        moved = log.update_high_watermark(high_watermark)
        # A log start above the high watermark would delete uncommitted records.
        if log.log_start_offset < log_start_offset <= log.high_watermark:
            moved |= log.increment_log_start_offset(log_start_offset)
        if moved:
            self._progressed(self)

    def truncate_to(self, offset: int) -> None:
        """Truncate to `offset`, in the future log too. Raises OSError, unless that one fails."""
        if self.log is not None:
            self.log.truncate_to(offset)
        self._truncate_future(lambda future: future.truncate_to(offset))

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Delete all records and start at `offset`. Raises OSError, unless it is the future log that fails."""
        if self.log is not None:
            self.log.truncate_fully_and_start_at(offset)
        self._truncate_future(lambda future: future.truncate_fully_and_start_at(offset))

    # --- Responses of the controller

    def altered(self, proposed: ProposedIsr, answer: AlteredIsr | ErrorCode) -> None:
        """Apply the response to an ISR change, unless the partition has changed meanwhile."""
        isr = self.isr
        if isr.pending is not proposed:
            return
        if isinstance(answer, AlteredIsr):
            if answer.leader_epoch == self.leader_epoch and answer.partition_epoch >= self.partition_epoch:
                self.isr = IsrState(frozenset(answer.isr), answer.leader_recovery_state)
                self.partition_epoch = answer.partition_epoch
                if self.leader_log is not None:
                    self._advance(self.leader_log)
                # The minimum ISR may be reached or missed even if the high watermark has not moved.
                self._progressed(self)
        elif answer in _NOT_MADE:
            # With these errors the epochs are right, and no controller makes the change.
            isr.revert()
        elif answer not in _AWAIT_METADATA:
            self._submit(proposed)

    # --- Inside

    def _truncate_future(self, truncate: Callable[[UnifiedLog], object]) -> None:
        future = self.future_log
        if future is not None:
            try:
                truncate(future)
            except OSError as error:
                self._log_failed(future, error)

    def _are_enough(self, in_sync: frozenset[int]) -> bool:
        assert self.log is not None
        count = len(in_sync)
        # The first comparison nearly always holds; each append calls this three times.
        return count >= self.log.config.min_insync_replicas or count >= self.min_insync_replicas

    def _advance(self, log: UnifiedLog) -> bool:
        isr = self.isr
        if not self._are_enough(isr.committed):
            return False
        end_offset = high_watermark = log.log_end_offset
        for replica in self.remote_replicas.values():
            if replica.log_end_offset < high_watermark and (
                replica.broker_id in isr.maximal or self._is_about_to_join(replica, end_offset)
            ):
                high_watermark = replica.log_end_offset
        if high_watermark <= log.high_watermark or not log.update_high_watermark(high_watermark):
            return False
        self._progressed(self)
        return True

    def _is_about_to_join(self, replica: RemoteReplica, end_offset: int) -> bool:
        """Return whether the high watermark waits for it. Differs from Kafka: not if its directory has failed."""
        context = self._context
        if not self._is_eligible(replica) or not replica.is_caught_up(
            end_offset, now_ms=context.now_ms, lag_ms_max=context.settings.replica_lag_time_max_ms
        ):
            return False
        broker = context.alive(replica.broker_id)
        return broker is not None and broker.has_working(self._directories[replica.broker_id])

    def _is_caught_up(self, broker_id: int, end_offset: int) -> bool:
        context = self._context
        if broker_id == context.node_id:
            return True
        replica = self.remote_replicas.get(broker_id)
        return replica is not None and replica.is_caught_up(
            end_offset, now_ms=context.now_ms, lag_ms_max=context.settings.replica_lag_time_max_ms
        )

    def _is_eligible(self, replica: RemoteReplica) -> bool:
        """Return whether the controller would add it: alive, not shutting down, and in its current broker epoch."""
        broker = self._context.alive(replica.broker_id)
        if broker is None or broker.in_controlled_shutdown or replica.broker_epoch is None:
            return False
        return replica.broker_epoch in {-1, broker.broker_epoch}

    def _expand(self, replica: RemoteReplica, log: UnifiedLog) -> None:
        isr = self.isr
        if isr.pending is not None or replica.broker_id in isr.committed or self.leader_epoch_start_offset is None:
            return
        reached = replica.log_end_offset >= max(log.high_watermark, self.leader_epoch_start_offset)
        if reached and self._is_eligible(replica):
            self._propose(isr.committed | {replica.broker_id}, added=replica.broker_id)

    def _propose(self, brokers: frozenset[int], *, added: int | None) -> None:
        proposed = ProposedIsr(
            brokers={broker_id: self._known_epoch(broker_id) for broker_id in sorted(brokers)},
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            leader_recovery_state=self.isr.leader_recovery_state,
            added=added,
        )
        self.isr.propose(proposed)
        self._submit(proposed)

    def _known_epoch(self, broker_id: int) -> int:
        if broker_id == self._context.node_id:
            return self._context.broker_epoch
        replica = self.remote_replicas.get(broker_id)
        # In sync, but without a fetch since this broker leads: the controller knows whether it is alive.
        return -1 if replica is None or replica.broker_epoch is None else replica.broker_epoch

    def _submit(self, proposed: ProposedIsr) -> None:
        self._sender.submit(self.topic_id_partition, proposed, lambda answer: self.altered(proposed, answer))
