"""A partition of which a fetch returned nothing, as it was then: most of a session's partitions, most of the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from falkirk.node.broker.replication.hosted_partition import HostedPartition
    from falkirk.storage.log.unified_log import UnifiedLog


class QuietPartition:
    """While it stays as it was, a fetch at the same offset has the same result: nothing is read.

    A session of 10,000 partitions is fetched twice a second; 50 brokers that follow one another have 49 each.
    """

    __slots__ = (
        "_high_watermark",
        "_leader_epoch",
        "_leader_id",
        "_log",
        "_log_end_offset",
        "_log_start_offset",
        "partition",
    )

    def __init__(self, partition: HostedPartition, log: UnifiedLog) -> None:
        self.partition = partition
        self._log = log
        self._leader_epoch = partition.leader_epoch
        self._leader_id = partition.leader_id
        self._log_end_offset = log.log_end_offset
        self._high_watermark = log.high_watermark
        self._log_start_offset = log.log_start_offset

    @classmethod
    def of(cls, partition: HostedPartition) -> Self | None:
        """Return the partition as it is now; None if it has no log."""
        return None if partition.log is None else cls(partition, partition.log)

    def holds(self, topic_id: bytes) -> bool:
        """Return whether the partition is as it was, and of this topic; one that is no longer hosted has no log."""
        partition, log = self.partition, self._log
        return (
            partition.log is log
            and partition.topic_id == topic_id
            and log.log_end_offset == self._log_end_offset
            and log.high_watermark == self._high_watermark
            and log.log_start_offset == self._log_start_offset
            and partition.leader_epoch == self._leader_epoch
            and partition.leader_id == self._leader_id
        )
