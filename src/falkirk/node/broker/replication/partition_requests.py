"""The base of classes that handle requests at a broker's partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.broker.replication.context import ReplicationContext
    from falkirk.node.broker.replication.hosted_partition import HostedPartition
    from falkirk.node.broker.replication.hosted_partitions import HostedPartitions
    from falkirk.node.broker.replication.waits import Waits


class PartitionRequests:
    """`disk_failed` is called with partitions whose log cannot be used any more."""

    def __init__(
        self,
        context: ReplicationContext,
        partitions: HostedPartitions,
        waits: Waits,
        disk_failed: Callable[[HostedPartition, OSError], None],
    ) -> None:
        self._context = context
        self._partitions = partitions
        self._waits = waits
        self._disk_failed = disk_failed
