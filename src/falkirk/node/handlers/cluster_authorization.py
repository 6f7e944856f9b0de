"""Requests that are allowed or refused as a whole, by an operation on the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.acl_types import CLUSTER_NAME, ResourceType
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response

if TYPE_CHECKING:
    from falkirk.metadata.acl_types import AclOperation
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.node.handlers.handler import NodeView
    from falkirk.protocol.schema import WireMessage


def is_cluster_operation_allowed(view: NodeView, context: RequestContext, operation: AclOperation) -> bool:
    """Say whether whoever asks may do this with the cluster."""
    return view.authorizer.is_allowed(context, operation, ResourceType.CLUSTER, CLUSTER_NAME)


def refusal(
    view: NodeView, context: RequestContext, request: WireMessage, operation: AclOperation
) -> WireMessage | None:
    """Give the answer CLUSTER_AUTHORIZATION_FAILED; None if the operation is allowed."""
    if is_cluster_operation_allowed(view, context, operation):
        return None
    return error_response(request, context.api_version, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
