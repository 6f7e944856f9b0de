"""SaslAuthenticate (key 36), v0-2: a token of the negotiated mechanism. KIP-152, KIP-368.

Behaviour: requests of a client that authenticates never arrive here (`node.connections.authentication`). Any other is
out of place: ILLEGAL_SASL_STATE.
Version notes: v1 adds the session lifetime; v2 is the first flexible version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.handlers.parts.route import Route
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import SaslAuthenticateRequest, SaslAuthenticateResponse

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: object, context: RequestContext, request: SaslAuthenticateRequest) -> WireMessage:  # noqa: ARG001 - a Handler
    """Refuse the request."""
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    )


ROUTE: Final[Route[object, SaslAuthenticateRequest]] = Route(object, SaslAuthenticateRequest, handle)
