"""Which replica a consumer had better read from (KIP-392)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from falkirk.metadata.image.cluster import ClusterImage
    from falkirk.node.replication.partition import Partition

RACK_AWARE: Final = frozenset(
    (
        "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "RackAwareReplicaSelector",
    )
)
"""Names under which replica.selector.class asks for it."""

NO_PREFERENCE: Final = -1


def preferred_read_replica(partition: Partition, cluster: ClusterImage, *, rack: str, fetch_offset: int) -> int:
    """Give the in-sync follower in the consumer's rack that is furthest and has the offset; -1: stay with the leader.

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
