"""Envelopes, in which brokers forward clients' requests to the active controller, and principals in them (KIP-590)."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from falkirk.metadata.requests.request_context import Principal
from falkirk.protocol import codec
from falkirk.protocol.connection import RequestReceived, response_header
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import DefaultPrincipalData, EnvelopeRequest, EnvelopeResponse

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext

_PRINCIPAL_VERSION: Final = b"\0\0"


def client_envelope(frame: bytes, context: RequestContext) -> EnvelopeRequest:
    """Return an envelope with a request, header and body, in the name of the client of `context`."""
    address = ip_address(context.client_host.partition("%")[0]).packed
    return EnvelopeRequest(frame, write_principal(context.principal), address)


def envelope_response(request: RequestReceived, body: bytes) -> EnvelopeResponse:
    """Return the response to an envelope, which holds header and body of the response to the request inside."""
    return EnvelopeResponse(response_data=response_header(request) + body)


def read_principal(data: bytes | None) -> Principal | None:
    """Return a principal as DefaultKafkaPrincipalBuilder writes it; None if `data` is not one."""
    if data is None or data[:2] != _PRINCIPAL_VERSION:
        return None
    try:
        found = codec.decode(DefaultPrincipalData, 0, data[2:])
    except RemoteProtocolError:
        return None
    return Principal(found.type, found.name, found.token_authenticated)


def write_principal(principal: Principal) -> bytes:
    """Return a principal as DefaultKafkaPrincipalBuilder writes it."""
    data = DefaultPrincipalData(principal.type, principal.name, principal.is_token_authenticated)
    return _PRINCIPAL_VERSION + codec.encode(data, 0)
