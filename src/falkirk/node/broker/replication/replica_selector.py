"""The replica that a consumer should read from (KIP-392)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from falkirk.metadata.image.cluster import ClusterImage
    from falkirk.node.broker.replication.hosted_partition import HostedPartition

RACK_AWARE: Final = frozenset(
    (
        "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "RackAwareReplicaSelector",
    )
)
"""Values of replica.selector.class that select it."""

NO_PREFERENCE: Final = -1


def preferred_read_replica(partition: HostedPartition, cluster: ClusterImage, *, rack: str, fetch_offset: int) -> int:
    """Return the in-sync follower in the consumer's rack with most records that has the offset; -1: the leader.

    Source: RackAwareReplicaSelector, ReplicaManager.findPreferredReadReplica.
    """
    if not rack:
        return NO_PREFERENCE
    leader = cluster.brokers.get(partition.leader_id)
    if leader is None or leader.rack == rack:
        return NO_PREFERENCE
    near = [
        replica
        for replica in partition.remote_replicas.values()
        if replica.broker_id in partition.isr.committed
        and replica.log_start_offset <= fetch_offset <= replica.log_end_offset
        and (broker := cluster.brokers.get(replica.broker_id)) is not None
        and not broker.fenced
        and broker.rack == rack
    ]
    if not near:
        return NO_PREFERENCE
    return max(near, key=lambda one: (one.log_end_offset, one.last_caught_up_ms, one.broker_id)).broker_id
