"""Applies changes of the image to replicas (Kafka's ReplicaManager.applyDelta): create, lead, follow, delete.

A slice is bounded by the number of replicas and by the syncs that they need: the broker heartbeats, and answers, while
it creates thousands of logs on a slow disk. A replica whose change is not applied yet is not led by this broker:
requests get the errors of a broker that has not seen the change.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from falkirk.metadata.image.partition import UNASSIGNED
from falkirk.node.broker.replication.hosted_partition import HostedPartition
from falkirk.node.broker.replication.local_changes import PendingChanges, directory_of, has_moved
from falkirk.node.broker.replication.replica_log_dirs import log_dir_of
from falkirk.node.broker.replication.topic_log_configs import TopicLogConfigs
from falkirk.node.effects import Fact
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.topic_partition import TopicIdPartition, TopicPartition
from falkirk.storage.errors import InconsistentTopicIdError, LogDirFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.partition import Partition as PartitionState
    from falkirk.node.broker.replication.alter_partition_sender import AlterPartitionSender
    from falkirk.node.broker.replication.context import ReplicationContext
    from falkirk.node.broker.replication.directory_assignments import DirectoryAssignments
    from falkirk.node.broker.replication.future_replicas import FutureReplicas
    from falkirk.node.broker.replication.hosted_partitions import HostedPartitions
    from falkirk.node.broker.replication.local_changes import LocalChange
    from falkirk.node.broker.replication.log_dir_moves import LogDirMoves
    from falkirk.node.broker.replication.replica_fetchers import ReplicaFetchers
    from falkirk.node.broker.replication.replica_log_dirs import ReplicaLogDirs
    from falkirk.node.broker.replication.waits import Waits
    from falkirk.node.sliced_work import SlicedWork, Slices
    from falkirk.storage.log.log_manager import LogManager
    from falkirk.storage.log.unified_log import UnifiedLog


READ_AT_ONCE: Final = 1024
"""How many changed partitions of an image a slice goes through."""
WORK_AT_ONCE: Final = 128
"""The work of a slice, in replicas that only change in memory: some 2 ms."""
OFFLINE_AT_ONCE = 250
"""How many replicas a slice looks at whose log directory may have failed."""
CONFIGURED_AT_ONCE = 1_000
"""How many logs get new configs in a slice."""
# In the same unit, by the syncs that it takes: a slow disk needs 10 ms and more for one.
WORK_OF_LOG: Final = 96
WORK_OF_EPOCH: Final = 64
WORK_OF_RENAME: Final = 32


class ReplicaChanges:
    """Applies changes in slices, in their order. `logs` is set before anything is applied."""

    logs: "LogManager"

    def __init__(
        self,
        context: ReplicationContext,
        partitions: HostedPartitions,
        *,
        fetchers: ReplicaFetchers,
        sender: AlterPartitionSender,
        waits: Waits,
        log_dirs: ReplicaLogDirs,
        moves: LogDirMoves,
        futures: FutureReplicas,
        assignments: DirectoryAssignments,
        log_failed: Callable[[UnifiedLog, OSError], None],
    ) -> None:
        self.configs = TopicLogConfigs(context.config)
        self._context = context
        self._partitions = partitions
        self._fetchers = fetchers
        self._sender = sender
        self._waits = waits
        self._log_dirs = log_dirs
        self._moves = moves
        self._futures = futures
        self._assignments = assignments
        self._log_failed = log_failed
        self._pending = PendingChanges(context.node_id)
        self._work: SlicedWork | None = None
        self._configuring: SlicedWork | None = None

    def begin(self, image: MetadataImage) -> None:
        """Apply the first image: what one slice does at once, the rest in further steps.

        It may have fewer replicas than the images by which the logs were put into use.
        """
        # Before the topics: one may have been created again, and its log is in the place of the new one.
        self._pending.add_logs(map(_replica_of, list(self.logs.logs())))
        self._pending.add_all(image.topics)
        self._go_on()
        self._configuring = self._context.works.begin("configure logs", self._configure(None))

    def apply(self, delta: MetadataDelta) -> None:
        """Apply a change of the image: what one slice does at once, the rest in further steps."""
        if delta.topics is not None:
            self._pending.add(delta.topics, delta.image.provenance.end_offset)
            self._go_on()
        if delta.configs is not None and self.configs.affects(delta.configs):
            # All again if an earlier change is still under way, whatever that was.
            is_busy = self._configuring is not None and not self._configuring.is_finished
            if self._configuring is not None:
                self._configuring.cancel()
            topics = None if is_busy else self.configs.changed(delta.configs)
            self._configuring = self._context.works.begin("configure logs", self._configure(topics))

    def is_pending(self, key: TopicIdPartition) -> bool:
        """Return whether a replica may have a change that is not applied yet."""
        return key in self._pending

    @property
    def pending_offset(self) -> int | None:
        """The end offset of the last image that is applied as a whole; None if all are."""
        return self._pending.start_offset

    def stop(self) -> None:
        """Drop what is not applied yet: the broker stops."""
        self._pending.clear()

    def mark_offline(self, log_dir: str) -> None:
        """Mark the replicas in a failed directory offline; to others they are so at once."""
        self._partitions.failing.add(log_dir)
        # First those that move: that takes both directories.
        for partition in self._futures.moving():
            self._leave(partition, log_dir)
        self._context.works.begin("fail log directory", self._leave_all(log_dir))

    # --- Slices

    def _go_on(self) -> None:
        """Do a slice now, unless earlier changes are still being applied: most changes need no more."""
        if self._work is None or self._work.is_finished:
            self._do_slice()
            if self._pending:
                self._work = self._context.works.start("apply replica changes", self._slices())

    def _slices(self) -> Slices:
        while self._pending:
            self._do_slice()
            yield

    def _leave_all(self, log_dir: str) -> Slices:
        for number, partition in enumerate(self._partitions, 1):
            self._leave(partition, log_dir)
            if number % OFFLINE_AT_ONCE == 0:
                yield
        self._partitions.failing.discard(log_dir)

    def _leave(self, partition: HostedPartition, log_dir: str) -> None:
        """Mark a replica offline if its directory has failed; if that of its future log has, it stays where it is."""
        future = partition.future_log
        if future is not None and log_dir_of(future) == log_dir:
            partition.future_log = None
            self._futures.stop(partition.topic_partition)
        if partition.log is not None and log_dir_of(partition.log) == log_dir:
            self._mark_offline(partition)

    def _configure(self, topics: Iterable[str] | None) -> Slices:
        """Set the newest configs of the logs of some topics; None: of all logs."""
        logs = self.logs.logs() if topics is None else chain.from_iterable(map(self._logs_of, topics))
        for number, log in enumerate(list(logs), 1):
            log.config = self.configs.of(self._context.image.configs, log.topic_partition.topic)
            if number % CONFIGURED_AT_ONCE == 0:
                yield

    def _logs_of(self, name: str) -> Iterator[UnifiedLog]:
        topic = self._context.image.topics.topic(name)
        for index, partition in () if topic is None else topic.items():
            if self._context.node_id in partition.replicas:
                key = TopicPartition(name, index)
                for log in (self.logs.get(key), self.logs.get(key, is_future=True)):
                    if log is not None:
                        yield log

    def _do_slice(self) -> None:
        if self._pending.read_some(READ_AT_ONCE):
            left = WORK_AT_ONCE
            while left > 0 and (change := self._pending.pop()) is not None:
                left -= self._apply_one(change)
        self._partitions.are_behind = bool(self._pending)

    def _apply_one(self, change: LocalChange) -> int:
        """Bring a replica to its newest state; return how much of a slice that took."""
        key, node_id = change.key, self._context.node_id
        image = self._context.image
        topic = image.topics.topic_by_id(key.topic_id)
        state = None if topic is None else topic.partition(key.partition)
        if state is None or node_id not in state.replicas:
            return self._delete(key)
        work = 1
        if change.before is None or change.before.partition_epoch != state.partition_epoch:
            work = self._lead(key, state) if state.leader == node_id else self._follow(key, state)
        version = image.features.metadata_version
        is_reported = version is not None and version.directory_assignment_supported
        if is_reported and has_moved(change.before, state, node_id):
            self._report_directory(key, directory_of(state, node_id))
        return work

    # --- Inside

    def _delete(self, key: TopicIdPartition) -> int:
        name, work = key.topic_partition, 1
        if self._partitions.offline.get(name) == key.topic_id:
            del self._partitions.offline[name]
        partition = self._partitions.online.get(name)
        if partition is not None and partition.topic_id == key.topic_id:
            self._fetchers.stop(name)
            del self._partitions.online[name]
            partition.close()
            self._futures.stop(name)
            self._assignments.forget(key)
        self._waits.touch(name)
        # A replica that was loaded and never led nor followed has a log, too.
        for is_future in (False, True):
            log = self.logs.get(name, is_future=is_future)
            if log is not None and log.topic_id in {key.topic_id, ZERO_UUID}:
                work += WORK_OF_RENAME
                try:
                    self.logs.delete(name, is_future=is_future)
                except OSError as error:
                    self._log_failed(log, error)
        return work

    def _report_directory(self, key: TopicIdPartition, directory_id: bytes) -> None:
        """Report a replica's directory to the controller, if the image has another one."""
        partition = self._partitions.online.get(key.topic_partition)
        if partition is None or partition.log is None or self._partitions.is_failing(partition):
            return
        if self._futures.has_reported_target(key.topic_partition):
            return
        actual = self.logs.directory_id_of(partition.log)
        if actual != directory_id:
            self._assignments.assign(key, actual)

    def _lead(self, key: TopicIdPartition, state: PartitionState) -> int:
        self._fetchers.stop(key.topic_partition)
        work = self._work_of_log(key.topic_partition)
        partition = self._get_or_create(key)
        log = None if partition is None else self._log(partition, state)
        if partition is not None and log is not None:
            if log.latest_epoch is None or log.latest_epoch < state.leader_epoch:
                work += WORK_OF_EPOCH
            try:
                partition.make_leader(state, log)
            except OSError as error:
                self._log_failed(log, error)
        self._waits.touch(key.topic_partition)
        return work

    def _follow(self, key: TopicIdPartition, state: PartitionState) -> int:
        work = self._work_of_log(key.topic_partition)
        partition = self._get_or_create(key)
        log = None if partition is None else self._log(partition, state)
        if partition is not None and log is not None:
            # Without a leader too: this broker must not lead any more.
            is_new_epoch = partition.make_follower(state, log)
            is_left_alone = state.leader < 0 or self._context.node_id not in state.isr
            if self._context.is_shutting_down and is_left_alone:
                self._fetchers.stop(key.topic_partition)
            elif is_new_epoch:
                self._fetchers.follow(partition)
        self._waits.touch(key.topic_partition)
        return work

    def _work_of_log(self, name: TopicPartition) -> int:
        return 1 if self.logs.get(name) is not None else WORK_OF_LOG

    def _get_or_create(self, key: TopicIdPartition) -> HostedPartition | None:
        """Return the partition; None if its directory has failed."""
        name = key.topic_partition
        if self._partitions.offline.get(name) == key.topic_id:
            return None
        partition = self._partitions.online.get(name)
        if partition is not None and self._partitions.is_failing(partition):
            self._mark_offline(partition)
            if partition.topic_id == key.topic_id:
                return None
            partition = None
        if partition is None or partition.topic_id != key.topic_id:
            partition = HostedPartition(key, self._context, self._sender, self._progressed, self._log_failed)
            self._partitions.online[name] = partition
            self._partitions.offline.pop(name, None)
        return partition

    def _log(self, partition: HostedPartition, state: PartitionState) -> UnifiedLog | None:
        """Return the replica's log, created in the image's directory; None, and it is offline, if that fails."""
        if partition.log is not None:
            return partition.log
        name = partition.topic_partition
        wanted = directory_of(state, self._context.node_id)
        is_there = self.logs.get(name) is not None
        is_wanted_online = self._log_dirs.path(wanted) is not None
        if not is_there and not is_wanted_online and self._log_dirs.offline and wanted != UNASSIGNED:
            # An offline directory may hold the log: an empty second one would lose its records.
            self._mark_offline(partition)
            return None
        preferred = self._log_dirs.online.get(self._moves.preferred.pop(name, ""))
        try:
            log = self.logs.get_or_create(
                name,
                partition.topic_id,
                self.configs.of(self._context.image.configs, name.topic),
                directory_id=preferred or (wanted if is_wanted_online else None),
            )
            partition.log = log
            self._moves.resume(partition)
        except (LogDirFailedError, InconsistentTopicIdError, OSError) as error:
            fields = {"partition": str(name), "reason": str(error)}
            self._context.effects(Fact("error", "replica-has-no-log", fields))
            self._mark_offline(partition)
            return None
        return log

    def _mark_offline(self, partition: HostedPartition) -> None:
        name = partition.topic_partition
        self._fetchers.stop(name)
        self._partitions.online.pop(name, None)
        self._partitions.offline[name] = partition.topic_id
        partition.close()
        self._futures.stop(name)
        self._waits.touch(name)

    def _progressed(self, partition: HostedPartition) -> None:
        self._waits.touch(partition.topic_partition)


def _replica_of(log: UnifiedLog) -> TopicIdPartition:
    return TopicIdPartition(log.topic_id, *log.topic_partition)
