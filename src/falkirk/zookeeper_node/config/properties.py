"""Parses server.properties of a broker on ZooKeeper.

Rules, their order and the texts are those of KafkaConfig of each release, as far as they concern what a node here does.
A configuration that this node cannot honour is refused, never ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.node.config.config_limits import check_limits
from falkirk.node.config.listener_properties import read_listeners, split_entries
from falkirk.node.config.role_checks import (
    check_broker_listeners,
    check_hosts,
    check_sasl,
    inter_broker_listener_name,
)
from falkirk.node.config.security_settings import read_security
from falkirk.node.config.server_properties import is_true, node_listeners, parse_values, unused_keys
from falkirk.versions import inter_broker_protocol
from falkirk.versions.configs.definition import ConfigError, ConfigType, Definition, Range
from falkirk.versions.configs.server import definitions
from falkirk.versions.errors import UnknownInterBrokerProtocolError
from falkirk.versions.inter_broker_protocol import IBP_CONFIG, IBP_FEATURE
from falkirk.versions.release import all_releases
from falkirk.versions.supported_range import SupportedRange
from falkirk.zookeeper_node.config.connect_string import is_znode_path, parse_connect_string
from falkirk.zookeeper_node.config.zookeeper_node_config import FEATURES_PATH, ZooKeeperNodeConfig
from falkirk.zookeeper_node.config.zookeeper_security import SECURITY_KEYS, read_zookeeper_security

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.node.config.listener_properties import ListenerProperties
    from falkirk.node.config.security_settings import SecuritySettings
    from falkirk.versions.configs.definition import Value
    from falkirk.versions.inter_broker_protocol import InterBrokerProtocol
    from falkirk.versions.release import Release

AUTHORIZER: Final = "kafka.security.authorizer.AclAuthorizer"
"""The only authorizer of brokers on ZooKeeper; its ACLs are in ZooKeeper too."""
# Fields with a key's value unchanged.
_FIELDS: Final[Mapping[str, str]] = {
    "node_id": "broker.id",
    "zookeeper_session_timeout_ms": "zookeeper.session.timeout.ms",
    "authorizer_class_name": "authorizer.class.name",
    "unstable_api_versions_enable": "unstable.api.versions.enable",
    "socket_request_max_bytes": "socket.request.max.bytes",
    "connections_max_idle_ms": "connections.max.idle.ms",
}
_SUPPORTED_FEATURES: Final = "falkirk.supported.features"
_FEATURES_PATH: Final = "falkirk.zookeeper.features.path"
# Our own keys, with their fields.
_OWN: Final[Mapping[str, tuple[str, Definition]]] = {
    _FEATURES_PATH: ("features_path", Definition(ConfigType.STRING, default=FEATURES_PATH)),
    "falkirk.zookeeper.refresh.ms": ("refresh_ms", Definition(ConfigType.LONG, 60_000, Range(1))),
    "falkirk.kip.778": ("kip_778", Definition(ConfigType.BOOLEAN, default=False)),
    "falkirk.metrics.listener": ("metrics_listener", Definition(ConfigType.STRING, default=None)),
}
_IGNORED: Final[Mapping[str, str]] = {
    "control.plane.listener.name": "nodes on ZooKeeper ask each other nothing",
    "log.message.format.version": "no messages are kept",
}
# Switches that this node does not implement, and why.
_UNSERVED: Final[Mapping[str, str]] = {
    "zookeeper.metadata.migration.enable": "this node does not migrate",
}
_LEVEL_MAX: Final = 0x7FFF
_LEVELS: Final = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperProperties:
    """A parsed file; as `falkirk.node.config.server_properties.ServerProperties`."""

    config: ZooKeeperNodeConfig
    values: "Mapping[str, Value]"
    security_protocols: "Mapping[str, str]"
    warnings: tuple[str, ...]


def read_zookeeper_properties(properties: Mapping[str, str], release: Release, *, hostname: str) -> ZooKeeperProperties:
    """Read the properties as a broker of `release` would; `hostname` is advertised where a listener names no host.

    Raises ConfigError: one line for each invalid value or, if all are valid, for the first rule that is broken.
    """
    if not release.has_zookeeper:
        last = [known for known in all_releases() if known.has_zookeeper][-1]
        raise ConfigError(f"zookeeper.connect: release {release} has no ZooKeeper; the last one that has is {last}")
    known = definitions(release)
    values = parse_values(properties, known)
    own = _own_values(properties)
    _check_broker_id(values)
    _check_served(values)
    read_zookeeper_security(properties)
    check_limits(values, release)
    listeners = read_listeners(values, is_map_set="listener.security.protocol.map" in properties)
    _check_listeners(properties, values, listeners)
    check_sasl(values, properties, known, listeners.security_protocols, is_broker=True)
    protocol = _inter_broker_protocol(str(values[IBP_CONFIG]), release)
    rack, session_timeout_ms = values["broker.rack"], values["zookeeper.session.timeout.ms"]
    connection_timeout_ms = values["zookeeper.connection.timeout.ms"]
    config = ZooKeeperNodeConfig(
        release=release,
        listeners=node_listeners(listeners, hostname),
        zookeeper_connect=str(parse_connect_string(str(values["zookeeper.connect"]))),
        inter_broker_listener_name=inter_broker_listener_name(values),
        inter_broker_protocol=protocol,
        supported_features=_supported_features(properties.get(_SUPPORTED_FEATURES, ""), release),
        zookeeper_connection_timeout_ms=_number(
            session_timeout_ms if connection_timeout_ms is None else connection_timeout_ms
        ),
        rack=None if rack is None else str(rack),
        properties=dict(properties),
        super_users=properties.get("super.users", ""),
        allow_everyone_if_no_acl_found=is_true(properties.get("allow.everyone.if.no.acl.found")),
        **_plain_fields(values),
        **own,
    )
    return ZooKeeperProperties(
        config=config,
        values=values,
        security_protocols=listeners.security_protocols,
        warnings=tuple(_warnings(properties, known)),
    )


def read_security_settings(properties: ZooKeeperProperties) -> SecuritySettings:
    """Read how clients authenticate. Raises ConfigError. Read separately, as for KRaft nodes."""
    config = properties.config
    return read_security(
        config.properties,
        properties.values,
        definitions(config.release),
        listeners={listener.name: listener.security_protocol for listener in config.listeners},
        # Nodes on ZooKeeper do not connect to each other.
        outbound={},
    )


def _require(holds: bool, text: str) -> None:  # noqa: FBT001 - it reads like the sentence that it is
    if not holds:
        raise ConfigError(text)


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _plain_fields(values: Mapping[str, Value]) -> dict[str, Any]:  # Any: each has its field's type, by the definitions
    return {field: values[key] for field, key in _FIELDS.items()}


def _own_values(properties: Mapping[str, str]) -> dict[str, Any]:  # Any: as in `_plain_fields`
    own: dict[str, Any] = {
        field: definition.parse(name, properties[name])
        for name, (field, definition) in _OWN.items()
        if name in properties
    }
    path = own.get("features_path", FEATURES_PATH)
    _require(is_znode_path(path), f"{_FEATURES_PATH}: {path} is not the path of a znode")
    return own


def _check_broker_id(values: Mapping[str, Value]) -> None:
    node_id, broker_id = _number(values["node.id"]), _number(values["broker.id"])
    _require(node_id == broker_id, "You must set `node.id` to the same value as `broker.id`.")
    if values["broker.id.generation.enable"] is True:
        _require(
            -1 <= broker_id <= _number(values["reserved.broker.max.id"]),
            "broker.id must be greater than or equal to -1 and not greater than reserved.broker.max.id",
        )
        _require(broker_id >= 0, "broker.id must be set: falkirk does not let ZooKeeper give numbers to brokers")
    _require(broker_id >= 0, "broker.id must be greater than or equal to 0")


def _check_served(values: Mapping[str, Value]) -> None:
    for key, reason in _UNSERVED.items():
        _require(values[key] is not True, f"{key}: {reason}")
    authorizer = values["authorizer.class.name"]
    _require(
        authorizer in ("", AUTHORIZER),
        f"authorizer.class.name: falkirk has no {authorizer} for brokers on ZooKeeper, only {AUTHORIZER}",
    )


def _check_listeners(properties: Mapping[str, str], values: Mapping[str, Value], listeners: ListenerProperties) -> None:
    names = split_entries(values["controller.listener.names"])
    _require(not names, f"controller.listener.names must be empty when not running in KRaft mode: [{', '.join(names)}]")
    check_broker_listeners(values, listeners, is_protocol_set="security.inter.broker.protocol" in properties)
    check_hosts(listeners.advertised)


def _inter_broker_protocol(text: str, release: Release) -> InterBrokerProtocol:
    try:
        protocol = inter_broker_protocol.parse(text)
    except UnknownInterBrokerProtocolError as error:
        raise ConfigError(str(error)) from error
    highest = _highest_protocol(release)
    _require(protocol <= highest, f"{IBP_CONFIG}: release {release} does not know {protocol}; its highest is {highest}")
    return protocol


def _highest_protocol(release: Release) -> InterBrokerProtocol:
    """Return the last protocol that a release knows, ready for production or not."""
    return inter_broker_protocol.parse(release.kraft.metadata_versions[-1].name)


def _supported_features(text: str, release: Release) -> dict[str, SupportedRange]:
    """Parse `name:lowest-highest,...`; the release's own feature is added unless it is named."""
    highest = inter_broker_protocol.feature_level(inter_broker_protocol.latest(release))
    supported: dict[str, SupportedRange] = {}
    for entry in split_entries(text):
        name, _, levels = entry.rpartition(":")
        match = _LEVELS.fullmatch(levels.strip())
        _require(bool(name.strip()) and match is not None, f"{_SUPPORTED_FEATURES}: {entry} is not name:lowest-highest")
        assert match is not None
        lowest = int(match[1])
        found = SupportedRange(lowest, int(match[2] or lowest))
        _require(
            1 <= found.lowest <= found.highest <= _LEVEL_MAX,
            f"{_SUPPORTED_FEATURES}: {entry}: levels go from 1 to {_LEVEL_MAX}, the lowest one first",
        )
        _require(name.strip() not in supported, f"{_SUPPORTED_FEATURES}: {name.strip()} is there twice")
        supported[name.strip()] = found
    if IBP_FEATURE in supported:
        known = inter_broker_protocol.feature_level(_highest_protocol(release))
        reason = f"{_SUPPORTED_FEATURES}: release {release} knows {IBP_FEATURE} up to level {known}"
        _require(supported[IBP_FEATURE].highest <= known, reason)
    return dict(sorted({IBP_FEATURE: SupportedRange(1, highest), **supported}.items()))


def _warnings(properties: Mapping[str, str], known: Mapping[str, Definition]) -> list[str]:
    warnings = [f"{name} is ignored: {reason}" for name, reason in _IGNORED.items() if name in properties]
    return [*warnings, *unused_keys(properties, {*known, *_OWN, *_IGNORED, *SECURITY_KEYS, _SUPPORTED_FEATURES})]
