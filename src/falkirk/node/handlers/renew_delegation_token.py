"""RenewDelegationToken (key 39), v0-2: let a token live on. KIP-48, KIP-900.

Behaviour: for the token's owner and its renewers; not over PLAINTEXT, nor by a token. Served by the active controller,
from metadata.version 3.6-IV2 on, where a secret key is configured.
Version notes: v2 is the first flexible version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.result import ControllerResult
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.node.handlers.token_authorization import may_use_tokens
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import RenewDelegationTokenRequest, RenewDelegationTokenResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(
    view: NodeView, context: RequestContext, request: WireMessage
) -> WireMessage | ControllerResult[WireMessage]:
    """Change when the token expires."""
    assert isinstance(request, RenewDelegationTokenRequest)
    assert view.controller is not None
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


_NO_TIMESTAMP: Final = -1

ROUTE: Final = Route(api_key=39, handler=handle, needs_controller=True)
