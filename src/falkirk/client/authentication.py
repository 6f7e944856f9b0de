"""Saying who we are where a node asks for SASL (KIP-43, KIP-152)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from falkirk.client.errors import NotAuthenticatedError
from falkirk.protocol.error_codes import ErrorCode, error_name
from falkirk.protocol.messages import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from falkirk.protocol.sasl.errors import AuthenticationFailedError
from falkirk.versions.negotiation import highest_usable
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.client.channel import Channel
    from falkirk.protocol.sasl.login import Login

# Below 1 tokens have no headers, as servers before 1.0 wanted them.
_HANDSHAKE: Final = SupportedRange(1, 1)
_AUTHENTICATE: Final = SupportedRange(0, 2)


async def authenticate(channel: Channel, login: Login, offered: Mapping[int, SupportedRange]) -> int | None:
    """Authenticate; give how long the session lasts (ms), None: as long as the connection.

    Raises NotAuthenticatedError, or as `Channel.ask`.
    """
    handshake_version = highest_usable(_HANDSHAKE, offered.get(17))
    version = highest_usable(_AUTHENTICATE, offered.get(36))
    if handshake_version is None or version is None:
        raise NotAuthenticatedError(channel.endpoint, "the node does not offer what SASL needs")
    handshake = await channel.ask(SaslHandshakeRequest(login.mechanism), handshake_version)
    assert isinstance(handshake, SaslHandshakeResponse)
    if handshake.error_code:
        raise NotAuthenticatedError(channel.endpoint, _why_no_handshake(handshake, login.mechanism))
    client = login.start(random.SystemRandom())
    token: bytes | None = client.first()
    lifetime_ms = 0
    while token is not None:
        answer = await channel.ask(SaslAuthenticateRequest(token), version)
        assert isinstance(answer, SaslAuthenticateResponse)
        if answer.error_code:
            raise NotAuthenticatedError(channel.endpoint, answer.error_message or error_name(answer.error_code))
        try:
            token = client.evaluate(bytes(answer.auth_bytes))
        except AuthenticationFailedError as error:
            raise NotAuthenticatedError(channel.endpoint, error.reason) from error
        lifetime_ms = answer.session_lifetime_ms
    return lifetime_ms or None


def _why_no_handshake(answer: SaslHandshakeResponse, mechanism: str) -> str:
    if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        return f"the node has no {mechanism}, but {', '.join(answer.mechanisms)}"
    if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        return "the node does not want SASL"
    return error_name(answer.error_code)
