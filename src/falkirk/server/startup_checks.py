"""What a node may be configured for that falkirk does not serve yet: said before anything is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.server_properties import read_security_settings
from falkirk.server.errors import ServerError
from falkirk.versions.config_definition import ConfigError

if TYPE_CHECKING:
    from falkirk.node.config import NodeConfig
    from falkirk.node.security_settings import SecuritySettings
    from falkirk.node.server_properties import ServerProperties

# Both are the same authorizer: its place in the jars has changed.
AUTHORIZERS: Final = ("", "org.apache.kafka.metadata.authorizer.StandardAuthorizer")


def check_is_served(config: NodeConfig) -> None:
    """Raise ServerError for plugins that are not there."""
    if config.authorizer_class_name not in AUTHORIZERS:
        raise ServerError(f"authorizer.class.name: falkirk has no {config.authorizer_class_name}")
    if "config.providers" in config.properties:
        raise ServerError("config.providers is not served yet: values must stand in server.properties themselves")


def security_settings(properties: ServerProperties) -> SecuritySettings:
    """Give who may connect, and as whom the node connects. Raises ServerError, for what is not there by its name."""
    try:
        return read_security_settings(properties)
    except ConfigError as error:
        raise ServerError(str(error)) from error
