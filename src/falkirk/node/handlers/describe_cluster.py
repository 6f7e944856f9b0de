"""DescribeCluster (key 60), v0-2: the nodes of the cluster. KIP-700, KIP-919, KIP-1073.

Behaviour: a broker returns the alive brokers that have the listener of the request; the controller is a random one of
them, as in Metadata. A controller returns the controllers that registered with the listener of the request, and the
quorum's leader; it needs ALTER on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED, though a broker needs nothing: Kafka does
the same. Below metadata.version 3.7-IV0, where controllers do not register, it is UNSUPPORTED_VERSION. A controller
that is not among the returned nodes is -1. MISMATCHED_ENDPOINT_TYPE when a broker is asked for controllers or a
controller for brokers, UNSUPPORTED_ENDPOINT_TYPE for other types. Authorized operations need DESCRIBE on CLUSTER, else
they are empty.
Version notes: v1 adds the endpoint type; before it only brokers can be asked for (INVALID_REQUEST for other types); v2
adds fenced brokers on request, which controllers do not return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.requests.api_error import ApiError
from falkirk.node.handlers.parts.authorized_operations import NOT_REQUESTED, authorized_cluster_operations
from falkirk.node.handlers.parts.broker_endpoints import NO_NODE, broker_endpoints
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import BrokerView, NodeView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import DescribeClusterRequest, DescribeClusterResponse
from falkirk.protocol.messages.describe_cluster_response import DescribeClusterBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

BROKER: Final = 1
"""The endpoint type of brokers."""
_CONTROLLER: Final = 2
_ENDPOINT_TYPES: Final = {BROKER: "BROKER", _CONTROLLER: "CONTROLLER"}


def handle(view: NodeView, context: RequestContext, request: DescribeClusterRequest) -> WireMessage:
    """Describe the nodes of the same kind as this one."""
    is_broker = isinstance(view, BrokerView)
    own = BROKER if is_broker else _CONTROLLER
    if not is_broker:
        error = _level_error(view)
        if error is not None:
            return error_response(request, context.api_version, *error)
        refused = refusal(view, context, request, AclOperation.ALTER)
        if refused is not None:
            return refused
    error = endpoint_error(context, request, own)
    if error is not None:
        return error_response(request, context.api_version, *error)
    leader_id = _random_broker(view, context) if is_broker else view.leader_id
    nodes = list(_brokers(view, context, request) if is_broker else _controllers(view, context.listener))
    leads = any(node.broker_id == leader_id for node in nodes)
    operations = NOT_REQUESTED
    if request.include_cluster_authorized_operations:
        operations = authorized_cluster_operations(view, context)
    return DescribeClusterResponse(
        endpoint_type=own,
        cluster_id=view.cluster_id,
        controller_id=leader_id if leads and leader_id is not None else NO_NODE,
        brokers=nodes,
        cluster_authorized_operations=operations,
    )


def _level_error(view: NodeView) -> ApiError | None:
    level = view.image.features.metadata_version
    if level is not None and level.controller_registration_supported:
        return None
    return ApiError(
        ErrorCode.UNSUPPORTED_VERSION,
        "Direct-to-controller communication is not supported with the current MetadataVersion.",
    )


def endpoint_error(context: RequestContext, request: DescribeClusterRequest, own: int) -> ApiError | None:
    """Return the error of a request for another endpoint type than `own`, that of this node; None for the same type."""
    wanted = _ENDPOINT_TYPES.get(request.endpoint_type)
    if request.endpoint_type == own:
        return None
    if wanted is None:
        code, message = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {request.endpoint_type}"
    else:
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        message = (
            f"The request was sent to an endpoint of type {_ENDPOINT_TYPES[own]}, but we wanted an endpoint of type "
            f"{wanted}"
        )
    return ApiError(ErrorCode.INVALID_REQUEST if context.api_version == 0 else code, message)


def _brokers(
    view: NodeView, context: RequestContext, request: DescribeClusterRequest
) -> Iterator[DescribeClusterBroker]:
    endpoints = broker_endpoints(view.image.cluster, context.listener)
    for broker in endpoints.all if request.include_fenced_brokers else endpoints.alive:
        described = DescribeClusterBroker(broker.broker_id, broker.host, broker.port, broker.rack)
        described.is_fenced = broker.is_fenced
        yield described


def _random_broker(view: NodeView, context: RequestContext) -> int:
    return broker_endpoints(view.image.cluster, context.listener).random_alive(view.random)


def _controllers(view: NodeView, listener: str) -> Iterator[DescribeClusterBroker]:
    for controller_id, controller in sorted(view.image.cluster.controllers.items()):
        for endpoint in controller.end_points:
            if endpoint.name == listener:
                yield DescribeClusterBroker(controller_id, endpoint.host, endpoint.port)


ROUTE: Final[Route[NodeView, DescribeClusterRequest]] = Route(NodeView, DescribeClusterRequest, handle)
