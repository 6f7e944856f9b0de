"""RenewDelegationToken (key 39), v0-2: extend the life of a token. KIP-48, KIP-900.

Behaviour: for the token's owner and its renewers; not over PLAINTEXT, nor for a client that authenticated with a token.
Served by the active controller, from metadata.version 3.6-IV2 on, where a secret key is configured.
Version notes: v2 is the first flexible version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.token_authorization import may_use_tokens
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import RenewDelegationTokenRequest, RenewDelegationTokenResponse

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

_NO_TIMESTAMP: Final = -1


def handle(
    view: ControllerView, context: RequestContext, request: RenewDelegationTokenRequest
) -> WireMessage | ControllerResult[WireMessage]:
    """Change when the token expires."""
    if not may_use_tokens(context):
        return RenewDelegationTokenResponse(
            error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, expiry_timestamp_ms=_NO_TIMESTAMP
        )
    result = view.controller.delegation_tokens.renew_token(
        context.principal, request.hmac, renew_period_ms=request.renew_period_ms, now_ms=view.now_ms
    )
    expiry = result.response
    return ControllerResult(
        result.records,
        RenewDelegationTokenResponse(error_code=expiry.error_code, expiry_timestamp_ms=expiry.expiry_timestamp_ms),
    )


ROUTE: Final[Route[ControllerView, RenewDelegationTokenRequest]] = Route(
    ControllerView, RenewDelegationTokenRequest, handle
)
