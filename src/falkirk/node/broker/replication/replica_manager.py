"""The partitions of a broker (Kafka's ReplicaManager)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from falkirk.node.broker.replication.alter_partition_sender import AlterPartitionSender
from falkirk.node.broker.replication.answers import PartitionProduced, RecordsDeleted
from falkirk.node.broker.replication.appends import Appends
from falkirk.node.broker.replication.cordoned_log_dirs import cordoned_log_dirs
from falkirk.node.broker.replication.directory_assignments import DirectoryAssignments
from falkirk.node.broker.replication.fetches import Fetches
from falkirk.node.broker.replication.future_replicas import FutureReplicas
from falkirk.node.broker.replication.hosted_partitions import HostedPartitions
from falkirk.node.broker.replication.log_dir_moves import LogDirMoves
from falkirk.node.broker.replication.record_deletions import RecordDeletions
from falkirk.node.broker.replication.replica_changes import ReplicaChanges
from falkirk.node.broker.replication.replica_fetchers import ReplicaFetchers
from falkirk.node.broker.replication.replica_log_dirs import LogDirState, log_dir_of
from falkirk.node.broker.replication.replication_quotas import ReplicationQuotas
from falkirk.node.broker.replication.waits import Waits
from falkirk.node.errors import FatalError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.slices import DECISION_VISITS, SliceBudget, Turn, exhaust

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.broker.replication.context import ReplicationContext
    from falkirk.node.broker.replication.fetch_params import FetchParams, FetchPartition, PartitionFetched
    from falkirk.node.broker.replication.hosted_partition import HostedPartition
    from falkirk.node.broker.replication.replica_log_dirs import ReplicaLogDirs
    from falkirk.node.connections.active_controller_channel import ActiveControllerChannel
    from falkirk.node.connections.outbound_connections import OutboundConnections
    from falkirk.node.sliced_work import SlicedWork, Slices
    from falkirk.protocol.topic_partition import TopicIdPartition, TopicPartition
    from falkirk.storage.log.append import AppendOrigin
    from falkirk.storage.log.log_manager import LogManager
    from falkirk.storage.log.record_validator import CheckedRecords
    from falkirk.storage.log.unified_log import UnifiedLog

SHRINKS_AT_ONCE: Final = 1_000
"""How many partitions are looked at for lagging followers in one step: some milliseconds."""
NO_GUARDS: Final[Mapping[TopicIdPartition, int]] = {}
_NONE_CHECKED: Final[Mapping[TopicIdPartition, CheckedRecords]] = {}

__all__ = ("PartitionProduced", "RecordsDeleted", "ReplicaManager")


@mypyc_attr(allow_interpreted_subclasses=True)
class ReplicaManager:
    """Appends to and reads from the partitions of this broker, and keeps them as the image has them.

    Callers resolve topic ids and check authorizations. `done` is called exactly once, now or in a later step, unless
    the broker stops. `logs` may be used once `is_started`. `quotas`: the throttles.
    """

    logs: "LogManager"

    def __init__(
        self,
        context: ReplicationContext,
        outbound: OutboundConnections,
        log_dirs: ReplicaLogDirs,
        open_channel: Callable[[str], ActiveControllerChannel],
    ) -> None:
        self.context = context
        self.partitions = HostedPartitions(context)
        self.is_started = False
        self.quotas = ReplicationQuotas(context)
        self._waits = Waits(self.partitions.outcome)
        self._sender = AlterPartitionSender(context, open_channel("alter-partition"))
        self._assignments = DirectoryAssignments(context, open_channel("directory-assignments"))
        self._futures = FutureReplicas(context, self._assignments, self.quotas.alter_log_dirs, self.disk_failed)
        self._moves = LogDirMoves(context, self.partitions, self._futures, log_dirs)
        self._fetchers = ReplicaFetchers(context, outbound, self.quotas.follower, self._disk_failed)
        self._log_dirs = log_dirs
        self._changes = ReplicaChanges(
            context,
            self.partitions,
            fetchers=self._fetchers,
            sender=self._sender,
            waits=self._waits,
            log_dirs=log_dirs,
            moves=self._moves,
            futures=self._futures,
            assignments=self._assignments,
            log_failed=self.disk_failed,
        )
        parts = (context, self.partitions, self._waits, self._disk_failed)
        self._appends = Appends(*parts)
        # Of checks that take much memory.
        self._turn = Turn()
        self._fetches = Fetches(*parts, quota=self.quotas.leader)
        self._deletions = RecordDeletions(*parts)
        self._next_shrink_ms = context.now_ms
        self._shrinking: SlicedWork | None = None
        self._fatal: str | None = None

    # --- Life

    def start(self, logs: LogManager) -> None:
        """Begin with these loaded logs, by the current image."""
        self.logs = logs
        self.is_started = True
        self._changes.logs = self._moves.logs = self._futures.logs = logs
        self._fail_log_dirs()
        image = self.context.image
        logs.cordoned_log_dirs = cordoned_log_dirs(self.context.config, image.configs)
        self._changes.begin(image)

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Apply a new image: lead, follow, create, move and delete replicas."""
        self.context.image = image
        if self.is_started:
            if delta.configs is not None:
                self.logs.cordoned_log_dirs = cordoned_log_dirs(self.context.config, image.configs)
            self._changes.apply(delta)

    def is_pending(self, key: TopicIdPartition) -> bool:
        """Return whether a replica may have a change of the image that is not applied yet."""
        return self._changes.is_pending(key)

    @property
    def pending_offset(self) -> int | None:
        """The end offset of the last image that is applied to all replicas; None if the newest one is."""
        return self._changes.pending_offset if self.is_started else None

    def tick(self) -> None:
        """Do the periodic work: expired waits, lagging followers, fetches, checkpoints, housekeeping of logs.

        Raises FatalError if the broker cannot go on.
        """
        if self._fatal is not None:
            raise FatalError(self._fatal)
        if not self.is_started:
            return
        now_ms = self.context.now_ms
        self._waits.expire(now_ms)
        if now_ms >= self._next_shrink_ms:
            self._next_shrink_ms = now_ms + self.context.settings.replica_lag_time_max_ms // 2
            if self._shrinking is None or self._shrinking.is_finished:
                self._shrinking = self.context.works.start("shrink ISRs", self._shrink())
        self._sender.tick()
        self._fetchers.tick()
        self._futures.tick()
        self._assignments.tick()
        self.logs.tick(now_ms)
        self._fail_log_dirs()
        self._waits.complete()

    def complete(self) -> None:
        """Complete requests that what happened in this step has made complete."""
        if self._waits.has_touched:
            self._waits.complete()

    @property
    def next_deadline_ms(self) -> int | None:
        """The earliest deadline of a waiting request."""
        return self._waits.next_deadline_ms

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        if self._fatal is not None or self._waits.has_touched:
            return self.context.now_ms
        if not self.is_started:
            return None
        times = (
            self._waits.next_deadline_ms,
            self._sender.next_wakeup_ms,
            self._fetchers.next_wakeup_ms,
            self._futures.next_wakeup_ms,
            self._assignments.next_wakeup_ms,
            self.logs.next_wakeup_ms,
            self._next_shrink_ms,
        )
        return min(time for time in times if time is not None)

    def shutdown_slices(self) -> Slices:
        """Stop following, and close the logs over several steps."""
        self._fetchers.close()
        self._changes.stop()
        if self.is_started:
            self.is_started = False
            yield from self.logs.shutdown_slices()
            self._fail_log_dirs()

    # --- Requests

    def check_slices(
        self, records: Mapping[TopicIdPartition, bytes | memoryview]
    ) -> Generator[None, None, Mapping[TopicIdPartition, CheckedRecords]]:
        """Check a client's records where that may take long, for `append_slices`."""
        return self._appends.check_slices(records, self._turn)

    def append_records(
        self,
        records: Mapping[TopicIdPartition, bytes | memoryview],
        *,
        required_acks: int,
        timeout_ms: int,
        origin: AppendOrigin,
        are_internal_topics_allowed: bool,
        done: Callable[[Mapping[TopicIdPartition, PartitionProduced]], None],
        guards: Mapping[TopicIdPartition, int] = NO_GUARDS,
        transaction_version: int = 0,
    ) -> None:
        """Do what `append_slices` does, at once."""
        slices = self.append_slices(
            records,
            required_acks=required_acks,
            timeout_ms=timeout_ms,
            origin=origin,
            are_internal_topics_allowed=are_internal_topics_allowed,
            guards=guards,
            transaction_version=transaction_version,
            done=done,
        )
        exhaust(slices)

    def append_slices(
        self,
        records: Mapping[TopicIdPartition, bytes | memoryview],
        *,
        required_acks: int,
        timeout_ms: int,
        origin: AppendOrigin,
        are_internal_topics_allowed: bool,
        done: Callable[[Mapping[TopicIdPartition, PartitionProduced]], None],
        guards: Mapping[TopicIdPartition, int] = NO_GUARDS,
        transaction_version: int = 0,
        checked: Mapping[TopicIdPartition, CheckedRecords] = _NONE_CHECKED,
    ) -> Slices:
        """Append as the leader; with `required_acks` -1 `done` waits for the high watermark, or `timeout_ms`.

        `checked`: from `check_slices`; what is not in it is checked here.
        `guards`, `transaction_version`: as in UnifiedLog; without a guard a transaction must be open already.
        """
        return self._appends.append_slices(
            records,
            required_acks=required_acks,
            timeout_ms=timeout_ms,
            origin=origin,
            are_internal_topics_allowed=are_internal_topics_allowed,
            guards=guards,
            transaction_version=transaction_version,
            checked=checked,
            done=done,
        )

    def await_replicated(self, key: TopicIdPartition, *, timeout_ms: int, done: Callable[[ErrorCode], None]) -> None:
        """Call `done` when all that a partition holds now is committed, on a timeout, or if it is not led here."""
        self._appends.await_replicated(key, timeout_ms=timeout_ms, done=done)

    def fetch_slices(
        self,
        params: FetchParams,
        partitions: Sequence[tuple[TopicIdPartition, FetchPartition]],
        done: Callable[[Sequence[tuple[TopicIdPartition, PartitionFetched]]], None],
    ) -> Slices:
        """Read, now if `min_bytes` are there or there is anything else to report; else wait up to `max_wait_ms`.

        A follower's fetch updates its state, which may advance the high watermark and change the ISR.
        """
        return self._fetches.fetch_slices(params, partitions, done)

    def delete_records_slices(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        timeout_ms: int,
        done: Callable[[Mapping[TopicPartition, RecordsDeleted]], None],
    ) -> Slices:
        """Advance log starts (-1: to the high watermark), and wait until all replicas have advanced theirs."""
        return self._deletions.delete_slices(offsets, timeout_ms=timeout_ms, done=done)

    def partition(self, key: TopicPartition) -> HostedPartition | ErrorCode:
        """Return a partition of this broker, or the error if it is not hosted here."""
        return self.partitions.find(key)

    @property
    def image(self) -> MetadataImage:
        """The metadata that replicas were last given: while an image is published, newer than the node's."""
        return self.context.image

    def leader_log(self, partition: TopicPartition, leader_epoch: int = -1) -> UnifiedLog | ErrorCode:
        """Return the log of a partition that this broker leads, or the error.

        NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR, FENCED_LEADER_EPOCH,
        UNKNOWN_LEADER_EPOCH.
        """
        found = self.partitions.find(partition)
        if isinstance(found, ErrorCode):
            return found
        error = found.leader_epoch_error(leader_epoch)
        if error is not ErrorCode.NONE:
            return error
        return found.leader_log or ErrorCode.NOT_LEADER_OR_FOLLOWER

    def log(self, partition: TopicPartition) -> UnifiedLog | ErrorCode:
        """Return the log of a partition of this broker, whichever broker leads it, or the error."""
        found = self.partitions.find(partition)
        if isinstance(found, ErrorCode):
            return found
        return found.log or ErrorCode.NOT_LEADER_OR_FOLLOWER

    def log_dirs(self) -> Mapping[str, LogDirState]:
        """Return the state of each configured log directory, by path."""
        return {log_dir: self._log_dir(log_dir) for log_dir in self.context.config.log_dirs}

    def alter_replica_log_dirs(
        self, wanted: Mapping[TopicPartition, str]
    ) -> Generator[None, None, Mapping[TopicPartition, ErrorCode]]:
        """Begin to move replicas to other log directories, by path (KIP-113); each makes a log in a step of its own."""
        budget = SliceBudget()
        results: dict[TopicPartition, ErrorCode] = {}
        has_made_log = False
        for key, log_dir in wanted.items():
            if has_made_log or budget.spend(DECISION_VISITS):
                yield
            results[key] = self._moves.alter(key, log_dir)
            has_made_log = results[key] is ErrorCode.NONE
        return results

    def disk_failed(self, log: UnifiedLog, error: OSError) -> None:
        """Take the directory of a log offline."""
        self._log_dir_failed(log_dir_of(log), error)

    # --- Inside

    def _log_dir(self, log_dir: str) -> LogDirState:
        if log_dir not in self._log_dirs.online:
            return LogDirState(error=ErrorCode.KAFKA_STORAGE_ERROR)
        if not self.is_started:
            return LogDirState()
        try:
            usage = self.logs.usage(log_dir)
        except OSError:
            return LogDirState(error=ErrorCode.KAFKA_STORAGE_ERROR)
        version = self.context.image.features.metadata_version
        knows_cordons = version is not None and version.cordoned_log_dirs_supported
        return LogDirState(
            total_bytes=usage.total_bytes,
            usable_bytes=usage.usable_bytes,
            is_cordoned=knows_cordons and log_dir in self.logs.cordoned_log_dirs,
        )

    def _shrink(self) -> Slices:
        """Look for lagging followers of all partitions, some in each slice."""
        for number, partition in enumerate(self.partitions, 1):
            partition.shrink()
            if number % SHRINKS_AT_ONCE == 0:
                yield

    def _disk_failed(self, partition: HostedPartition, error: OSError) -> None:
        if partition.log is not None:
            self.disk_failed(partition.log, error)

    def _fail_log_dirs(self) -> None:
        for log_dir, error in self.logs.pop_failed().items():
            self._log_dir_failed(log_dir, error)

    def _log_dir_failed(self, log_dir: str, error: OSError) -> None:
        """Take a directory and its replicas offline; without any, or that of the metadata, the broker stops."""
        if not self._log_dirs.fail(log_dir, error):
            return
        self.logs.mark_offline(log_dir)
        self._changes.mark_offline(log_dir)
        config = self.context.config
        if log_dir == config.metadata_log_dir:
            self._fatal = f"Shutdown broker because the metadata log dir {log_dir} has failed"
        elif not self._log_dirs.online:
            dirs = ", ".join(config.log_dirs)
            self._fatal = f"Shutdown broker because all log dirs in {dirs} have failed"
        self.context.wake()
