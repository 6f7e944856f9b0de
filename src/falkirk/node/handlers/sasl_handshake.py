"""SaslHandshake (key 17), v0-1: which mechanism a client authenticates with. KIP-43, KIP-152.

Behaviour: what comes while a client authenticates never comes here (`node.authentication`). Here it is out of place:
on a listener without SASL, or on a connection that is authenticated and has no end of its session: ILLEGAL_SASL_STATE.
Version notes: behind v0 tokens have no headers, behind v1 they are SaslAuthenticate requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.handlers.handler import Route
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import SaslHandshakeResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: object, context: RequestContext, request: WireMessage) -> WireMessage:  # noqa: ARG001 - a Handler
    """Refuse it."""
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)


ROUTE: Final = Route(api_key=17, handler=handle, needs_controller=False)
