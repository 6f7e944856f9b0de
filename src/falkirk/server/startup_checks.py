"""What a node may be configured for that falkirk does not serve yet: said before anything is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.listener_properties import PLAINTEXT
from falkirk.server.errors import ServerError

if TYPE_CHECKING:
    from falkirk.node.config import NodeConfig

# Both are the same authorizer: its place in the jars has changed.
AUTHORIZERS: Final = ("", "org.apache.kafka.metadata.authorizer.StandardAuthorizer")


def check_is_served(config: NodeConfig) -> None:
    """Raise ServerError for security protocols and plugins that are not there."""
    for listener in config.listeners:
        if listener.security_protocol != PLAINTEXT:
            raise ServerError(
                f"listener {listener.name} has the security protocol {listener.security_protocol}: "
                "falkirk serves PLAINTEXT only, TLS and SASL are not served yet"
            )
    if config.authorizer_class_name not in AUTHORIZERS:
        raise ServerError(f"authorizer.class.name: falkirk has no {config.authorizer_class_name}")
    if "config.providers" in config.properties:
        raise ServerError("config.providers is not served yet: values must stand in server.properties themselves")
