"""The replication settings in server.properties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.node.config.static_configs import static_value
from falkirk.versions.configs.server import definitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.node.config.node_config import NodeConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationSettings:
    """Names are those of Kafka's configuration, times are in ms, sizes in bytes; the defaults are the release's.

    `inter_broker_listener_name`: the listener of other brokers that replicas are fetched from.
    """

    inter_broker_listener_name: str
    replica_lag_time_max_ms: int
    replica_fetch_max_bytes: int
    replica_fetch_wait_max_ms: int
    replica_fetch_min_bytes: int
    replica_fetch_response_max_bytes: int
    replica_fetch_backoff_ms: int
    replica_socket_timeout_ms: int
    replica_selector_class: str | None

    @classmethod
    def of(cls, config: NodeConfig) -> ReplicationSettings:
        """Return the settings of a node."""
        known = definitions(config.release)
        # Any: each has its field's type, by the definitions.
        values: dict[str, Any] = {
            field: static_value(config.properties, config.release, key) for field, key in _KEYS.items() if key in known
        }
        return cls(inter_broker_listener_name=_inter_broker_listener_name(config), **values)


_KEYS: Final[Mapping[str, str]] = {
    field: field.replace("_", ".")
    for field in ReplicationSettings.__dataclass_fields__
    if field != "inter_broker_listener_name"
}


def _inter_broker_listener_name(config: NodeConfig) -> str:
    name = static_value(config.properties, config.release, "inter.broker.listener.name")
    if name is None and "security.inter.broker.protocol" in config.properties:
        name = config.properties["security.inter.broker.protocol"]
    if name is None:
        name = next((listener.name for listener in config.listeners if not listener.is_controller), "PLAINTEXT")
    return str(name).upper()
