"""How to connect, under the names of Kafka's client configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.client.errors import ClientConfigError
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.frame import FRAME_BYTES_MAX
from falkirk.protocol.messages import REQUESTS
from falkirk.versions.negotiation import AvoidedVersionsError, parse_avoided

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.negotiation import AvoidedVersions

PLAINTEXT: Final = "PLAINTEXT"
# Ours: versions of APIs that are not to be used, as in KIP-35's "deprecation by configuration".
AVOID_API_VERSIONS: Final = "avoid.api.versions"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """Times are in ms. `avoided`: versions that are not used though both sides have them, by API key."""

    client_id: str = "falkirk"
    security_protocol: str = PLAINTEXT
    request_timeout_ms: int = 30_000
    socket_connection_setup_timeout_ms: int = 10_000
    max_in_flight_requests_per_connection: int = 100
    frame_bytes_max: int = FRAME_BYTES_MAX
    avoided: AvoidedVersions = field(default_factory=dict)

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> ClientConfig:
        """Read a client's properties; names that we have no use for are passed over.

        Raises ClientConfigError naming key and value.
        """
        default = cls()
        return cls(
            client_id=properties.get("client.id", default.client_id),
            security_protocol=properties.get("security.protocol", default.security_protocol),
            request_timeout_ms=_milliseconds(properties, "request.timeout.ms", default.request_timeout_ms),
            socket_connection_setup_timeout_ms=_milliseconds(
                properties, "socket.connection.setup.timeout.ms", default.socket_connection_setup_timeout_ms
            ),
            avoided=avoided_versions(properties.get(AVOID_API_VERSIONS, "")),
        )


def avoided_versions(text: str) -> AvoidedVersions:
    """Read `Fetch:12-13,Metadata:9`. Raises ClientConfigError."""
    try:
        return parse_avoided(text, {name.removesuffix("Request"): key for key, name in REQUESTS.items()})
    except AvoidedVersionsError as error:
        raise ClientConfigError(f"{AVOID_API_VERSIONS}: {error}") from error


def parse_servers(text: str) -> tuple[Endpoint, ...]:
    """Read `host:port,[::1]:port`. Raises ClientConfigError."""
    endpoints = tuple(_parse_server(server.strip()) for server in text.split(",") if server.strip())
    if not endpoints:
        raise ClientConfigError("no server to connect to was named")
    return endpoints


def _parse_server(text: str) -> Endpoint:
    host, _, port = text.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536 or (":" in host) > is_bracketed:
        raise ClientConfigError(f"'{text}' is no server: host:port was expected")
    return Endpoint(host[1:-1] if is_bracketed else host, int(port))


def _milliseconds(properties: Mapping[str, str], name: str, default: int) -> int:
    text = properties.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or int(text) == 0:
        raise ClientConfigError(f"{name} is '{text}': a number of milliseconds was expected")
    return int(text)
