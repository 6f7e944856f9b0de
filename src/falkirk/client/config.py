"""The configuration of connections, under the names of Kafka's client configs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from falkirk.client.errors import ClientConfigError
from falkirk.protocol.endpoint import Endpoint, read_port
from falkirk.protocol.frame import FRAME_BYTES_MAX
from falkirk.protocol.messages import REQUESTS
from falkirk.protocol.sasl.errors import JaasConfigError
from falkirk.protocol.sasl.login import MECHANISMS, read_login
from falkirk.versions.negotiation import AvoidedVersionsError, parse_avoided

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    from falkirk.protocol.sasl.login import Login
    from falkirk.versions.negotiation import AvoidedVersions

PLAINTEXT: Final = "PLAINTEXT"
SECURITY_PROTOCOLS: Final = (PLAINTEXT, "SSL", "SASL_PLAINTEXT", "SASL_SSL")
# falkirk's own: versions of APIs not to use, as in KIP-35's "deprecation by configuration".
AVOID_API_VERSIONS: Final = "avoid.api.versions"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """Times are in ms. `avoided`: versions not to use although both sides have them, by API key.

    `tls`: None for plain text; `login`: None without SASL; `certificate_name`: the name in the client's certificate.
    """

    client_id: str = "falkirk"
    tls: ssl.SSLContext | None = None
    login: Login | None = None
    certificate_name: str | None = None
    request_timeout_ms: int = 30_000
    socket_connection_setup_timeout_ms: int = 10_000
    retry_backoff_ms: int = 100
    max_in_flight_requests_per_connection: int = 100
    frame_bytes_max: int = FRAME_BYTES_MAX
    avoided: AvoidedVersions = field(default_factory=dict)

    def within(self, timeout_ms: int) -> ClientConfig:
        """Return this configuration with no timeout above `timeout_ms`, for a call that has that long in all."""
        return replace(
            self,
            request_timeout_ms=min(self.request_timeout_ms, timeout_ms),
            socket_connection_setup_timeout_ms=min(self.socket_connection_setup_timeout_ms, timeout_ms),
        )

    @property
    def principal(self) -> str:
        """The client's principal as ACLs name it, where listeners map no names (ssl.principal.mapping.rules)."""
        if self.login is not None:
            return f"User:{self.login.name}"
        return f"User:{self.certificate_name or 'ANONYMOUS'}"

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> ClientConfig:
        """Read client properties; unknown names are ignored.

        Reads the key stores that they name. Raises ClientConfigError naming the key, and its value if it is no secret.
        """
        default = cls()
        protocol = properties.get("security.protocol", PLAINTEXT).strip().upper()
        if protocol not in SECURITY_PROTOCOLS:
            raise ClientConfigError(
                f"security.protocol is '{protocol}': one of {', '.join(SECURITY_PROTOCOLS)} was expected"
            )
        return cls(
            client_id=properties.get("client.id", default.client_id),
            tls=_tls(properties) if protocol.endswith("SSL") else None,
            login=_login(properties) if protocol.startswith("SASL") else None,
            certificate_name=_certificate_name(properties) if protocol.endswith("SSL") else None,
            request_timeout_ms=_milliseconds(properties, "request.timeout.ms", default.request_timeout_ms),
            socket_connection_setup_timeout_ms=_milliseconds(
                properties, "socket.connection.setup.timeout.ms", default.socket_connection_setup_timeout_ms
            ),
            retry_backoff_ms=_milliseconds(properties, "retry.backoff.ms", default.retry_backoff_ms),
            avoided=avoided_versions(properties.get(AVOID_API_VERSIONS, "")),
        )


def avoided_versions(text: str) -> AvoidedVersions:
    """Parse `Fetch:12-13,Metadata:9`. Raises ClientConfigError."""
    try:
        return parse_avoided(text, {name.removesuffix("Request"): key for key, name in REQUESTS.items()})
    except AvoidedVersionsError as error:
        raise ClientConfigError(f"{AVOID_API_VERSIONS}: {error}") from error


def parse_servers(text: str) -> tuple[Endpoint, ...]:
    """Parse `host:port,[::1]:port`. Raises ClientConfigError."""
    endpoints = tuple(_parse_server(server.strip()) for server in text.split(",") if server.strip())
    if not endpoints:
        raise ClientConfigError("no server to connect to was named")
    return endpoints


def _tls(properties: Mapping[str, str]) -> ssl.SSLContext:
    # Imported late: connections in plain text do not need it.
    from falkirk.client.tls import client_context  # noqa: PLC0415

    return client_context(properties.get)


def _certificate_name(properties: Mapping[str, str]) -> str | None:
    from falkirk.client.key_store import read_key_store  # noqa: PLC0415 - late as above

    key_pair = read_key_store(properties.get)
    return None if key_pair is None else key_pair.name


def _login(properties: Mapping[str, str]) -> Login:
    mechanism = properties.get("sasl.mechanism", "GSSAPI").strip()
    if mechanism not in MECHANISMS:
        raise ClientConfigError(f"sasl.mechanism is '{mechanism}': falkirk has {', '.join(MECHANISMS)}")
    text = properties.get("sasl.jaas.config")
    if text is None:
        raise ClientConfigError("sasl.jaas.config is not set: SASL needs it")
    try:
        return read_login(mechanism, text)
    except JaasConfigError as error:
        raise ClientConfigError(f"sasl.jaas.config: {error}") from error


def _parse_server(text: str) -> Endpoint:
    host, _, number = text.rpartition(":")
    port = read_port(number)
    is_bracketed = host.startswith("[") and host.endswith("]")
    if not host or not port or (":" in host) > is_bracketed:
        raise ClientConfigError(f"'{text}' is no server: host:port was expected")
    return Endpoint(host[1:-1] if is_bracketed else host, port)


def _milliseconds(properties: Mapping[str, str], name: str, default: int) -> int:
    text = properties.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or int(text) == 0:
        raise ClientConfigError(f"{name} is '{text}': a number of milliseconds was expected")
    return int(text)
