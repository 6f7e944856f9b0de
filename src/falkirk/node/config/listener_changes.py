"""What a change of `listeners` and its kin on a running broker may be.

Listeners come and go by name; one that stays keeps its address, its security protocol and its own configs. What a
broker has registered stays as it was, so a new listener is not advertised. Source: DynamicListenerConfig.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.config.security_settings import listener_prefix
from falkirk.node.config.server_properties import read_server_properties
from falkirk.versions.configs.definition import ConfigError
from falkirk.versions.configs.server import dynamic_configs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.node.config.server_properties import ServerProperties
    from falkirk.versions.release import Release

LISTENERS: Final = "listeners"
SECURITY_PROTOCOLS: Final = "listener.security.protocol.map"
_ADVERTISED: Final = "advertised.listeners"
STORES: Final = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
"""Configs of a listener's key and trust stores, which may change while it is open."""
LIMITS: Final = frozenset({"max.connection.creation.rate", "max.connections", "num.network.threads"})
"""Other configs of a listener that may change while it is open; they have a default for all brokers."""


def check_listeners(before: Mapping[str, str], after: Mapping[str, str], release: Release) -> None:
    """Check the effective configs of a broker before and after a change. Raises ConfigError in Kafka's words."""
    new = read_server_properties(after, release, hostname="localhost")
    if not any(before.get(key) != after.get(key) for key in (LISTENERS, SECURITY_PROTOCOLS, _ADVERTISED)):
        return
    old = read_server_properties(before, release, hostname="localhost")
    named, was_named = ({one.name: one for one in each.config.listeners} for each in (new, old))
    # Since 4.0 a broker cannot advertise other listeners while it runs, and so keeps all that it does advertise.
    is_advertising_fixed = _ADVERTISED not in dynamic_configs(release)
    advertised = _advertised(old if is_advertising_fixed else new)
    if not advertised.keys() <= named.keys():
        raise ConfigError(f"Advertised listeners '{_set(advertised)}' must be a subset of listeners '{_set(named)}'")
    for name in named.keys() & was_named.keys():
        if _fixed(before, name) != _fixed(after, name):
            raise ConfigError(
                f"Configs cannot be updated dynamically for existing listener ListenerName({name}), restart broker or "
                "create a new listener for update"
            )
        if named[name].security_protocol != was_named[name].security_protocol:
            raise ConfigError(f"Security protocol cannot be updated for existing listener ListenerName({name})")
    if not is_advertising_fixed and advertised != _advertised(old):
        raise ConfigError("Advertised listeners cannot be altered when using a Raft-based metadata quorum.")


def _advertised(properties: ServerProperties) -> dict[str, object]:
    listeners = properties.config.listeners
    return {one.name: one.advertised for one in listeners if one.is_advertised and not one.is_controller}


def _fixed(configs: Mapping[str, str], listener: str) -> dict[str, str]:
    prefix = listener_prefix(listener)
    own = {key.removeprefix(prefix): value for key, value in configs.items() if key.startswith(prefix)}
    return {key: value for key, value in own.items() if key not in STORES | LIMITS}


def _set(names: Iterable[str]) -> str:
    """Return names as Scala shows a set of them."""
    return f"Set({', '.join(f'ListenerName({name})' for name in names)})"
