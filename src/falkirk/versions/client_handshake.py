"""What a client asks on a new connection before anything else: ApiVersions, then SASL if it has a login.

    step = handshake.begin()
    while isinstance(step, NextRequest):
        step = handshake.receive(response_to(step.message, step.version))

Source: NetworkClient and SaslClientAuthenticator; KIP-35, KIP-43, KIP-152, KIP-368, KIP-511.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ApiVersionsResponse
from falkirk.protocol.sasl.client_exchange import NextRequest, SaslClientExchange, SaslRefusal, SaslSession
from falkirk.versions.negotiation import highest_usable
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.messages import ApiVersionsRequest
    from falkirk.protocol.sasl.client_exchange import SaslStep
    from falkirk.protocol.sasl.login import Login
    from falkirk.protocol.schema import WireMessage

_API_VERSIONS: Final = 18


@dataclass(frozen=True, slots=True)
class ConnectionReady:
    """Other requests may be sent now.

    `reauthenticate_after_ms`: when the session needs `reauthenticate`; None: the session does not end.
    """

    reauthenticate_after_ms: int | None = None


@dataclass(frozen=True, slots=True)
class VersionsRefusal:
    """The server answered ApiVersions with an error, in every version that was tried."""

    error_code: int


HandshakeStep = NextRequest | ConnectionReady | VersionsRefusal | SaslRefusal


class ClientHandshake:
    """One connection's handshake. `versions`: the server's answer to ApiVersions, None until it has come.

    `request` is sent in the highest of the client's `versions` that is not `avoided`; `login` None: no SASL.
    """

    def __init__(
        self,
        request: ApiVersionsRequest,
        known: SupportedRange,
        *,
        avoided: frozenset[int] = frozenset(),
        login: Login | None,
        random: Chance,
    ) -> None:
        self.versions: ApiVersionsResponse | None = None
        self._request = request
        self._requested_version = highest_usable(known, known, avoided)
        self._login = login
        self._random = random
        self._exchange: SaslClientExchange | None = None

    @property
    def offered(self) -> dict[int, SupportedRange] | None:
        """The server's versions by API key; None until it has answered."""
        return None if self.versions is None else offered_ranges(self.versions)

    def begin(self) -> HandshakeStep:
        """Return the first request."""
        return self._ask_versions()

    def receive(self, response: WireMessage) -> HandshakeStep:
        """Receive the response to the request that was returned last."""
        if self._exchange is not None:
            return self._after(self._exchange.receive(response))
        assert isinstance(response, ApiVersionsResponse), "nothing else was asked"
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            self._requested_version = self._lower_version(response)
            return self._ask_versions()
        if response.error_code:
            return VersionsRefusal(response.error_code)
        self.versions = response
        return ConnectionReady() if self._login is None else self.reauthenticate()

    def reauthenticate(self) -> HandshakeStep:
        """Return the first request of another authentication on the same connection."""
        assert self._login is not None, "only a session of a login ends"
        assert self.versions is not None, "versions are negotiated first"
        self._exchange = SaslClientExchange(self._login, offered_ranges(self.versions), self._random)
        return self._after(self._exchange.begin())

    def _ask_versions(self) -> HandshakeStep:
        if self._requested_version is None:
            return VersionsRefusal(ErrorCode.UNSUPPORTED_VERSION)
        return NextRequest(self._request, self._requested_version)

    def _lower_version(self, response: ApiVersionsResponse) -> int | None:
        """Return the version to ask in next; None if there is no lower one.

        Servers from 2.4 on name their versions of ApiVersions with the error (KIP-511); others speak version 0.
        """
        assert self._requested_version is not None, "it was asked in one"
        named = next((api.max_version for api in response.api_keys if api.api_key == _API_VERSIONS), 0)
        lower = min(max(named, 0), self._requested_version - 1)
        return None if lower < 0 else lower

    def _after(self, step: SaslStep) -> HandshakeStep:
        return ConnectionReady(step.reauthenticate_after_ms) if isinstance(step, SaslSession) else step


def offered_ranges(response: ApiVersionsResponse) -> dict[int, SupportedRange]:
    """Return the versions that a server offers, by API key."""
    return {
        api.api_key: SupportedRange(api.min_version, api.max_version)
        for api in response.api_keys
        if api.min_version <= api.max_version
    }
