"""AlterReplicaLogDirs: moves a replica to another log directory, or creates it there later (KIP-113)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.broker.replication.replica_log_dirs import log_dir_of
from falkirk.protocol.error_codes import ErrorCode
from falkirk.storage.errors import InconsistentTopicIdError, LogDirFailedError

if TYPE_CHECKING:
    from falkirk.node.broker.replication.context import ReplicationContext
    from falkirk.node.broker.replication.future_replicas import FutureReplicas
    from falkirk.node.broker.replication.hosted_partition import HostedPartition
    from falkirk.node.broker.replication.hosted_partitions import HostedPartitions
    from falkirk.node.broker.replication.replica_log_dirs import ReplicaLogDirs
    from falkirk.protocol.topic_partition import TopicPartition
    from falkirk.storage.log.log_manager import LogManager
    from falkirk.storage.log.unified_log import UnifiedLog

# The directory name of a future log must fit the limit of file systems.
NAME_BYTES_MAX: Final = 255
_SUFFIX_BYTES: Final = len(".") + 32 + len("-future")


class LogDirMoves:
    """`preferred`: the directories of replicas that do not exist here yet. `logs` is set before anything moves."""

    logs: "LogManager"

    def __init__(
        self,
        context: ReplicationContext,
        partitions: HostedPartitions,
        futures: FutureReplicas,
        log_dirs: ReplicaLogDirs,
    ) -> None:
        self.preferred: dict[TopicPartition, str] = {}
        self._context = context
        self._partitions = partitions
        self._futures = futures
        self._log_dirs = log_dirs

    def alter(self, key: TopicPartition, log_dir: str) -> ErrorCode:
        """Begin to move a replica."""
        if len(str(key).encode()) + _SUFFIX_BYTES > NAME_BYTES_MAX:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if log_dir not in self._context.config.log_dirs:
            return ErrorCode.LOG_DIR_NOT_FOUND
        if log_dir in self.logs.cordoned_log_dirs:
            return ErrorCode.INVALID_REPLICA_ASSIGNMENT
        partition = self._partitions.find(key)
        if log_dir not in self._log_dirs.online or partition is ErrorCode.KAFKA_STORAGE_ERROR:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if isinstance(partition, ErrorCode) or partition.log is None:
            self.preferred[key] = log_dir
            is_unknown = partition is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_unknown else ErrorCode.REPLICA_NOT_AVAILABLE
        return self._move(partition, partition.log, log_dir)

    def resume(self, partition: HostedPartition) -> None:
        """Continue a move that the broker's stop interrupted. Raises OSError if the disk fails."""
        future = self.logs.get(partition.topic_partition, is_future=True)
        if future is not None and partition.future_log is None:
            self._futures.begin(partition, future)

    def cancel(self, partition: HostedPartition) -> None:
        """Cancel a move, and delete what was copied. Raises OSError if the disk fails."""
        self._futures.stop(partition.topic_partition)
        if partition.future_log is not None:
            partition.future_log = None
            self.logs.delete(partition.topic_partition, is_future=True)

    def _move(self, partition: HostedPartition, log: UnifiedLog, log_dir: str) -> ErrorCode:
        key, future = partition.topic_partition, partition.future_log
        try:
            if future is not None and log_dir_of(future) != log_dir:
                self.cancel(partition)
            if log_dir == log_dir_of(log) or partition.future_log is not None:
                return ErrorCode.NONE
            if self._log_dirs.offline:
                # An offline directory may hold a future log already.
                return ErrorCode.KAFKA_STORAGE_ERROR
            directory_id = self._log_dirs.online[log_dir]
            future = self.logs.get_or_create(
                key, partition.topic_id, log.config, directory_id=directory_id, is_future=True
            )
            self._futures.begin(partition, future)
        except (OSError, LogDirFailedError, InconsistentTopicIdError):
            # The log manager reports the failed directory.
            return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NONE
