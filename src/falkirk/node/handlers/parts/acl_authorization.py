"""Authorization of requests about ACLs, as a whole; they need an authorizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.node.handlers.parts.cluster_authorization import refusal as cluster_refusal
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response

if TYPE_CHECKING:
    from falkirk.metadata.acls.acl_types import AclOperation
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.view import NodeView
    from falkirk.protocol.schema import WireMessage


def refusal(
    view: NodeView, context: RequestContext, request: WireMessage, operation: AclOperation
) -> WireMessage | None:
    """Return the response that refuses the request; None if the operation is allowed and there is an authorizer."""
    refused = cluster_refusal(view, context, request, operation)
    if refused is None and not view.authorizer.is_configured:
        message = "No authorizer is configured."
        return error_response(request, context.api_version, ErrorCode.SECURITY_DISABLED, message)
    return refused
