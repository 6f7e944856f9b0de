"""Applies changes of the image to replicas (Kafka's ReplicaManager.applyDelta): create, lead, follow, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.image.partition import UNASSIGNED
from falkirk.node.broker.replication.hosted_partition import HostedPartition
from falkirk.node.broker.replication.local_changes import directory_of, local_changes
from falkirk.node.broker.replication.replica_log_dirs import log_dir_of
from falkirk.node.broker.replication.topic_log_configs import TopicLogConfigs
from falkirk.node.effects import Fact
from falkirk.storage.errors import InconsistentTopicIdError, LogDirFailedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.partition import Partition as PartitionState
    from falkirk.node.broker.replication.alter_partition_sender import AlterPartitionSender
    from falkirk.node.broker.replication.context import ReplicationContext
    from falkirk.node.broker.replication.directory_assignments import DirectoryAssignments
    from falkirk.node.broker.replication.future_replicas import FutureReplicas
    from falkirk.node.broker.replication.hosted_partitions import HostedPartitions
    from falkirk.node.broker.replication.log_dir_moves import LogDirMoves
    from falkirk.node.broker.replication.replica_fetchers import ReplicaFetchers
    from falkirk.node.broker.replication.replica_log_dirs import ReplicaLogDirs
    from falkirk.node.broker.replication.waits import Waits
    from falkirk.protocol.topic_partition import TopicIdPartition
    from falkirk.storage.log.log_manager import LogManager
    from falkirk.storage.log.unified_log import UnifiedLog


class ReplicaChanges:
    """`logs` is set before anything is applied."""

    logs: LogManager

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

    def apply(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Apply a change of the image."""
        if delta.topics is not None:
            changes = local_changes(delta.topics, self._context.node_id)
            # Deletions first: a topic of the same name may be recreated.
            for key in changes.deleted:
                self._delete(key)
            for key, state in changes.led:
                self._lead(key, state)
            for key, state in changes.followed:
                self._follow(key, state)
            version = image.features.metadata_version
            if version is not None and version.directory_assignment_supported:
                for key, directory_id in changes.moved:
                    self._report_directory(key, directory_id)
        if delta.configs is not None:
            topics = {partition.topic_partition.topic for partition in self._partitions}
            changed = set(self.configs.changed(delta.configs, image.configs, topics))
            for log in self.logs.logs() if changed else ():
                if log.topic_partition.topic in changed:
                    log.config = self.configs.of(image.configs, log.topic_partition.topic)

    def take_offline(self, log_dir: str) -> None:
        """Take the replicas in a failed directory offline."""
        for partition in self._partitions:
            future = partition.future_log
            if future is not None and log_dir_of(future) == log_dir:
                partition.future_log = None
                self._futures.stop(partition.topic_partition)
            if partition.log is not None and log_dir_of(partition.log) == log_dir:
                self._mark_offline(partition)

    # --- Inside

    def _delete(self, key: TopicIdPartition) -> None:
        name = key.topic_partition
        self._fetchers.stop(name)
        self._partitions.offline.pop(name, None)
        partition = self._partitions.online.pop(name, None)
        if partition is None:
            return
        log, future = partition.log, partition.future_log
        partition.close()
        self._futures.stop(name)
        self._assignments.forget(key)
        self._waits.touch(name)
        for is_future, gone in ((False, log), (True, future)):
            if gone is not None:
                try:
                    self.logs.delete(name, is_future=is_future)
                except OSError as error:
                    self._log_failed(gone, error)

    def _report_directory(self, key: TopicIdPartition, directory_id: bytes) -> None:
        """Report a replica's directory to the controller, if the image has another one."""
        partition = self._partitions.online.get(key.topic_partition)
        if partition is None or partition.log is None or self._futures.has_reported_target(key.topic_partition):
            return
        actual = self.logs.directory_id_of(partition.log)
        if actual != directory_id:
            self._assignments.assign(key, actual)

    def _lead(self, key: TopicIdPartition, state: PartitionState) -> None:
        self._fetchers.stop(key.topic_partition)
        partition = self._get_or_create(key)
        log = None if partition is None else self._log(partition, state)
        if partition is not None and log is not None:
            try:
                partition.make_leader(state, log)
            except OSError as error:
                self._log_failed(log, error)
        self._waits.touch(key.topic_partition)

    def _follow(self, key: TopicIdPartition, state: PartitionState) -> None:
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

    def _get_or_create(self, key: TopicIdPartition) -> HostedPartition | None:
        """Return the partition; None if its directory has failed."""
        name = key.topic_partition
        if self._partitions.offline.get(name) == key.topic_id:
            return None
        partition = self._partitions.online.get(name)
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
