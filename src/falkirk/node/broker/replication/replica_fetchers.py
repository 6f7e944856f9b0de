"""One fetcher for each broker that leads partitions which this one follows (Kafka's ReplicaFetcherManager)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.node.broker.replication.leader_fetcher import REQUESTED_AT_ONCE, LeaderFetcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.broker.replication.context import ReplicationContext
    from falkirk.node.broker.replication.hosted_partition import HostedPartition
    from falkirk.node.broker.replication.replication_quotas import ReplicationQuota
    from falkirk.node.connections.outbound_connections import OutboundConnections
    from falkirk.protocol.topic_partition import TopicPartition


class ReplicaFetchers:
    """Fetches each partition from at most one broker."""

    def __init__(
        self,
        context: ReplicationContext,
        outbound: OutboundConnections,
        quota: ReplicationQuota,
        disk_failed: Callable[[HostedPartition, OSError], None],
    ) -> None:
        self._context = context
        self._outbound = outbound
        self._quota = quota
        self._disk_failed = disk_failed
        self._fetchers: dict[int, LeaderFetcher] = {}
        self._leaders: dict[TopicPartition, int] = {}

    def follow(self, partition: HostedPartition) -> None:
        """Fetch a partition from its leader, starting again if it is fetched already; without a leader it waits."""
        key, leader_id = partition.topic_partition, partition.leader_id
        if self._leaders.get(key) != leader_id:
            self.stop(key)
        if leader_id < 0 or partition.log is None:
            return
        fetcher = self._fetchers.get(leader_id)
        if fetcher is None:
            fetcher = self._fetchers[leader_id] = LeaderFetcher(
                leader_id, self._context, self._outbound, self._quota, self._disk_failed
            )
        fetcher.add(partition)
        self._leaders[key] = leader_id

    def stop(self, key: TopicPartition) -> None:
        """Stop fetching a partition."""
        leader_id = self._leaders.pop(key, None)
        if leader_id is not None:
            self._fetchers[leader_id].remove(key)

    def tick(self) -> None:
        """Send what is due; close connections without partitions."""
        left = REQUESTED_AT_ONCE
        for leader_id, fetcher in list(self._fetchers.items()):
            if left <= 0:
                # The others are still due.
                return
            if fetcher.partitions:
                left -= fetcher.tick()
            else:
                fetcher.close()
                del self._fetchers[leader_id]
                self._leaders = {key: leader for key, leader in self._leaders.items() if leader != leader_id}

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        times = (fetcher.next_wakeup_ms for fetcher in self._fetchers.values())
        return min((time for time in times if time is not None), default=None)

    def close(self) -> None:
        """Stop fetching."""
        for fetcher in self._fetchers.values():
            fetcher.close()
        self._fetchers.clear()
        self._leaders.clear()
