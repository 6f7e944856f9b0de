"""What a client asks and is answered until it is authenticated (KIP-43, KIP-152, KIP-368).

    step = exchange.begin()
    while isinstance(step, SaslQuestion):
        step = exchange.take(answer_to(step.message, step.version))

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


@dataclass(frozen=True, slots=True)
class SaslQuestion:
    """What is to be asked next, and in which version."""

    message: WireMessage
    version: int


@dataclass(frozen=True, slots=True)
class SaslSession:
    """It is done. `reauthenticate_after_ms`: the time for another exchange; None: the session does not end."""

    reauthenticate_after_ms: int | None


@dataclass(frozen=True, slots=True)
class SaslRefusal:
    """The server does not take us for who we say we are, or is not what it should be."""

    reason: str


SaslStep = SaslQuestion | SaslSession | SaslRefusal


class SaslClientExchange:
    """One exchange on a connection. `offered`: the versions that the server has of each API, by key."""

    def __init__(self, login: Login, offered: Mapping[int, Container[int]], random: Chance) -> None:
        self._login = login
        self._random = random
        self._handshake_version = _usable(_HANDSHAKE_VERSIONS, offered.get(_SASL_HANDSHAKE, ()))
        self._authenticate_version = _usable(_AUTHENTICATE_VERSIONS, offered.get(_SASL_AUTHENTICATE, ()))
        self._client = login.start(random)

    def begin(self) -> SaslQuestion | SaslRefusal:
        """Give the first question."""
        if self._handshake_version is None or self._authenticate_version is None:
            return SaslRefusal("the other side does not offer what SASL needs")
        return SaslQuestion(SaslHandshakeRequest(self._login.mechanism), self._handshake_version)

    def take(self, answer: WireMessage) -> SaslStep:
        """Take the answer to the question that was given last."""
        if isinstance(answer, SaslHandshakeResponse):
            if answer.error_code:
                return SaslRefusal(_why_no_handshake(answer, self._login.mechanism))
            return self._ask(self._client.first())
        assert isinstance(answer, SaslAuthenticateResponse), "nothing else was asked"
        return self._take_token(answer)

    def _take_token(self, answer: SaslAuthenticateResponse) -> SaslStep:
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

    def _ask(self, token: bytes) -> SaslQuestion:
        assert self._authenticate_version is not None, "`begin` has checked it"
        return SaslQuestion(SaslAuthenticateRequest(token), self._authenticate_version)


# Below 1 tokens have no headers, as servers before 1.0 wanted them. The highest first.
_HANDSHAKE_VERSIONS: Final = (1,)
_AUTHENTICATE_VERSIONS: Final = (2, 1, 0)
_SASL_HANDSHAKE: Final = 17
_SASL_AUTHENTICATE: Final = 36
# When in a session's life a client authenticates anew: so that not all do at once, and none comes too late.
_REAUTHENTICATE_FROM: Final = 0.85
_REAUTHENTICATE_WITHIN: Final = 0.10


def _usable(known: tuple[int, ...], offered: Container[int]) -> int | None:
    return next((version for version in known if version in offered), None)


def _why_no_handshake(answer: SaslHandshakeResponse, mechanism: str) -> str:
    if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        enabled = ", ".join(answer.mechanisms)
        return f"Client SASL mechanism '{mechanism}' not enabled in the server, enabled mechanisms are [{enabled}]"
    if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        return "the other side does not want SASL"
    return f"SaslHandshake: {error_name(answer.error_code)}"
