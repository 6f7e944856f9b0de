"""Parses server.properties with the types, defaults, checks and texts of the node's release.

Rules, their order and the texts are those of KafkaConfig of each release; where only Java or Scala explains a text of
Kafka's, it is our own. A key that the release does not know is a warning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.node.config.listener_properties import read_listeners
from falkirk.node.config.node_config import BROKER, CONTROLLER, Listener, NodeConfig
from falkirk.node.config.quorum_properties import BOOTSTRAP_SERVERS, VOTERS, parse_bootstrap_servers, parse_voters
from falkirk.node.config.role_checks import check_node, check_roles, check_sasl, inter_broker_listener_name
from falkirk.node.config.security_settings import JAAS_CONFIG, SASL_PROTOCOLS, listener_prefix, read_security
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.sasl.login import MECHANISMS
from falkirk.versions.configs.definition import ConfigError, ConfigType, Definition, Required
from falkirk.versions.configs.server import definitions

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from falkirk.node.config.listener_properties import ListenerProperties
    from falkirk.node.config.security_settings import SecuritySettings
    from falkirk.versions.configs.definition import Value
    from falkirk.versions.release import Release

# What a listener may have of its own.
_OWN_LIMITS: Final = ("max.connections", "max.connection.creation.rate")
# Fields with a key's value unchanged, where the release has the key.
_FIELDS: Final[Mapping[str, str]] = {
    "quorum_election_timeout_ms": "controller.quorum.election.timeout.ms",
    "quorum_election_backoff_max_ms": "controller.quorum.election.backoff.max.ms",
    "quorum_fetch_timeout_ms": "controller.quorum.fetch.timeout.ms",
    "quorum_request_timeout_ms": "controller.quorum.request.timeout.ms",
    "quorum_retry_backoff_ms": "controller.quorum.retry.backoff.ms",
    "quorum_auto_join": "controller.quorum.auto.join.enable",
    "metadata_log_segment_bytes": "metadata.log.segment.bytes",
    "metadata_log_segment_ms": "metadata.log.segment.ms",
    "metadata_max_retention_bytes": "metadata.max.retention.bytes",
    "metadata_max_retention_ms": "metadata.max.retention.ms",
    "metadata_log_max_record_bytes_between_snapshots": "metadata.log.max.record.bytes.between.snapshots",
    "metadata_log_max_snapshot_interval_ms": "metadata.log.max.snapshot.interval.ms",
    "metadata_max_idle_interval_ms": "metadata.max.idle.interval.ms",
    "num_partitions": "num.partitions",
    "default_replication_factor": "default.replication.factor",
    "broker_session_timeout_ms": "broker.session.timeout.ms",
    "broker_heartbeat_interval_ms": "broker.heartbeat.interval.ms",
    "auto_leader_rebalance_enable": "auto.leader.rebalance.enable",
    "authorizer_class_name": "authorizer.class.name",
    "delegation_token_secret_key": "delegation.token.secret.key",
    "delegation_token_max_lifetime_ms": "delegation.token.max.lifetime.ms",
    "delegation_token_expiry_time_ms": "delegation.token.expiry.time.ms",
    "delegation_token_expiry_check_interval_ms": "delegation.token.expiry.check.interval.ms",
    "unstable_api_versions_enable": "unstable.api.versions.enable",
    "unstable_feature_versions_enable": "unstable.feature.versions.enable",
    "socket_request_max_bytes": "socket.request.max.bytes",
    "queued_max_requests": "queued.max.requests",
    "connections_max_idle_ms": "connections.max.idle.ms",
}
# Our own keys, with their fields.
_OWN: Final[Mapping[str, tuple[str, Definition]]] = {
    "falkirk.downgrade.enable": ("downgrade_enable", Definition(ConfigType.BOOLEAN, default=True)),
    "falkirk.downgrade.advertise": ("downgrade_advertise", Definition(ConfigType.BOOLEAN, default=True)),
    "falkirk.lift": ("is_lift", Definition(ConfigType.BOOLEAN, default=False)),
    "falkirk.undo.dir": ("undo_dir", Definition(ConfigType.STRING, default=None)),
    "falkirk.group.coordinator.tolerant": (
        "tolerant_group_coordinator",
        Definition(ConfigType.BOOLEAN, default=False),
    ),
    "falkirk.metrics.listener": ("metrics_listener", Definition(ConfigType.STRING, default=None)),
}
# Read by the authorizer, not defined as broker configs.
_AUTHORIZER_KEYS: Final = frozenset({"super.users", "allow.everyone.if.no.acl.found"})
# Keys of listeners and plugins, which may be anything.
_OPEN_PREFIXES: Final = ("listener.name.", "config.providers.", "rlmm.config.", "rsm.config.")
_IGNORED: Final[Mapping[str, str]] = {
    "inter.broker.protocol.version": "the cluster's finalized metadata.version decides",
    "log.message.format.version": "messages have format version 2",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProperties:
    """A parsed file. `warnings` are lines for the operator; `values` has every key of the release, typed.

    `security_protocols`: by name of a listener, including those that the node only connects to.
    """

    config: NodeConfig
    values: "Mapping[str, Value]"
    security_protocols: "Mapping[str, str]"
    warnings: tuple[str, ...]


def read_server_properties(properties: Mapping[str, str], release: Release, *, hostname: str) -> ServerProperties:
    """Read the properties as a node of `release` would; `hostname` is advertised where a listener names no host.

    Raises ConfigError: one line for each invalid value or, if all are valid, for the first rule that is broken.
    """
    if is_on_zookeeper(properties):
        raise ConfigError(
            "zookeeper.connect is set and process.roles is not: these are the properties of a broker on ZooKeeper, "
            "not of a KRaft node"
        )
    own_fields = _own_fields(properties)
    if own_fields.get("is_lift") is True:
        properties = controller_alone(properties)
    known = definitions(release)
    values = parse_values(properties, known)
    listeners = read_listeners(values, is_map_set="listener.security.protocol.map" in properties)
    voters = parse_voters(_strings(values[VOTERS]))
    bootstrap_servers = parse_bootstrap_servers(_strings(values.get(BOOTSTRAP_SERVERS)))
    roles = frozenset(_strings(values["process.roles"]))
    log_dirs = _log_dirs(values)
    check_node(values, roles, log_dirs, release)
    check_roles(
        values,
        roles,
        listeners,
        voters,
        has_bootstrap_servers=bool(bootstrap_servers),
        is_protocol_set="security.inter.broker.protocol" in properties,
        release=release,
    )
    check_sasl(values, properties, known, listeners.security_protocols, is_broker=BROKER in roles)
    _check_limits(properties, known, listeners)
    node_id = values["node.id"]
    assert isinstance(node_id, int)
    rack = values["broker.rack"]
    config = NodeConfig(
        release=release,
        node_id=node_id,
        process_roles=roles,
        listeners=node_listeners(listeners, hostname),
        controller_listener_names=listeners.controller_listener_names,
        # If both are set the voters win, as in Kafka.
        quorum_voters=voters or None,
        quorum_bootstrap_servers=() if voters else bootstrap_servers,
        log_dirs=log_dirs,
        metadata_log_dir=str(values["metadata.log.dir"] or log_dirs[0]),
        rack=None if rack is None else str(rack),
        properties=dict(properties),
        inter_broker_listener_name=inter_broker_listener_name(values)
        if BROKER in roles
        else _listener_of_brokers(values, properties, listeners.security_protocols),
        super_users=properties.get("super.users", ""),
        allow_everyone_if_no_acl_found=is_true(properties.get("allow.everyone.if.no.acl.found")),
        **_plain_fields(values),
        **own_fields,
    )
    return ServerProperties(
        config=config,
        values=values,
        security_protocols=listeners.security_protocols,
        warnings=tuple(_warnings(properties, known, listeners, roles)),
    )


def controller_alone(properties: Mapping[str, str]) -> Mapping[str, str]:
    """Return the properties without the broker role: a lift needs the controller only. Raises ConfigError."""
    roles = {role.strip() for role in properties.get("process.roles", "").split(",")}
    if CONTROLLER not in roles:
        raise ConfigError("falkirk.lift=true is only supported when process.roles has controller.")
    names = {name.strip().upper() for name in properties.get("controller.listener.names", "").split(",")}
    changed = {**properties, "process.roles": CONTROLLER}
    for key in ("listeners", "advertised.listeners"):
        texts = properties.get(key, "").split(",")
        changed[key] = ",".join(text.strip() for text in texts if text.partition("://")[0].strip().upper() in names)
        if not changed[key]:
            del changed[key]
    return changed


def is_on_zookeeper(properties: Mapping[str, str]) -> bool:
    """Return whether a file is of a broker on ZooKeeper (see `zookeeper_node.properties`), not of a KRaft node."""
    return "process.roles" not in properties and "zookeeper.connect" in properties


def read_security_settings(properties: ServerProperties) -> SecuritySettings:
    """Read how clients authenticate, and how the node does. Raises ConfigError.

    Read separately, because Kafka too finds errors in these keys only when it starts its listeners.
    """
    config, protocols = properties.config, properties.security_protocols
    outbound = {config.controller_listener_names[0]: "sasl.mechanism.controller.protocol"}
    if config.inter_broker_listener_name is not None:
        outbound[config.inter_broker_listener_name] = "sasl.mechanism.inter.broker.protocol"
    return read_security(
        config.properties,
        properties.values,
        definitions(config.release),
        listeners={listener.name: listener.security_protocol for listener in config.listeners},
        outbound={name: (protocols[name], key) for name, key in outbound.items()},
    )


def _listener_of_brokers(
    values: Mapping[str, Value], properties: Mapping[str, str], protocols: Mapping[str, str]
) -> str | None:
    """Return the inter-broker listener for a controller if its file has all that it takes to connect to it, else None.

    Kafka's controllers ignore the key, so a missing key is no error.
    """
    name, mechanism = inter_broker_listener_name(values), str(values["sasl.mechanism.inter.broker.protocol"])
    if "inter.broker.listener.name" not in properties or name not in protocols:
        return None
    login = f"{listener_prefix(name)}{mechanism.lower()}.{JAAS_CONFIG}"
    has_login = mechanism in MECHANISMS and login in properties
    return name if has_login or protocols[name] not in SASL_PROTOCOLS else None


def _with_synonyms(properties: Mapping[str, str]) -> dict[str, str]:
    """Fill in `broker.id` and `node.id` from each other."""
    known = dict(properties)
    for key, other in (("broker.id", "node.id"), ("node.id", "broker.id")):
        if key in properties:
            known.setdefault(other, properties[key])
    return known


def parse_values(properties: Mapping[str, str], known: Mapping[str, Definition]) -> dict[str, Value]:
    """Return every key of the release, typed. Raises ConfigError with one line for each invalid value."""
    values: dict[str, Value] = {}
    problems: list[str] = []
    with_synonyms = _with_synonyms(properties)
    for name, definition in known.items():
        text = with_synonyms.get(name)
        if text is None and isinstance(definition.default, Required):
            problems.append(f'Missing required configuration "{name}" which has no default value.')
        elif text is None:
            assert not isinstance(definition.default, Required)
            values[name] = definition.default
        else:
            try:
                values[name] = definition.parse(name, text)
            except ConfigError as error:
                # The value of a synonym is reported under its own key.
                if name in properties:
                    problems.append(str(error))
    if problems:
        raise ConfigError("\n".join(problems))
    return values


def _check_limits(
    properties: Mapping[str, str], known: Mapping[str, Definition], listeners: ListenerProperties
) -> None:
    """Check each listener's own limits of connections. Raises ConfigError, as Kafka when it starts the listener."""
    for listener in listeners.listeners:
        for key in _OWN_LIMITS:
            name = listener_prefix(listener.name) + key
            if name in properties:
                known[key].parse(name, properties[name])


def _strings(value: Value) -> tuple[str, ...]:
    assert value is None or isinstance(value, tuple)
    return value or ()


def _log_dirs(values: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the directories. Older releases accept empty entries, which newer ones refuse."""
    value = values["log.dirs"] if values["log.dirs"] is not None else values["log.dir"]
    entries = value if isinstance(value, tuple) else str(value).split(",")
    return tuple(dict.fromkeys(entry.strip() for entry in entries if entry.strip()))


def is_true(text: str | None) -> bool:
    """Return a switch as the authorizer parses it."""
    return text is not None and text.strip().lower() == "true"


def node_listeners(properties: ListenerProperties, hostname: str) -> tuple[Listener, ...]:
    """Return the listeners; `hostname` is advertised where one names no host."""
    advertised = {
        one.name: one.endpoint for one in (*properties.advertised_controller_listeners, *properties.advertised)
    }
    return tuple(
        Listener(
            name=one.name,
            security_protocol=one.security_protocol,
            endpoint=one.endpoint,
            advertised=_with_host(advertised.get(one.name, one.endpoint), hostname),
            is_controller=one.name in properties.controller_listener_names,
            is_advertised=one.name in advertised,
        )
        for one in properties.listeners
    )


def _with_host(endpoint: Endpoint, hostname: str) -> Endpoint:
    return Endpoint(endpoint.host or hostname, endpoint.port)


def _plain_fields(values: Mapping[str, Value]) -> dict[str, Any]:  # Any: each has its field's type, by the definitions
    fields = {field: values[key] for field, key in _FIELDS.items() if key in values}
    interval = values["leader.imbalance.check.interval.seconds"]
    assert isinstance(interval, int)
    fields["leader_imbalance_check_interval_ms"] = interval * 1000
    if fields["delegation_token_secret_key"] is None:
        fields["delegation_token_secret_key"] = values.get("delegation.token.master.key")
    # Since 4.1 the minimum is 8 MiB, except through this key for tests.
    smaller = values.get("internal.metadata.log.segment.bytes")
    if smaller is not None:
        fields["metadata_log_segment_bytes"] = smaller
    return fields


def _own_fields(properties: Mapping[str, str]) -> dict[str, Any]:  # Any: as in `_plain_fields`
    return {
        field: definition.parse(name, properties[name])
        for name, (field, definition) in _OWN.items()
        if name in properties
    }


def unused_keys(properties: Mapping[str, str], known: Collection[str]) -> list[str]:
    """Return the warning for unknown keys; empty if there are none."""
    unknown = [
        name
        for name in properties
        if name not in known and name not in _AUTHORIZER_KEYS and not name.startswith(_OPEN_PREFIXES)
    ]
    return [f"These configurations '[{', '.join(unknown)}]' were supplied but are not used yet."] if unknown else []


def _warnings(
    properties: Mapping[str, str],
    known: Mapping[str, Definition],
    listeners: ListenerProperties,
    roles: frozenset[str],
) -> Sequence[str]:
    warnings = [f"{name} is ignored: {reason}" for name, reason in _IGNORED.items() if name in properties]
    warnings += unused_keys(properties, {*known, *_OWN, *_IGNORED})
    names = listeners.controller_listener_names
    if roles == {BROKER} and len(names) > 1:
        warnings.append(
            "controller.listener.names has multiple entries; only the first will be used since process.roles=broker: "
            f"[{', '.join(names)}]"
        )
    if CONTROLLER in roles and properties.get(VOTERS) and properties.get(BOOTSTRAP_SERVERS):
        warnings.append(f"{BOOTSTRAP_SERVERS} is ignored: {VOTERS} is set")
    return warnings
