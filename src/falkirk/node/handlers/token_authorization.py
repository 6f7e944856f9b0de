"""Who may ask about delegation tokens at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.request_context import Principal
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import (
    CreateDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

_ANONYMOUS = "ANONYMOUS"
_TOKEN_REQUESTS = (CreateDelegationTokenRequest, RenewDelegationTokenRequest, ExpireDelegationTokenRequest)


def may_use_tokens(context: RequestContext) -> bool:
    """Say whether tokens may be spoken of here: to who has proved who he is, and not by a token (KIP-48).

    Of a forwarded request the broker has looked at the protocol: `refused_before_forwarding`.
    """
    protocol, principal = context.security_protocol, context.principal
    if principal.is_token_authenticated:
        return False
    if context.is_forwarded:
        return True
    return protocol != "PLAINTEXT" and not (protocol == "SSL" and principal.name == _ANONYMOUS)


def refused_before_forwarding(context: RequestContext, request: WireMessage) -> WireMessage | None:
    """Give a broker's own answer to who may not speak of tokens: the controller does not know how a client came."""
    if not isinstance(request, _TOKEN_REQUESTS) or may_use_tokens(context):
        return None
    return error_response(request, context.api_version, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


def parse_principal(text: str) -> Principal:
    """Read a principal as records have it, `User:alice`."""
    kind, _, name = text.partition(":")
    return Principal(kind, name)
