"""DescribeCluster (key 60), v0-2: who is in the cluster. KIP-700, KIP-919, KIP-1073.

Behaviour: a controller tells of the controllers that registered with the listener where the request came in, and
which of them leads the quorum (-1 if that one is not among them). It needs ALTER on CLUSTER, else
CLUSTER_AUTHORIZATION_FAILED, though a broker needs nothing: so it is in Kafka. UNSUPPORTED_VERSION below
metadata.version 3.7-IV0, where controllers do not register; MISMATCHED_ENDPOINT_TYPE for who asks for brokers,
UNSUPPORTED_ENDPOINT_TYPE for anything else. The operations that the asker is allowed are told to who has DESCRIBE on
CLUSTER, others are told none.
Version notes: v1 adds the endpoint type, before which only brokers can be asked for (INVALID_REQUEST); v2 fenced
brokers, which controllers have nothing to say of.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import CLUSTER_NAME, AclOperation, ResourceType
from falkirk.metadata.controller.api_error import ApiError
from falkirk.node.handlers.cluster_authorization import is_cluster_operation_allowed, refusal
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import DescribeClusterRequest, DescribeClusterResponse
from falkirk.protocol.messages.describe_cluster_response import DescribeClusterBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

_ENDPOINT_TYPES: Final = {1: "BROKER", 2: "CONTROLLER"}
_CONTROLLER: Final = 2
_OPERATIONS: Final = (
    AclOperation.CREATE,
    AclOperation.ALTER,
    AclOperation.DESCRIBE,
    AclOperation.CLUSTER_ACTION,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
    AclOperation.IDEMPOTENT_WRITE,
)
"""What may be done with a cluster."""
_NOT_ASKED_FOR: Final = -(2**31)


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage:
    """Describe the controllers."""
    assert isinstance(request, DescribeClusterRequest)
    error = _level_error(view)
    if error is None:
        refused = refusal(view, context, request, AclOperation.ALTER)
        if refused is not None:
            return refused
        error = _endpoint_error(context, request)
    if error is not None:
        return error_response(request, context.api_version, *error)
    controllers = list(_controllers(view, context.listener))
    leads = any(controller.broker_id == view.leader_id for controller in controllers)
    return DescribeClusterResponse(
        endpoint_type=_CONTROLLER,
        cluster_id=view.cluster_id,
        controller_id=view.leader_id if leads and view.leader_id is not None else -1,
        brokers=controllers,
        cluster_authorized_operations=_authorized_operations(view, context, request),
    )


def _level_error(view: NodeView) -> ApiError | None:
    level = view.image.features.metadata_version
    if level is not None and level.controller_registration_supported:
        return None
    return ApiError(
        ErrorCode.UNSUPPORTED_VERSION,
        "Direct-to-controller communication is not supported with the current MetadataVersion.",
    )


def _endpoint_error(context: RequestContext, request: DescribeClusterRequest) -> ApiError | None:
    wanted = _ENDPOINT_TYPES.get(request.endpoint_type)
    if request.endpoint_type == _CONTROLLER:
        return None
    if wanted is None:
        code, message = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {request.endpoint_type}"
    else:
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        message = (
            f"The request was sent to an endpoint of type {_ENDPOINT_TYPES[_CONTROLLER]}, but we wanted an endpoint "
            f"of type {wanted}"
        )
    return ApiError(ErrorCode.INVALID_REQUEST if context.api_version == 0 else code, message)


def _controllers(view: NodeView, listener: str) -> Iterator[DescribeClusterBroker]:
    for controller_id, controller in sorted(view.image.cluster.controllers.items()):
        for endpoint in controller.end_points:
            if endpoint.name == listener:
                yield DescribeClusterBroker(controller_id, endpoint.host, endpoint.port)


def _authorized_operations(view: NodeView, context: RequestContext, request: DescribeClusterRequest) -> int:
    """Give a bit for each operation, by its number."""
    if not request.include_cluster_authorized_operations:
        return _NOT_ASKED_FOR
    if not is_cluster_operation_allowed(view, context, AclOperation.DESCRIBE):
        return 0
    may = partial(view.authorizer.is_allowed, context)
    return sum(1 << operation for operation in _OPERATIONS if may(operation, ResourceType.CLUSTER, CLUSTER_NAME))


ROUTE: Final = Route(api_key=60, handler=handle, needs_controller=False)
