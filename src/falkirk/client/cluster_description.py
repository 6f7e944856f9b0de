"""The nodes of a cluster, as one of them reports them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.protocol.endpoint import Endpoint

if TYPE_CHECKING:
    from falkirk.protocol.messages import DescribeClusterResponse, MetadataResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNode:
    """A broker or a controller, at its advertised address.

    `is_fenced`: a broker that is registered and not in service; listed only on request.
    """

    node_id: int
    endpoint: Endpoint
    rack: str | None = None
    is_fenced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDescription:
    """Nodes by rising id. `controller_id`: the active controller, or the broker that forwards requests to it.

    `authorized_operations`: on the cluster, one bit for each by its number in ACLs; 0 without DESCRIBE (KIP-430). None
    for what the node does not know, is too old to report, or was not asked.
    """

    cluster_id: str | None
    controller_id: int | None
    nodes: tuple[ClusterNode, ...]
    authorized_operations: int | None = None

    def node(self, node_id: int | None) -> ClusterNode | None:
        """Return a node; None if the cluster does not have it."""
        return next((node for node in self.nodes if node.node_id == node_id), None)

    @classmethod
    def of_describe_cluster(cls, response: DescribeClusterResponse) -> ClusterDescription:
        """Convert a response without an error."""
        nodes = (
            ClusterNode(
                node_id=each.broker_id,
                endpoint=Endpoint(each.host, each.port),
                rack=each.rack,
                is_fenced=each.is_fenced,
            )
            for each in response.brokers
        )
        return cls(
            cluster_id=response.cluster_id,
            controller_id=_known(response.controller_id),
            nodes=tuple(sorted(nodes, key=lambda node: node.node_id)),
            authorized_operations=_known(response.cluster_authorized_operations),
        )

    @classmethod
    def of_metadata(cls, response: MetadataResponse) -> ClusterDescription:
        """Convert the response of a broker that is too old for DescribeCluster (before 2.8)."""
        nodes = (
            ClusterNode(node_id=each.node_id, endpoint=Endpoint(each.host, each.port), rack=each.rack)
            for each in response.brokers
        )
        return cls(
            cluster_id=response.cluster_id,
            controller_id=_known(response.controller_id),
            nodes=tuple(sorted(nodes, key=lambda node: node.node_id)),
        )


def _known(number: int) -> int | None:
    return None if number < 0 else number
