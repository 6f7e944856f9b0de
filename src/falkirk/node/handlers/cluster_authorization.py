"""Requests that are allowed or refused as a whole, by an operation on the cluster."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.node.handlers.handler import NodeView
    from falkirk.protocol.schema import WireMessage

CLUSTER_NAME: Final = "kafka-cluster"
_CLUSTER: Final = 4  # ResourceType


class ClusterOperation(IntEnum):
    """Operations on the cluster, as AclOperation numbers them."""

    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9


def is_cluster_operation_allowed(view: NodeView, context: RequestContext, operation: ClusterOperation) -> bool:
    """Say whether whoever asks may do this with the cluster."""
    return view.authorizer.is_allowed(context, operation, _CLUSTER, CLUSTER_NAME)


def refusal(
    view: NodeView, context: RequestContext, request: WireMessage, operation: ClusterOperation
) -> WireMessage | None:
    """Give the answer CLUSTER_AUTHORIZATION_FAILED; None if the operation is allowed."""
    if is_cluster_operation_allowed(view, context, operation):
        return None
    return error_response(request, context.api_version, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
