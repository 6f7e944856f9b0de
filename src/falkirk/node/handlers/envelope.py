"""Envelope (key 58), v0: a broker passes on a client's request to the active controller. KIP-590.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED. The request inside (header and body, as
the client sent them) is answered for the principal and address that the envelope names; what is wrong with that
request is told inside, what is wrong with the envelope (an API that may not be forwarded, a request or a principal
that cannot be read) or with its address (NOT_CONTROLLER: this is not the active controller) in its own error code.
Version notes: there is one.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.metadata.controller.request_context import Principal, RequestContext
from falkirk.node.handlers.cluster_authorization import refusal
from falkirk.node.handlers.handler import NodeView, Route, Unwrapped
from falkirk.protocol import codec
from falkirk.protocol.connection import RequestReceived, read_request, response_header
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import DefaultPrincipalData, EnvelopeRequest, EnvelopeResponse

if TYPE_CHECKING:
    from falkirk.protocol.schema import WireMessage

API_KEY: Final = 58


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage | Unwrapped:
    """Take the request out of its envelope."""
    assert isinstance(request, EnvelopeRequest)
    refused = refusal(view, context, request, AclOperation.CLUSTER_ACTION)
    if refused is not None:
        return refused
    if view.controller is None:
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


def wrap(request: RequestReceived, body: bytes) -> EnvelopeResponse:
    """Put the answer to the request inside, header and body, into an envelope."""
    return EnvelopeResponse(response_data=response_header(request) + body)


def read_principal(data: bytes | None) -> Principal | None:
    """Read a principal as DefaultKafkaPrincipalBuilder writes it; None if it is not one."""
    if data is None or data[:2] != _PRINCIPAL_VERSION:
        return None
    try:
        found = codec.decode(DefaultPrincipalData, 0, data[2:])
    except RemoteProtocolError:
        return None
    return Principal(found.type, found.name, found.token_authenticated)


def write_principal(principal: Principal) -> bytes:
    """Write a principal as DefaultKafkaPrincipalBuilder does."""
    data = DefaultPrincipalData(principal.type, principal.name, principal.is_token_authenticated)
    return _PRINCIPAL_VERSION + codec.encode(data, 0)


def _read_inner(view: NodeView, data: bytes) -> RequestReceived | ErrorCode:
    """Read the request's header. What cannot be read, or is not served, is an unsupported version, as in Kafka."""
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


_PRINCIPAL_VERSION: Final = b"\0\0"

ROUTE: Final = Route(api_key=API_KEY, handler=handle, needs_controller=False)
