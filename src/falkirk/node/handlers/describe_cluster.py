"""DescribeCluster (key 60), v0-2: who is in the cluster. KIP-700, KIP-919, KIP-1073.

Behaviour: a broker tells of the brokers that are alive and have the listener where the request came in; the controller
is any of the brokers that are alive, as in Metadata. A controller tells of the controllers that registered with the
listener where the request came in, and which of them leads the quorum; it needs ALTER on CLUSTER, else
CLUSTER_AUTHORIZATION_FAILED, though a broker needs nothing: so it is in Kafka. It is UNSUPPORTED_VERSION below
metadata.version 3.7-IV0, where controllers do not register. A controller that is not among those told of is -1.
MISMATCHED_ENDPOINT_TYPE for who asks a broker for controllers or a controller for brokers, UNSUPPORTED_ENDPOINT_TYPE
for anything else. The operations that the asker is allowed are told to who has DESCRIBE on CLUSTER, others are told
none.
Version notes: v1 adds the endpoint type, before which only brokers can be asked for (INVALID_REQUEST of anything else);
v2 tells fenced brokers, too, if that is asked for; controllers have nothing to say of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.metadata.controller.api_error import ApiError
from falkirk.node.handlers.authorized_operations import NOT_ASKED_FOR, authorized_cluster_operations
from falkirk.node.handlers.broker_endpoints import NO_NODE, broker_endpoints
from falkirk.node.handlers.cluster_authorization import refusal
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import DescribeClusterRequest, DescribeClusterResponse
from falkirk.protocol.messages.describe_cluster_response import DescribeClusterBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

BROKER: Final = 1
"""The endpoint type of brokers."""
_CONTROLLER: Final = 2
_ENDPOINT_TYPES: Final = {BROKER: "BROKER", _CONTROLLER: "CONTROLLER"}


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage:
    """Describe the nodes of the kind that this one is."""
    assert isinstance(request, DescribeClusterRequest)
    own = BROKER if view.is_broker else _CONTROLLER
    if not view.is_broker:
        error = _level_error(view)
        if error is not None:
            return error_response(request, context.api_version, *error)
        refused = refusal(view, context, request, AclOperation.ALTER)
        if refused is not None:
            return refused
    error = endpoint_error(context, request, own)
    if error is not None:
        return error_response(request, context.api_version, *error)
    leader_id = _random_broker(view, context) if view.is_broker else view.leader_id
    nodes = list(_brokers(view, context, request) if view.is_broker else _controllers(view, context.listener))
    leads = any(node.broker_id == leader_id for node in nodes)
    operations = NOT_ASKED_FOR
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
    """Say what is wrong with asking a node of the kind `own` for what is asked for."""
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
        told = DescribeClusterBroker(broker.broker_id, broker.host, broker.port, broker.rack)
        told.is_fenced = broker.is_fenced
        yield told


def _random_broker(view: NodeView, context: RequestContext) -> int:
    assert view.random is not None, "a node has its chance"
    return broker_endpoints(view.image.cluster, context.listener).random_alive(view.random)


def _controllers(view: NodeView, listener: str) -> Iterator[DescribeClusterBroker]:
    for controller_id, controller in sorted(view.image.cluster.controllers.items()):
        for endpoint in controller.end_points:
            if endpoint.name == listener:
                yield DescribeClusterBroker(controller_id, endpoint.host, endpoint.port)


ROUTE: Final = Route(api_key=60, handler=handle, needs_controller=False)
