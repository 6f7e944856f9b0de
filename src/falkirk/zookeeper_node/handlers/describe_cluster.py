"""DescribeCluster (key 60), v0-1: the brokers and the controller of a cluster on ZooKeeper. KIP-700, KIP-919.

Behaviour: told are the brokers that are registered as far as this node knows, with the listener where the request came
in. The controller is the one that is elected; one that is not among those told of is -1. The operations that the asker
is allowed are told to who has DESCRIBE on CLUSTER, others are told none. MISMATCHED_ENDPOINT_TYPE for who asks for
controllers, UNSUPPORTED_ENDPOINT_TYPE for anything else.
Version notes: v1 adds the endpoint type, before which only brokers can be asked for (INVALID_REQUEST of anything else).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.handlers.describe_cluster import BROKER, endpoint_error
from falkirk.node.handlers.parts.authorized_operations import NOT_REQUESTED, authorized_cluster_operations
from falkirk.node.handlers.parts.broker_endpoints import NO_NODE
from falkirk.node.handlers.parts.route import Route
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import DescribeClusterRequest, DescribeClusterResponse
from falkirk.protocol.messages.describe_cluster_response import DescribeClusterBroker
from falkirk.zookeeper_node.handlers.broker_nodes import broker_nodes
from falkirk.zookeeper_node.handlers.zookeeper_view import ZooKeeperView

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: ZooKeeperView, context: RequestContext, request: DescribeClusterRequest) -> WireMessage:
    """Describe the brokers."""
    error = endpoint_error(context, request, BROKER)
    if error is not None:
        return error_response(request, context.api_version, *error)
    brokers = [DescribeClusterBroker(*broker) for broker in broker_nodes(view, context.listener)]
    is_listed = any(broker.broker_id == view.controller_id for broker in brokers)
    operations = NOT_REQUESTED
    if request.include_cluster_authorized_operations:
        operations = authorized_cluster_operations(view, context)
    return DescribeClusterResponse(
        endpoint_type=BROKER,
        cluster_id=view.cluster_id,
        controller_id=view.controller_id if is_listed else NO_NODE,
        brokers=brokers,
        cluster_authorized_operations=operations,
    )


ROUTE: Final[Route[ZooKeeperView, DescribeClusterRequest]] = Route(ZooKeeperView, DescribeClusterRequest, handle)
