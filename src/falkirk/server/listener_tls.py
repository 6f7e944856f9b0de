"""TLS of each listener, for accepted connections and for those that the node opens to such a listener."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.node.config.security_settings import listener_prefix
from falkirk.server.errors import ServerError
from falkirk.server.tls_session import TlsSession

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable, Mapping

    from falkirk.node.config.server_properties import ServerProperties
    from falkirk.zookeeper_node.config.properties import ZooKeeperProperties

TLS_PROTOCOLS: Final = ("SSL", "SASL_SSL")


@dataclass(frozen=True, slots=True)
class ListenerTls:
    """Contexts by listener name; a listener without one uses plain text."""

    servers: Mapping[str, ssl.SSLContext] = field(default_factory=dict)
    clients: Mapping[str, ssl.SSLContext] = field(default_factory=dict)

    @classmethod
    def of(cls, properties: ServerProperties | ZooKeeperProperties, met: Iterable[str | None] = ()) -> ListenerTls:
        """Make all contexts of a configuration. Raises ServerError naming the listener.

        `met`: listeners that the node itself connects to.
        """
        config, protocols = properties.config, properties.security_protocols
        own = {one.name for one in config.listeners if one.security_protocol in TLS_PROTOCOLS}
        others = {name for name in met if name is not None and protocols.get(name) in TLS_PROTOCOLS}
        if not own and not others:
            return cls()
        # Imported late: a node without TLS starts faster.
        from falkirk.client import tls  # noqa: PLC0415

        def server(name: str) -> ssl.SSLContext:
            is_sasl = protocols[name] == "SASL_SSL"
            return tls.server_context(
                _settings(properties, name), client_auth=_client_auth(config.properties, name, is_sasl=is_sasl)
            )

        return cls(
            servers=_made(own, server),
            clients=_made(others, lambda name: tls.client_context(_settings(properties, name))),
        )

    def accepting(self, listener: str) -> TlsSession | None:
        """Start a session on an accepted connection; None: without TLS."""
        context = self.servers.get(listener)
        return None if context is None else TlsSession(context)

    def connecting(self, listener: str, host: str) -> TlsSession | None:
        """Start a session on a connection that the node opens; None: without TLS."""
        context = self.clients.get(listener)
        return None if context is None else TlsSession(context, server_hostname=host)


def _made(names: Iterable[str], make: Callable[[str], ssl.SSLContext]) -> dict[str, ssl.SSLContext]:
    contexts = {}
    for name in sorted(names):
        try:
            contexts[name] = make(name)
        except Exception as error:
            raise ServerError(f"listener {name}: {error}") from error
    return contexts


def _settings(properties: ServerProperties | ZooKeeperProperties, listener: str) -> Callable[[str], str | None]:
    given, prefix = properties.config.properties, listener_prefix(listener)

    def setting(key: str) -> str | None:
        return given.get(prefix + key, given.get(key))

    return setting


def _client_auth(given: Mapping[str, str], listener: str, *, is_sasl: bool) -> str | None:
    """Return the client authentication: with SASL a certificate only if the listener's own key says so, as in Kafka."""
    own = given.get(f"{listener_prefix(listener)}ssl.client.auth")
    return own or ("none" if is_sasl else None)
