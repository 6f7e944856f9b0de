"""What all who answer requests at a broker's partitions are made with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.replication.context import ReplicationContext
    from falkirk.node.replication.hosted_partitions import HostedPartitions
    from falkirk.node.replication.partition import Partition
    from falkirk.node.replication.waits import Waits


class PartitionRequests:
    """`disk_failed` is told of partitions whose log cannot be used any more."""

    def __init__(
        self,
        context: ReplicationContext,
        partitions: HostedPartitions,
        waits: Waits,
        disk_failed: Callable[[Partition, OSError], None],
    ) -> None:
        self._context = context
        self._partitions = partitions
        self._waits = waits
        self._disk_failed = disk_failed
