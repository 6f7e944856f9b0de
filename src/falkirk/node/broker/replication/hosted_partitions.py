"""The partitions of this broker, online and offline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.node.broker.replication.replica_log_dirs import log_dir_of
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.node.broker.replication.context import ReplicationContext
    from falkirk.node.broker.replication.hosted_partition import HostedPartition
    from falkirk.protocol.topic_partition import TopicPartition


class HostedPartitions:
    """Partitions by name; `offline` has the topic ids of those whose directory has failed.

    `are_behind`: changes of the image are not applied yet. `failing`: directories that have failed, and of which some
    partitions may not be offline yet.
    """

    def __init__(self, context: ReplicationContext) -> None:
        self._context = context
        self.online: dict[TopicPartition, HostedPartition] = {}
        self.offline: dict[TopicPartition, bytes] = {}
        self.are_behind = False
        self.failing: set[str] = set()

    def find(self, key: TopicPartition) -> HostedPartition | ErrorCode:
        """Return a partition, or the error if it is not hosted here."""
        partition = self.online.get(key)
        if partition is not None and not (self.are_behind and self._is_of_deleted_topic(partition)):
            return ErrorCode.KAFKA_STORAGE_ERROR if self.failing and self.is_failing(partition) else partition
        if key in self.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if self._context.image.topics.partition(key.topic, key.partition) is not None:
            # Known, but not here (yet): the client must refresh its metadata.
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def is_failing(self, partition: HostedPartition) -> bool:
        """Return whether a partition's log lies in a directory that has failed."""
        return partition.log is not None and log_dir_of(partition.log) in self.failing

    def _is_of_deleted_topic(self, partition: HostedPartition) -> bool:
        """Return whether a replica only waits to be deleted; there may be a new topic of the name."""
        topic = self._context.image.topics.topic(partition.topic_partition.topic)
        return topic is None or topic.topic_id != partition.topic_id

    def outcome(self, key: TopicPartition, required_offset: int) -> ErrorCode | None:
        """Return the outcome for records that end before an offset; None while not all in-sync replicas have them."""
        partition = self.find(key)
        return partition if isinstance(partition, ErrorCode) else partition.acknowledged(required_offset)

    def __iter__(self) -> Iterator[HostedPartition]:
        return iter(list(self.online.values()))
