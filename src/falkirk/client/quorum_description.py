"""The replicas of the metadata log, as the active controller describes them (KIP-595)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from falkirk.protocol.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.protocol.messages.describe_quorum_response import Node, PartitionData


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumDescription:
    """Log end offsets by node id, as of each replica's last fetch.

    `voter_endpoints`: the first listener of each voter, as far as it is known; servers before 3.9 report none.
    `voter_directory_ids`: those that are known; all zeros where voters are static.
    """

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: Mapping[int, int]
    observers: Mapping[int, int]
    voter_endpoints: Mapping[int, Endpoint]
    voter_directory_ids: Mapping[int, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, partition: PartitionData, nodes: Iterable[Node]) -> QuorumDescription:
        """Convert a response without an error."""
        return cls(
            leader_id=partition.leader_id,
            leader_epoch=partition.leader_epoch,
            high_watermark=partition.high_watermark,
            voters={replica.replica_id: replica.log_end_offset for replica in partition.current_voters},
            observers={replica.replica_id: replica.log_end_offset for replica in partition.observers},
            voter_endpoints={
                node.node_id: Endpoint(node.listeners[0].host, node.listeners[0].port)
                for node in nodes
                if node.listeners
            },
            voter_directory_ids={
                replica.replica_id: replica.replica_directory_id for replica in partition.current_voters
            },
        )
