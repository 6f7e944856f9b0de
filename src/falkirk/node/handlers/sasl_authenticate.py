"""SaslAuthenticate (key 36), v0-2: a token of the mechanism that was agreed on. KIP-152, KIP-368.

Behaviour: what comes while a client authenticates never comes here (`node.authentication`). Here it is out of place:
ILLEGAL_SASL_STATE.
Version notes: v1 tells how long the session lasts; v2 is the first flexible version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.handlers.handler import Route
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import SaslAuthenticateResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: object, context: RequestContext, request: WireMessage) -> WireMessage:  # noqa: ARG001 - a Handler
    """Refuse it."""
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    )


ROUTE: Final = Route(api_key=36, handler=handle, needs_controller=False)
