"""The listeners of a node: those of server.properties, and what dynamic broker configs make of them.

What the driver does for them is in the effect Reconfigured. Source: DynamicListenerConfig, SocketServer.
"""

from __future__ import annotations

from dataclasses import replace
from traceback import format_exc
from typing import TYPE_CHECKING, Final

from falkirk.metadata.image.configs import BROKER
from falkirk.node.config.listener_changes import LIMITS, LISTENERS, SECURITY_PROTOCOLS
from falkirk.node.config.server_properties import read_security_settings, read_server_properties
from falkirk.node.effects import Fact, Reconfigured
from falkirk.versions.configs.definition import ConfigError
from falkirk.versions.configs.server import definitions, dynamic_configs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.image.configs import ConfigsImage
    from falkirk.node.config.node_config import Listener, NodeConfig
    from falkirk.node.effects import Effect

_PREFIX: Final = "listener.name."
_OF_ALL_BROKERS: Final = frozenset(
    {
        "max.connection.creation.rate",
        "max.connections",
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
    }
)
_OF_ONE: Final = _OF_ALL_BROKERS | {LISTENERS, SECURITY_PROTOCOLS}


class Listeners:
    """`by_name` and `security` are current."""

    def __init__(self, config: NodeConfig, effects: Callable[[Effect], None]) -> None:
        self.by_name: Mapping[str, Listener] = {listener.name: listener for listener in config.listeners}
        self.security = config.security
        self._config = config
        self._effects = effects
        self._dynamic: Mapping[str, str] = {}

    def apply(self, configs: ConfigsImage) -> None:
        """Apply the dynamic configs of an image, as far as they are others. Those that are wrong together are not."""
        dynamic = self._read(configs)
        if dynamic == self._dynamic:
            return
        self._dynamic = dynamic
        given = {**self._config.properties, **dynamic}
        try:
            properties = read_server_properties(given, self._config.release, hostname="localhost")
            security = read_security_settings(properties)
        except ConfigError as error:
            self._effects(Fact("error", "broker-configs-not-applied", {"reason": str(error)}))
            return
        except Exception as fault:  # noqa: BLE001 - as in the dispatcher: it would end the node at each start, too
            fields = {"reason": f"{type(fault).__name__}: {fault}", "traceback": format_exc()}
            self._effects(Fact("error", "broker-configs-not-applied", fields))
            return
        named = {listener.name: listener for listener in properties.config.listeners}
        opened = {name: replace(one, is_advertised=False) for name, one in named.items() if name not in self.by_name}
        closed = tuple(name for name in self.by_name if name not in named)
        self.by_name = {name: one for name, one in self.by_name.items() if name in named} | opened
        self.security = security
        self._effects(Reconfigured(given, tuple(opened), closed))

    def _read(self, configs: ConfigsImage) -> dict[str, str]:
        """Return the configs that count here and whose values parse; a broker's own win over those of all."""
        found = {}
        for resource, is_all in (("", True), (str(self._config.node_id), False)):
            for name, value in configs.of(BROKER, resource).items():
                is_listeners = name.startswith(_PREFIX)
                plain = name.split(".", 3)[-1] if is_listeners else name
                counts = (
                    (plain in LIMITS or not is_all)
                    if is_listeners
                    else name in (_OF_ALL_BROKERS if is_all else _OF_ONE)
                )
                if counts and self._is_valid(plain, value):
                    found[name] = value
        return found

    def _is_valid(self, name: str, value: str) -> bool:
        release = self._config.release
        definition = definitions(release).get(name)
        if definition is None or name not in dynamic_configs(release):
            return True
        try:
            parsed = definition.parse(name, value)
        except ConfigError:
            return False
        return name not in LIMITS or (isinstance(parsed, int) and parsed > 0)
