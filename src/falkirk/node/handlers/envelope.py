"""Envelope (key 58), v0: a broker forwards a client's request to the active controller. KIP-590.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED. The request inside (header and body, as
the client sent them) is handled for the principal and address that the envelope names, and its errors are in the
response inside. The envelope's own error code reports a node that is not the active controller (NOT_CONTROLLER), an API
that may not be forwarded, and a request or principal that cannot be read.
Version notes: there is one.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.requests.request_context import RequestContext
from falkirk.node.connections.envelopes import read_principal
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.handler_result import Unwrapped
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import ControllerView, NodeView
from falkirk.protocol.connection import RequestReceived, read_request
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import EnvelopeRequest, EnvelopeResponse

if TYPE_CHECKING:
    from falkirk.protocol.schema import WireMessage


def handle(view: NodeView, context: RequestContext, request: EnvelopeRequest) -> WireMessage | Unwrapped:
    """Return the request inside."""
    refused = refusal(view, context, request, AclOperation.CLUSTER_ACTION)
    if refused is not None:
        return refused
    if not isinstance(view, ControllerView):
        return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
    principal = read_principal(request.request_principal)
    if principal is None:
        return EnvelopeResponse(error_code=ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE)
    client_host = _read_address(request.client_host_address)
    if client_host is None:
        return EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
    inner = _read_inner(view, request.request_data)
    if isinstance(inner, ErrorCode):
        return EnvelopeResponse(error_code=inner)
    return Unwrapped(
        inner,
        RequestContext(
            api_key=inner.api_key,
            api_version=inner.api_version,
            client_id=inner.client_id,
            principal=principal,
            client_host=client_host,
            listener=context.listener,
            security_protocol=context.security_protocol,
            is_forwarded=True,
        ),
    )


def _read_inner(view: NodeView, data: bytes) -> RequestReceived | ErrorCode:
    """Read the request inside, header first. Unreadable and unserved ones are UNSUPPORTED_VERSION, as in Kafka."""
    try:
        inner = read_request(data, view.api_ranges)
    except (RemoteProtocolError, KeyError):
        return ErrorCode.UNSUPPORTED_VERSION
    api = view.release.apis.get(inner.api_key)
    if api is not None and not api.forwardable:
        return ErrorCode.INVALID_REQUEST
    return inner if isinstance(inner, RequestReceived) else ErrorCode.UNSUPPORTED_VERSION


def _read_address(data: bytes) -> str | None:
    try:
        return str(ip_address(data))
    except ValueError:
        return None


ROUTE: Final[Route[NodeView, EnvelopeRequest]] = Route(NodeView, EnvelopeRequest, handle)
