"""Which clients may use the APIs of delegation tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import (
    CreateDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

_ANONYMOUS = "ANONYMOUS"
_TOKEN_REQUESTS = (CreateDelegationTokenRequest, RenewDelegationTokenRequest, ExpireDelegationTokenRequest)


def may_use_tokens(context: RequestContext) -> bool:
    """Return whether the client has authenticated, and not with a token (KIP-48).

    For a forwarded request the broker has checked the protocol: `refused_before_forwarding`.
    """
    protocol, principal = context.security_protocol, context.principal
    if principal.is_token_authenticated:
        return False
    if context.is_forwarded:
        return True
    return protocol != "PLAINTEXT" and not (protocol == "SSL" and principal.name == _ANONYMOUS)


def refused_before_forwarding(context: RequestContext, request: WireMessage) -> WireMessage | None:
    """Return a broker's refusal for clients that may not use tokens: the controller does not know their protocol."""
    if not isinstance(request, _TOKEN_REQUESTS) or may_use_tokens(context):
        return None
    return error_response(request, context.api_version, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
