"""Who may ask about delegation tokens at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.request_context import Principal

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext

_ANONYMOUS = "ANONYMOUS"


def may_use_tokens(context: RequestContext) -> bool:
    """Say whether tokens may be spoken of here: to who has proved who he is, and not by a token (KIP-48).

    Of a forwarded request the protocol is that of the controller's listener, as in Kafka.
    """
    protocol, principal = context.security_protocol, context.principal
    if principal.is_token_authenticated or protocol == "PLAINTEXT":
        return False
    return not (protocol == "SSL" and principal.name == _ANONYMOUS)


def parse_principal(text: str) -> Principal:
    """Read a principal as records have it, `User:alice`."""
    kind, _, name = text.partition(":")
    return Principal(kind, name)
