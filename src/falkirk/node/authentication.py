"""What a client of a SASL listener may ask before it has said who it is, and how it says so (KIP-43, KIP-152, KIP-368).

    ApiVersions (once it was answered well, not again) -> SaslHandshake -> SaslAuthenticate ... -> open
                                                            v0: tokens in frames of their own, without headers

An answer that refuses is the last one on a connection. Where sessions end, a client authenticates anew on the same
connection (SaslHandshake) before its session does, as the same principal and with the same mechanism; whatever else
comes later than that closes the connection. Source: SaslServerAuthenticator, KafkaChannel.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, assert_never

from falkirk.metadata.controller.request_context import ANONYMOUS, Principal
from falkirk.node.handlers import api_versions
from falkirk.protocol.connection import API_VERSIONS, RequestReceived, UnsupportedVersionReceived
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from falkirk.protocol.sasl.errors import AuthenticationFailedError

if TYPE_CHECKING:
    from falkirk.node.credentials import Credentials
    from falkirk.node.security_settings import ListenerSecurity
    from falkirk.protocol.connection import UnservedRequestReceived
    from falkirk.protocol.sasl.server import Authenticated, SaslServer

SASL_HANDSHAKE: Final = 17
SASL_AUTHENTICATE: Final = 36
# More often a client does not authenticate anew: it is answered that its state is wrong.
MIN_REAUTHENTICATION_INTERVAL_MS: Final = 1000


class Phase(Enum):
    """What is expected next. OPEN: anything."""

    VERSIONS_OR_HANDSHAKE = "VersionsOrHandshake"
    HANDSHAKE = "Handshake"
    TOKEN = "Token"  # noqa: S105 - no password
    RAW_TOKEN = "RawToken"  # noqa: S105 - no password
    WRONG_MECHANISM = "WrongMechanism"
    OPEN = "Open"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Passed:
    """The request goes on its way as on any other listener."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What the request is answered with."""

    message: SaslHandshakeResponse | SaslAuthenticateResponse


@dataclass(frozen=True, slots=True)
class Token:
    """What a token without a header is answered with."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Refused:
    """The connection is to be closed, behind an answer if there is one. `reason` is for our own log."""

    reason: str
    message: SaslHandshakeResponse | SaslAuthenticateResponse | None = None


@dataclass(frozen=True, slots=True)
class Expired:
    """The session had ended before this came: the connection is to be closed."""


Verdict = Passed | Answered | Token | Refused | Expired


class Authentication:
    """One connection's. `principal`: who it is since it is OPEN."""

    def __init__(self, security: ListenerSecurity, credentials: Credentials) -> None:
        self._security = security
        self._credentials = credentials
        self.phase = Phase.VERSIONS_OR_HANDSHAKE
        self.principal = ANONYMOUS
        # When the session ends; None: it does not.
        self.session_end_ms: int | None = None
        self._mechanism = ""
        self._server: SaslServer | None = None
        self._is_again = False
        self._last_again_ms: int | None = None

    @property
    def is_open(self) -> bool:
        """Say whether the client has authenticated and does not do so anew just now."""
        return self.phase is Phase.OPEN

    @property
    def has_failed(self) -> bool:
        """Say whether nothing more is taken."""
        return self.phase is Phase.FAILED

    @property
    def is_done(self) -> bool:
        """Say whether nothing that comes has to be looked at any more."""
        return self.phase is Phase.OPEN and self.session_end_ms is None

    def take_token(self, data: bytes, now_ms: int) -> Verdict:
        """Take a frame that is a token without a header."""
        assert self.phase is Phase.RAW_TOKEN, "other frames are requests"
        try:
            answer, _ = self._evaluate(data, now_ms)
        except AuthenticationFailedError as error:
            return self._refuse(error.reason)
        return Token(answer)

    def take(
        self, event: RequestReceived | UnsupportedVersionReceived | UnservedRequestReceived, now_ms: int
    ) -> Verdict:
        """Take a request. Raises RemoteProtocolError if its body cannot be read."""
        match self.phase:
            case Phase.OPEN:
                return self._take_when_open(event, now_ms)
            case Phase.VERSIONS_OR_HANDSHAKE | Phase.HANDSHAKE:
                return self._take_first(event, now_ms)
            case Phase.TOKEN | Phase.WRONG_MECHANISM:
                return self._take_authenticate(event, now_ms)
            case Phase.RAW_TOKEN | Phase.FAILED:
                raise AssertionError("nothing of this kind is read in this phase")
            case _:
                assert_never(self.phase)

    # --- Inside

    def _take_when_open(
        self, event: RequestReceived | UnsupportedVersionReceived | UnservedRequestReceived, now_ms: int
    ) -> Verdict:
        if self.session_end_ms is None:
            return Passed()
        if event.api_key == SASL_HANDSHAKE and isinstance(event, RequestReceived):
            last = self._last_again_ms
            if last is None or now_ms - last >= MIN_REAUTHENTICATION_INTERVAL_MS:
                self._last_again_ms = now_ms
                self._is_again = True
                return self._shake_hands(event, now_ms)
        return Expired() if now_ms >= self.session_end_ms else Passed()

    def _take_first(
        self, event: RequestReceived | UnsupportedVersionReceived | UnservedRequestReceived, now_ms: int
    ) -> Verdict:
        if event.api_key == API_VERSIONS and self.phase is Phase.VERSIONS_OR_HANDSHAKE:
            if isinstance(event, UnsupportedVersionReceived):
                return Passed()
            if isinstance(event, RequestReceived):
                message = event.message()
                assert isinstance(message, ApiVersionsRequest)
                # One that is answered with an error may be put again.
                if api_versions.is_valid(message, event.api_version):
                    self.phase = Phase.HANDSHAKE
                return Passed()
        if event.api_key == SASL_HANDSHAKE and isinstance(event, RequestReceived):
            return self._shake_hands(event, now_ms)
        return self._refuse(f"Unexpected Kafka request of API key {event.api_key} during SASL handshake.")

    def _shake_hands(self, event: RequestReceived, now_ms: int) -> Verdict:
        request = event.message()
        assert isinstance(request, SaslHandshakeRequest)
        enabled = self._security.mechanisms
        if request.mechanism not in enabled:
            refused = SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=enabled)
            return self._refuse(f"Unsupported SASL mechanism {request.mechanism[:_SHOWN_MAX]}", refused)
        if self._is_again and request.mechanism != self._mechanism:
            # As in Kafka the next request learns of it.
            self.phase = Phase.WRONG_MECHANISM
        else:
            self.phase = Phase.TOKEN if event.api_version > 0 else Phase.RAW_TOKEN
            self._mechanism = request.mechanism
            self._server = self._credentials.start(request.mechanism, self._security, now_ms)
        return Answered(SaslHandshakeResponse(mechanisms=enabled))

    def _take_authenticate(
        self, event: RequestReceived | UnsupportedVersionReceived | UnservedRequestReceived, now_ms: int
    ) -> Verdict:
        if event.api_key != SASL_AUTHENTICATE or not isinstance(event, RequestReceived):
            return self._refuse(f"Unexpected Kafka request of API key {event.api_key} during SASL authentication.")
        if self.phase is Phase.WRONG_MECHANISM:
            return self._refuse(f"another SASL mechanism than {self._mechanism} for re-authentication")
        request = event.message()
        assert isinstance(request, SaslAuthenticateRequest)
        try:
            answer, lifetime_ms = self._evaluate(bytes(request.auth_bytes), now_ms)
        except AuthenticationFailedError as error:
            kind = "re-authentication" if self._is_again else "authentication"
            told = error.told or (
                f"Authentication failed during {kind} due to invalid credentials with SASL mechanism {self._mechanism}"
            )
            refused = SaslAuthenticateResponse(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=told)
            return self._refuse(error.reason, refused)
        return Answered(
            SaslAuthenticateResponse(error_message=None, auth_bytes=answer, session_lifetime_ms=lifetime_ms)
        )

    def _evaluate(self, token: bytes, now_ms: int) -> tuple[bytes, int]:
        """Give the answer to a token, and how long the session lasts if it has begun.

        Raises AuthenticationFailedError.
        """
        assert self._server is not None, "a token comes behind a handshake"
        answer = self._server.evaluate(token)
        found = self._server.authenticated
        if found is None:
            return answer, 0
        principal = Principal(found.principal_type, found.name, found.is_token)
        if self._is_again and str(principal) != str(self.principal):
            before, now = (f"{one.type}.{one.name}" for one in (self.principal, principal))
            text = f"Cannot change principals during re-authentication from {before}: {now}"
            raise AuthenticationFailedError(text, told=text)
        self.principal = principal
        self._server = None
        self.phase = Phase.OPEN
        lifetime_ms = self._lifetime_ms(found, now_ms)
        self.session_end_ms = None if lifetime_ms is None else now_ms + lifetime_ms
        return answer, lifetime_ms or 0

    def _lifetime_ms(self, found: Authenticated, now_ms: int) -> int | None:
        limits = []
        if self._mechanism in self._security.max_reauth_ms:
            limits.append(self._security.max_reauth_ms[self._mechanism])
        if found.expires_ms is not None:
            limits.append(max(0, found.expires_ms - now_ms))
        return min(limits, default=None)

    def _refuse(self, reason: str, message: SaslHandshakeResponse | SaslAuthenticateResponse | None = None) -> Refused:
        self.phase = Phase.FAILED
        self._server = None
        return Refused(reason, message)


# Of what a client calls a mechanism.
_SHOWN_MAX: Final = 40
