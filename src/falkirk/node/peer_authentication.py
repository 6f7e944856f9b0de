"""How the node says who it is where others ask for SASL (KIP-43, KIP-152, KIP-368).

Source: SaslClientAuthenticator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.sasl.login import Login
    from falkirk.protocol.schema import WireMessage

# Tokens in frames without headers (v0) were for servers before 1.0.
_HANDSHAKE_VERSIONS: Final = SupportedRange(1, 1)
_AUTHENTICATE_VERSIONS: Final = SupportedRange(0, 2)
_SASL_HANDSHAKE: Final = 17
_SASL_AUTHENTICATE: Final = 36
# When in a session's life a client authenticates anew: so that not all do at once, and none comes too late.
_REAUTHENTICATE_FROM: Final = 0.85
_REAUTHENTICATE_WITHIN: Final = 0.10


class PeerAuthentication:
    """One exchange on a connection: `next_request` and `take` in turns, until `is_complete`."""

    def __init__(self, login: Login, ranges: Mapping[int, SupportedRange], random: Chance) -> None:
        self._login = login
        self._random = random
        self._handshake_version = highest_usable(_HANDSHAKE_VERSIONS, ranges.get(_SASL_HANDSHAKE))
        self._authenticate_version = highest_usable(_AUTHENTICATE_VERSIONS, ranges.get(_SASL_AUTHENTICATE))
        self._client = login.start(random)
        self._token: bytes | None = None
        self.is_complete = False
        # How long after now to authenticate anew; None: the session does not end.
        self.reauthenticate_after_ms: int | None = None

    def next_request(self) -> tuple[WireMessage, int]:
        """Give what to ask, and in which version. Raises AuthenticationFailedError if the peer has no such version."""
        message: WireMessage
        if self._token is None:
            message, version = SaslHandshakeRequest(self._login.mechanism), self._handshake_version
        else:
            message, version = SaslAuthenticateRequest(self._token), self._authenticate_version
        if version is None:
            raise AuthenticationFailedError("the other side does not offer what SASL needs")
        return message, version

    def take(self, answer: WireMessage) -> None:
        """Take the answer. Raises AuthenticationFailedError."""
        if self._token is None:
            assert isinstance(answer, SaslHandshakeResponse), "nothing else was asked"
            if answer.error_code:
                raise AuthenticationFailedError(_refusal(answer, self._login.mechanism))
            self._token = self._client.first()
            return
        assert isinstance(answer, SaslAuthenticateResponse), "nothing else was asked"
        if answer.error_code:
            raise AuthenticationFailedError(answer.error_message or error_name(answer.error_code))
        token = self._client.evaluate(bytes(answer.auth_bytes))
        if token is not None:
            self._token = token
            return
        self.is_complete = True
        if answer.session_lifetime_ms > 0:
            share = _REAUTHENTICATE_FROM + _REAUTHENTICATE_WITHIN * self._random.random()
            self.reauthenticate_after_ms = int(answer.session_lifetime_ms * share)


def _refusal(answer: SaslHandshakeResponse, mechanism: str) -> str:
    if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        return (
            f"Client SASL mechanism '{mechanism}' not enabled in the server, enabled mechanisms are "
            f"[{', '.join(answer.mechanisms)}]"
        )
    return f"SaslHandshake: {error_name(answer.error_code)}"
