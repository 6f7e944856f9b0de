"""SaslHandshake (key 17), v0-1: the mechanism that a client authenticates with. KIP-43, KIP-152.

Behaviour: requests of a client that authenticates never arrive here (`node.connections.authentication`). Any other is
out of place, on a listener without SASL or on an authenticated connection whose session does not expire:
ILLEGAL_SASL_STATE.
Version notes: after v0 tokens have no headers, after v1 they are SaslAuthenticate requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.handlers.parts.route import Route
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: object, context: RequestContext, request: SaslHandshakeRequest) -> WireMessage:  # noqa: ARG001 - a Handler
    """Refuse the request."""
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)


ROUTE: Final[Route[object, SaslHandshakeRequest]] = Route(object, SaslHandshakeRequest, handle)
