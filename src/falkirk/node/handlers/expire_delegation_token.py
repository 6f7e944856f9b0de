"""ExpireDelegationToken (key 40), v0-2: let a token expire earlier, or at once. KIP-48, KIP-900.

Behaviour: for the token's owner and its renewers; not over PLAINTEXT, nor for a client that authenticated with a token.
Served by the active controller, from metadata.version 3.6-IV2 on, where a secret key is configured. A negative period
expires it now.
Version notes: v2 is the first flexible version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.token_authorization import may_use_tokens
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

_NO_TIMESTAMP: Final = -1


def handle(
    view: ControllerView, context: RequestContext, request: ExpireDelegationTokenRequest
) -> WireMessage | ControllerResult[WireMessage]:
    """Change when the token expires."""
    if not may_use_tokens(context):
        return ExpireDelegationTokenResponse(
            error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, expiry_timestamp_ms=_NO_TIMESTAMP
        )
    result = view.controller.delegation_tokens.expire_token(
        context.principal, request.hmac, expiry_time_period_ms=request.expiry_time_period_ms, now_ms=view.now_ms
    )
    expiry = result.response
    return ControllerResult(
        result.records,
        ExpireDelegationTokenResponse(error_code=expiry.error_code, expiry_timestamp_ms=expiry.expiry_timestamp_ms),
    )


ROUTE: Final[Route[ControllerView, ExpireDelegationTokenRequest]] = Route(
    ControllerView, ExpireDelegationTokenRequest, handle
)
