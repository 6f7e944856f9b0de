"""Replicas become what the image wants (Kafka's ReplicaManager.applyDelta): made, led, followed, deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.image.partition import UNASSIGNED
from falkirk.node.effects import Fact
from falkirk.node.replication.local_changes import directory_of, local_changes
from falkirk.node.replication.partition import Partition
from falkirk.node.replication.topic_log_configs import TopicLogConfigs
from falkirk.storage.errors import InconsistentTopicIdError, LogDirFailedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.partition import Partition as PartitionState
    from falkirk.node.replication.alter_partition_sender import AlterPartitionSender
    from falkirk.node.replication.context import ReplicationContext
    from falkirk.node.replication.hosted_partitions import HostedPartitions
    from falkirk.node.replication.replica_fetchers import ReplicaFetchers
    from falkirk.node.replication.replica_log_dirs import ReplicaLogDirs
    from falkirk.node.replication.waits import Waits
    from falkirk.protocol.topic_partition import TopicIdPartition
    from falkirk.storage.log.log_manager import LogManager
    from falkirk.storage.log.unified_log import UnifiedLog


class ReplicaChanges:
    """`logs` is set before anything is taken."""

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
        disk_failed: Callable[[Partition, OSError], None],
    ) -> None:
        self.configs = TopicLogConfigs(context.config)
        self._context = context
        self._partitions = partitions
        self._fetchers = fetchers
        self._sender = sender
        self._waits = waits
        self._log_dirs = log_dirs
        self._disk_failed = disk_failed

    def take(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Take over a change of the image."""
        if delta.topics is not None:
            changes = local_changes(delta.topics, self._context.node_id)
            # A topic of the same name may come in their place.
            for key in changes.deleted:
                self._delete(key)
            for key, state in changes.led:
                self._lead(key, state)
            for key, state in changes.followed:
                self._follow(key, state)
        if delta.configs is not None:
            topics = {partition.topic_partition.topic for partition in self._partitions}
            changed = set(self.configs.changed(delta.configs, image.configs, topics))
            for log in self.logs.logs() if changed else ():
                if log.topic_partition.topic in changed:
                    log.config = self.configs.of(image.configs, log.topic_partition.topic)

    def take_offline(self, log_dir: str) -> None:
        """Give up the replicas in a directory that has failed."""
        for partition in self._partitions:
            future = partition.future_log
            if future is not None and _log_dir(future) == log_dir:
                partition.future_log = None
            if partition.log is not None and _log_dir(partition.log) == log_dir:
                self._give_up(partition)

    # --- Inside

    def _delete(self, key: TopicIdPartition) -> None:
        name = key.topic_partition
        self._fetchers.stop(name)
        self._partitions.offline.pop(name, None)
        partition = self._partitions.online.pop(name, None)
        if partition is not None:
            has_future = partition.future_log is not None
            log = partition.log
            partition.close()
            self._waits.touch(name)
            if log is not None:
                self._delete_log(log)
            if has_future:
                self.logs.delete(name, is_future=True)

    def _delete_log(self, log: UnifiedLog) -> None:
        log_dir = _log_dir(log)
        try:
            self.logs.delete(log.topic_partition)
        except OSError as error:
            self._log_dirs.fail(log_dir, error)

    def _lead(self, key: TopicIdPartition, state: PartitionState) -> None:
        self._fetchers.stop(key.topic_partition)
        partition = self._get_or_create(key)
        log = None if partition is None else self._log(partition, state)
        if partition is not None and log is not None:
            try:
                partition.make_leader(state, log)
            except OSError as error:
                self._disk_failed(partition, error)
        self._waits.touch(key.topic_partition)

    def _follow(self, key: TopicIdPartition, state: PartitionState) -> None:
        partition = self._get_or_create(key)
        log = None if partition is None else self._log(partition, state)
        if partition is not None and log is not None:
            # Without a leader, too: it steps down.
            is_new_epoch = partition.make_follower(state, log)
            is_left_alone = state.leader < 0 or self._context.node_id not in state.isr
            if self._context.is_shutting_down and is_left_alone:
                self._fetchers.stop(key.topic_partition)
            elif is_new_epoch:
                self._fetchers.follow(partition)
        self._waits.touch(key.topic_partition)

    def _get_or_create(self, key: TopicIdPartition) -> Partition | None:
        """Give the partition; None if its directory has failed."""
        name = key.topic_partition
        if self._partitions.offline.get(name) == key.topic_id:
            return None
        partition = self._partitions.online.get(name)
        if partition is None or partition.topic_id != key.topic_id:
            partition = Partition(key, self._context, self._sender, self._progressed)
            self._partitions.online[name] = partition
            self._partitions.offline.pop(name, None)
        return partition

    def _log(self, partition: Partition, state: PartitionState) -> UnifiedLog | None:
        """Give the replica's log, made where the image wants it; None, and it is offline, if that cannot be."""
        if partition.log is not None:
            return partition.log
        name = partition.topic_partition
        wanted = directory_of(state, self._context.node_id)
        is_there = self.logs.get(name) is not None
        is_wanted_online = self._log_dirs.path(wanted) is not None
        if not is_there and not is_wanted_online and self._log_dirs.offline and wanted != UNASSIGNED:
            # It may be in a directory that cannot be looked at: a second, empty one would be a lie.
            self._give_up(partition)
            return None
        try:
            return self.logs.get_or_create(
                name,
                partition.topic_id,
                self.configs.of(self._context.image.configs, name.topic),
                directory_id=wanted if is_wanted_online else None,
            )
        except (LogDirFailedError, InconsistentTopicIdError, OSError) as error:
            fields = {"partition": str(name), "reason": str(error)}
            self._context.effects(Fact("error", "replica-has-no-log", fields))
            self._give_up(partition)
            return None

    def _give_up(self, partition: Partition) -> None:
        name = partition.topic_partition
        self._fetchers.stop(name)
        self._partitions.online.pop(name, None)
        self._partitions.offline[name] = partition.topic_id
        partition.close()
        self._waits.touch(name)

    def _progressed(self, partition: Partition) -> None:
        self._waits.touch(partition.topic_partition)


def _log_dir(log: UnifiedLog) -> str:
    return log.directory.rpartition("/")[0]
