"""A cluster of ours that coordinates groups: ReplicaCluster, with requests to coordinators.

cluster = GroupCluster()
cluster.create("t")
cluster.commit("g", {("t", 0): 7}) == {("t", 0): 0}
cluster.fetch_offsets("g") == {("t", 0): 7}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from replica_cluster import ReplicaCluster

from falkirk.node.broker.coordinator_runtime.coordinator_runtime import abs_hash
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import FindCoordinatorRequest, OffsetCommitRequest, OffsetFetchRequest
from falkirk.protocol.messages import offset_commit_request as commits
from falkirk.protocol.messages import offset_fetch_request as fetches
from falkirk.versions.release import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.node.broker.coordinator_runtime.hosted_shard import HostedShard
    from falkirk.node.broker.group_coordinator.group_coordinator import GroupCoordinator
    from falkirk.protocol.schema import WireMessage


class GroupCluster(ReplicaCluster):
    """`__consumer_offsets` has `offsets_partitions`, with three replicas as far as there are brokers."""

    def __init__(
        self,
        *,
        offsets_partitions: int = 2,
        brokers: int = 3,
        properties: dict[str, str] | None = None,
        **settings: Any,
    ) -> None:
        own = {
            "offsets.topic.num.partitions": str(offsets_partitions),
            "offsets.topic.replication.factor": str(min(brokers, 3)),
            "group.initial.rebalance.delay.ms": "0",
        }
        super().__init__(brokers=brokers, properties={**own, **(properties or {})}, **settings)
        self.offsets_partitions = offsets_partitions

    def partition_of(self, group_id: str) -> int:
        """Return the partition of a group."""
        return abs_hash(group_id) % self.offsets_partitions

    def coordinator(self, group_id: str) -> int:
        """Find a group's coordinator, waiting until it is active; return the broker id."""
        client = self.client(self.up[0])
        answer: Any = None

        def is_found() -> bool:
            nonlocal answer
            answer = client.ask(FindCoordinatorRequest(group_id), 3)
            if answer.error_code:
                self.run(100)
                return False
            host = self.host(answer.node_id, group_id)
            return host is not None and host.shard is not None

        self.run_until(is_found)
        return int(answer.node_id)

    def groups(self, broker: int) -> GroupCoordinator:
        """Return a broker's group coordinator."""
        role = self.network.hosts[broker].running.broker
        assert role is not None
        return role.groups

    def host(self, broker: int, group_id: str) -> HostedShard | None:
        """Return a broker's hosted shard for a group, if it leads it."""
        return self.groups(broker).hosts.get(self.partition_of(group_id))

    def ask(self, group_id: str, request: WireMessage, version: int, *, broker: int | None = None) -> Any:
        """Send a request to the coordinator of a group, or to another broker."""
        return self.client(self.coordinator(group_id) if broker is None else broker).ask(request, version)

    def commit(
        self, group_id: str, offsets: Mapping[tuple[str, int], int], *, version: int = 8, **how: Any
    ) -> dict[tuple[str, int], ErrorCode]:
        """Commit offsets of a group without members; return the errors."""
        answer = self.ask(group_id, commit_request(group_id, offsets), version, **how)
        return commit_errors(answer)

    def fetch_offsets(self, group_id: str, **how: Any) -> dict[tuple[str, int], int] | ErrorCode:
        """Return all offsets of a group, or its error."""
        request = OffsetFetchRequest(groups=[fetches.OffsetFetchRequestGroup(group_id, topics=None)])
        (group,) = self.ask(group_id, request, 8, **how).groups
        if group.error_code:
            return ErrorCode(group.error_code)
        return {
            (topic.name, each.partition_index): each.committed_offset
            for topic in group.topics
            for each in topic.partitions
        }

    def move(self, group_id: str) -> int:
        """Kill the coordinator of a group; return the next one."""
        index = self.partition_of(group_id)
        old = self.coordinator(group_id)
        self.kill(old)
        others = [broker for broker in self.brokers if broker != old]
        self.wait_for_leader(CONSUMER_OFFSETS, *others, index=index)
        return self.coordinator(group_id)


def commit_request(group_id: str, offsets: Mapping[tuple[str, int], int]) -> OffsetCommitRequest:
    """Return an OffsetCommit request without a member."""
    topics: dict[str, list[commits.OffsetCommitRequestPartition]] = {}
    for (topic, index), offset in offsets.items():
        topics.setdefault(topic, []).append(commits.OffsetCommitRequestPartition(index, offset))
    return OffsetCommitRequest(
        group_id, topics=[commits.OffsetCommitRequestTopic(name, partitions=each) for name, each in topics.items()]
    )


def commit_errors(answer: Any) -> dict[tuple[str, int], ErrorCode]:
    """Return the errors of an OffsetCommitResponse."""
    return {
        (topic.name, each.partition_index): ErrorCode(each.error_code)
        for topic in answer.topics
        for each in topic.partitions
    }
