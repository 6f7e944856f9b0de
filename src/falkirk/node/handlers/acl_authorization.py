"""Requests about ACLs: refused as a whole without the right, or where there is no authorizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.node.handlers.cluster_authorization import refusal as cluster_refusal
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response

if TYPE_CHECKING:
    from falkirk.metadata.acl_types import AclOperation
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.node.handlers.handler import NodeView
    from falkirk.protocol.schema import WireMessage


def refusal(
    view: NodeView, context: RequestContext, request: WireMessage, operation: AclOperation
) -> WireMessage | None:
    """Give the answer that refuses all; None if the operation on the cluster is allowed and ACLs are kept."""
    refused = cluster_refusal(view, context, request, operation)
    if refused is None and not view.authorizer.is_configured:
        message = "No authorizer is configured."
        return error_response(request, context.api_version, ErrorCode.SECURITY_DISABLED, message)
    return refused
