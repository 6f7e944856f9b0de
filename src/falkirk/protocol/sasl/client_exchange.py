"""SASL authentication on the client's side: requests out, responses in (KIP-43, KIP-152, KIP-368).

    step = exchange.begin()
    while isinstance(step, NextRequest):
        step = exchange.receive(response_to(step.message, step.version))

Source: SaslClientAuthenticator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode, error_name
from falkirk.protocol.messages import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from falkirk.protocol.sasl.errors import AuthenticationFailedError

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.sasl.login import Login
    from falkirk.protocol.schema import WireMessage


# Below 1 tokens have no headers, as servers before 1.0 wanted them. The highest first.
_HANDSHAKE_VERSIONS: Final = (1,)
_AUTHENTICATE_VERSIONS: Final = (2, 1, 0)
_SASL_HANDSHAKE: Final = 17
_SASL_AUTHENTICATE: Final = 36
# When in a session's life a client authenticates anew: so that not all do at once, and none comes too late.
_REAUTHENTICATE_FROM: Final = 0.85
_REAUTHENTICATE_WITHIN: Final = 0.10


@dataclass(frozen=True, slots=True)
class NextRequest:
    """The request to send next, and its version."""

    message: "WireMessage"
    version: int


@dataclass(frozen=True, slots=True)
class SaslSession:
    """Authenticated. `reauthenticate_after_ms`: when another exchange is due; None: the session does not end."""

    reauthenticate_after_ms: int | None


@dataclass(frozen=True, slots=True)
class SaslRefusal:
    """The server refused the credentials, or could not prove that it knows them."""

    reason: str


SaslStep = NextRequest | SaslSession | SaslRefusal


class SaslClientExchange:
    """One exchange on a connection. `offered`: the versions that the server has of each API, by key."""

    def __init__(self, login: Login, offered: Mapping[int, Container[int]], random: Chance) -> None:
        self._login = login
        self._random = random
        self._handshake_version = _usable(_HANDSHAKE_VERSIONS, offered.get(_SASL_HANDSHAKE, ()))
        self._authenticate_version = _usable(_AUTHENTICATE_VERSIONS, offered.get(_SASL_AUTHENTICATE, ()))
        self._client = login.start(random)

    def begin(self) -> NextRequest | SaslRefusal:
        """Return the first request."""
        if self._handshake_version is None or self._authenticate_version is None:
            return SaslRefusal("the other side does not offer what SASL needs")
        return NextRequest(SaslHandshakeRequest(self._login.mechanism), self._handshake_version)

    def receive(self, answer: WireMessage) -> SaslStep:
        """Receive the response to the request that was returned last."""
        if isinstance(answer, SaslHandshakeResponse):
            if answer.error_code:
                return SaslRefusal(_reason_refused(answer, self._login.mechanism))
            return self._ask(self._client.first())
        assert isinstance(answer, SaslAuthenticateResponse), "nothing else was asked"
        return self._receive_token(answer)

    def _receive_token(self, answer: SaslAuthenticateResponse) -> SaslStep:
        if answer.error_code:
            return SaslRefusal(answer.error_message or error_name(answer.error_code))
        try:
            token = self._client.evaluate(bytes(answer.auth_bytes))
        except AuthenticationFailedError as error:
            return SaslRefusal(error.reason)
        if token is not None:
            return self._ask(token)
        if answer.session_lifetime_ms <= 0:
            return SaslSession(None)
        share = _REAUTHENTICATE_FROM + _REAUTHENTICATE_WITHIN * self._random.random()
        return SaslSession(int(answer.session_lifetime_ms * share))

    def _ask(self, token: bytes) -> NextRequest:
        assert self._authenticate_version is not None, "`begin` has checked it"
        return NextRequest(SaslAuthenticateRequest(token), self._authenticate_version)


def _usable(known: tuple[int, ...], offered: Container[int]) -> int | None:
    return next((version for version in known if version in offered), None)


def _reason_refused(answer: SaslHandshakeResponse, mechanism: str) -> str:
    if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        enabled = ", ".join(answer.mechanisms)
        return f"Client SASL mechanism '{mechanism}' not enabled in the server, enabled mechanisms are [{enabled}]"
    if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        return "the other side does not want SASL"
    return f"SaslHandshake: {error_name(answer.error_code)}"
