"""SASL authentication of one connection, as the broker sees it (KIP-43, KIP-152, KIP-368).

    ApiVersions (once it was answered well, not again) -> SaslHandshake -> SaslAuthenticate ... -> open
                                                            v0: tokens in frames of their own, without headers

A refusal is the last response on a connection. Where sessions expire, a client re-authenticates on the same connection
(SaslHandshake) before its session ends, as the same principal and with the same mechanism; any other request after that
closes the connection. Source: SaslServerAuthenticator, KafkaChannel.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, assert_never

from falkirk.metadata.requests.request_context import ANONYMOUS, Principal
from falkirk.node.connections import api_versions_request
from falkirk.protocol.connection import API_VERSIONS, RequestReceived, UnsupportedVersionReceived
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    ProduceRequest,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from falkirk.protocol.sasl.errors import AuthenticationFailedError

if TYPE_CHECKING:
    from falkirk.node.config.security_settings import ListenerSecurity
    from falkirk.node.connections.credentials import Credentials
    from falkirk.protocol.connection import UnservedRequestReceived
    from falkirk.protocol.sasl.server import Authenticated, SaslServer
    from falkirk.protocol.schema import WireMessage

SASL_HANDSHAKE: Final = 17
SASL_AUTHENTICATE: Final = 36
# A client that re-authenticates more often is answered ILLEGAL_SASL_STATE.
MIN_REAUTHENTICATION_INTERVAL_MS: Final = 1000
# A request in the place of SaslAuthenticate with more elements is refused without an answer.
_REFUSED_ELEMENTS_MAX: Final = 4_000
# Characters of a client's mechanism name that are logged.
_LOGGED_MECHANISM_MAX: Final = 40


class Phase(Enum):
    """The next request that is accepted. OPEN: any."""

    VERSIONS_OR_HANDSHAKE = "VersionsOrHandshake"
    HANDSHAKE = "Handshake"
    TOKEN = "Token"  # noqa: S105 - no password
    RAW_TOKEN = "RawToken"  # noqa: S105 - no password
    WRONG_MECHANISM = "WrongMechanism"
    OPEN = "Open"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Passed:
    """The request is handled as on any other listener."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The response to the request."""

    message: SaslHandshakeResponse | SaslAuthenticateResponse


@dataclass(frozen=True, slots=True)
class Token:
    """The response to a token without a header, itself without one."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Refused:
    """Close the connection, after a response if there is one. `reason` is for our own log."""

    reason: str
    message: "WireMessage | None" = None


@dataclass(frozen=True, slots=True)
class Expired:
    """Close the connection: the session had ended before the request came."""


Verdict = Passed | Answered | Token | Refused | Expired


class Authentication:
    """The state of one connection. `principal`: who the client is once the phase is OPEN."""

    def __init__(self, security: ListenerSecurity, credentials: Credentials) -> None:
        self._security = security
        self._credentials = credentials
        self.phase = Phase.VERSIONS_OR_HANDSHAKE
        self.principal = ANONYMOUS
        # None: the session does not end.
        self.session_end_ms: int | None = None
        self._mechanism = ""
        self._server: SaslServer | None = None
        self._is_reauthenticating = False
        self._last_reauthentication_ms: int | None = None

    @property
    def is_open(self) -> bool:
        """True if the client has authenticated and is not re-authenticating."""
        return self.phase is Phase.OPEN

    @property
    def has_failed(self) -> bool:
        """True if nothing more is read from the connection."""
        return self.phase is Phase.FAILED

    @property
    def is_done(self) -> bool:
        """True if the client has authenticated for good: its session does not end."""
        return self.phase is Phase.OPEN and self.session_end_ms is None

    def receive_token(self, data: bytes, now_ms: int) -> Verdict:
        """Evaluate a frame that is a token without a header."""
        assert self.phase is Phase.RAW_TOKEN, "other frames are requests"
        try:
            answer, _ = self._evaluate(data, now_ms)
        except AuthenticationFailedError as error:
            return self._refuse(error.reason)
        return Token(answer)

    def receive_request(
        self, event: RequestReceived | UnsupportedVersionReceived | UnservedRequestReceived, now_ms: int
    ) -> Verdict:
        """Decide on a request. Raises RemoteProtocolError if its body cannot be read."""
        match self.phase:
            case Phase.OPEN:
                return self._receive_when_open(event, now_ms)
            case Phase.VERSIONS_OR_HANDSHAKE | Phase.HANDSHAKE:
                return self._receive_first(event, now_ms)
            case Phase.TOKEN | Phase.WRONG_MECHANISM:
                return self._receive_authenticate(event, now_ms)
            case Phase.RAW_TOKEN | Phase.FAILED:
                raise AssertionError("nothing of this kind is read in this phase")
            case _:
                assert_never(self.phase)

    # --- Inside

    def _receive_when_open(
        self, event: RequestReceived | UnsupportedVersionReceived | UnservedRequestReceived, now_ms: int
    ) -> Verdict:
        if self.session_end_ms is None:
            return Passed()
        if event.api_key == SASL_HANDSHAKE and isinstance(event, RequestReceived):
            last = self._last_reauthentication_ms
            if last is None or now_ms - last >= MIN_REAUTHENTICATION_INTERVAL_MS:
                self._last_reauthentication_ms = now_ms
                self._is_reauthenticating = True
                return self._shake_hands(event, now_ms)
        return Expired() if now_ms >= self.session_end_ms else Passed()

    def _receive_first(
        self, event: RequestReceived | UnsupportedVersionReceived | UnservedRequestReceived, now_ms: int
    ) -> Verdict:
        if event.api_key == API_VERSIONS and self.phase is Phase.VERSIONS_OR_HANDSHAKE:
            if isinstance(event, UnsupportedVersionReceived):
                return Passed()
            if isinstance(event, RequestReceived):
                message = event.message()
                assert isinstance(message, ApiVersionsRequest)
                # A request that is answered with an error may be sent again.
                if api_versions_request.is_valid(message, event.api_version):
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
            return self._refuse(f"Unsupported SASL mechanism {request.mechanism[:_LOGGED_MECHANISM_MAX]}", refused)
        if self._is_reauthenticating and request.mechanism != self._mechanism:
            # As in Kafka the next request is refused for it.
            self.phase = Phase.WRONG_MECHANISM
        else:
            self.phase = Phase.TOKEN if event.api_version > 0 else Phase.RAW_TOKEN
            self._mechanism = request.mechanism
            self._server = self._credentials.start(request.mechanism, self._security, now_ms)
        return Answered(SaslHandshakeResponse(mechanisms=enabled))

    def _receive_authenticate(
        self, event: RequestReceived | UnsupportedVersionReceived | UnservedRequestReceived, now_ms: int
    ) -> Verdict:
        if event.api_key != SASL_AUTHENTICATE or not isinstance(event, RequestReceived):
            return self._refuse_other(event)
        if self.phase is Phase.WRONG_MECHANISM:
            return self._refuse(f"another SASL mechanism than {self._mechanism} for re-authentication")
        request = event.message()
        assert isinstance(request, SaslAuthenticateRequest)
        try:
            answer, lifetime_ms = self._evaluate(bytes(request.auth_bytes), now_ms)
        except AuthenticationFailedError as error:
            kind = "re-authentication" if self._is_reauthenticating else "authentication"
            message = error.client_message or (
                f"Authentication failed during {kind} due to invalid credentials with SASL mechanism {self._mechanism}"
            )
            refused = SaslAuthenticateResponse(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=message)
            return self._refuse(error.reason, refused)
        return Answered(
            SaslAuthenticateResponse(error_message=None, auth_bytes=answer, session_lifetime_ms=lifetime_ms)
        )

    def _refuse_other(self, event: RequestReceived | UnsupportedVersionReceived | UnservedRequestReceived) -> Refused:
        """Refuse a request in the place of SaslAuthenticate: with ILLEGAL_SASL_STATE, if it can be answered."""
        reason = f"Unexpected Kafka request of API key {event.api_key} during SASL authentication."
        message = event.message(_REFUSED_ELEMENTS_MAX) if isinstance(event, RequestReceived) else None
        if message is None or (isinstance(message, ProduceRequest) and message.acks == 0):
            return self._refuse(reason)
        return self._refuse(reason, error_response(message, event.api_version, ErrorCode.ILLEGAL_SASL_STATE))

    def _evaluate(self, token: bytes, now_ms: int) -> tuple[bytes, int]:
        """Return the answer to a token, and the session's lifetime (ms) once the client is authenticated, else 0.

        Raises AuthenticationFailedError.
        """
        assert self._server is not None, "a token comes behind a handshake"
        answer = self._server.evaluate(token)
        found = self._server.authenticated
        if found is None:
            return answer, 0
        principal = Principal(found.principal_type, found.name, found.is_token)
        if self._is_reauthenticating and str(principal) != str(self.principal):
            before, now = (f"{one.type}.{one.name}" for one in (self.principal, principal))
            text = f"Cannot change principals during re-authentication from {before}: {now}"
            raise AuthenticationFailedError(text, client_message=text)
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

    def _refuse(self, reason: str, message: WireMessage | None = None) -> Refused:
        self.phase = Phase.FAILED
        self._server = None
        return Refused(reason, message)
