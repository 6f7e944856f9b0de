"""ExpireDelegationToken (key 40), v0-2: let a token expire earlier, or at once. KIP-48, KIP-900.

Behaviour: for the token's owner and its renewers; not over PLAINTEXT, nor by a token. Served by the active controller,
from metadata.version 3.6-IV2 on, where a secret key is configured. A negative period ends it now.
Version notes: v2 is the first flexible version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.result import ControllerResult
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.node.handlers.token_authorization import may_use_tokens
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(
    view: NodeView, context: RequestContext, request: WireMessage
) -> WireMessage | ControllerResult[WireMessage]:
    """Change when the token expires."""
    assert isinstance(request, ExpireDelegationTokenRequest)
    assert view.controller is not None
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


_NO_TIMESTAMP: Final = -1

ROUTE: Final = Route(api_key=40, handler=handle, needs_controller=True)
