"""Constraints between keys of server.properties, by the roles of the node.

Rules, their order and the texts are those of KafkaConfig.validateValues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.config.config_limits import check_limits
from falkirk.node.config.listener_properties import split_entries
from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.node.config.quorum_properties import BOOTSTRAP_SERVERS, VOTERS
from falkirk.node.config.security_settings import ENABLED_MECHANISMS, SASL_PROTOCOLS, ListenerValues
from falkirk.versions.configs.definition import ConfigError
from falkirk.versions.features import KRAFT_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.node.config.listener_properties import ListenerAddress, ListenerProperties
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.versions.configs.definition import Definition, Value
    from falkirk.versions.release import Release

_NAMES: Final = "controller.listener.names"
_ROLES: Final = "process.roles"
_CORDONED: Final = "cordoned.log.dirs"


def check_node(values: Mapping[str, Value], roles: frozenset[str], log_dirs: Sequence[str], release: Release) -> None:
    """Check ids, roles and directories. Raises ConfigError."""
    node_id, broker_id = _number(values, "node.id"), _number(values, "broker.id")
    _require(bool(roles), f'Missing required configuration "{_ROLES}" which has no default value.')
    _require(
        len(roles) == len(_list(values, _ROLES)), f"Duplicate role names found in `{_ROLES}`: {_shown(values, _ROLES)}"
    )
    _require(node_id == broker_id, "You must set `node.id` to the same value as `broker.id`.")
    _require(
        node_id >= 0,
        "Missing configuration `node.id` which is required when `process.roles` is defined "
        "(i.e. when running in KRaft mode).",
    )
    is_migrating = values.get("zookeeper.metadata.migration.enable") is True
    _require(
        not is_migrating or values.get("zookeeper.connect") is not None,
        "If using `zookeeper.metadata.migration.enable` in KRaft mode, `zookeeper.connect` must also be set.",
    )
    _require(not is_migrating, f"zookeeper.metadata.migration.enable: this node of release {release} does not migrate")
    _require(bool(log_dirs), "At least one log directory must be defined via log.dirs or log.dir.")
    if BROKER in roles and _CORDONED in values:
        _check_cordoned(_list(values, _CORDONED), log_dirs)
    check_limits(values, release)


def check_roles(
    values: Mapping[str, Value],
    roles: frozenset[str],
    listeners: ListenerProperties,
    voters: Mapping[int, Endpoint],
    *,
    has_bootstrap_servers: bool,
    is_protocol_set: bool,
    release: Release,
) -> None:
    """Check listeners and voters; `is_protocol_set`: security.inter.broker.protocol is. Raises ConfigError."""
    has_dynamic_voters = KRAFT_VERSION in release.features
    _check_quorum(voters, has_bootstrap_servers=has_bootstrap_servers, has_dynamic_voters=has_dynamic_voters)
    _check_early_start(values, listeners)
    if BROKER not in roles:
        _require(
            has_dynamic_voters or values["advertised.listeners"] is None,
            f"The advertised.listeners config must be empty when {_ROLES}=controller",
        )
    elif not has_dynamic_voters:
        _require(
            not {one.name for one in listeners.advertised if values["advertised.listeners"]}
            & set(listeners.controller_listener_names),
            f"The advertised.listeners config must not contain KRaft controller listeners from {_NAMES} when {_ROLES} "
            "contains the broker role because Kafka clients that send requests via advertised listeners do not send "
            "requests to KRaft controllers -- they only send requests to KRaft brokers.",
        )
    _require(
        values.get("control.plane.listener.name") is None, "control.plane.listener.name is not supported in KRaft mode."
    )
    if CONTROLLER in roles:
        _check_controller(values, roles, listeners, voters)
    else:
        _check_broker_only(values, listeners, voters)
    if BROKER in roles:
        check_broker_listeners(values, listeners, is_protocol_set=is_protocol_set)
    check_hosts((*listeners.advertised_broker_listeners, *listeners.advertised_controller_listeners))


def check_broker_listeners(
    values: Mapping[str, Value], listeners: ListenerProperties, *, is_protocol_set: bool
) -> None:
    """Check the advertised and inter-broker listeners; `is_protocol_set` as for `check_roles`. Raises ConfigError."""
    advertised = listeners.advertised_broker_listeners
    _require(
        bool(advertised),
        f"There must be at least one broker advertised listener. Perhaps all listeners appear in {_NAMES}?",
    )
    _check_inter_broker_listener(values, listeners, is_protocol_set=is_protocol_set)
    name = inter_broker_listener_name(values)
    _require(
        name in {one.name for one in advertised},
        "inter.broker.listener.name must be a listener name defined in advertised.listeners. The valid options based "
        f"on currently configured listeners are {_joined(advertised)}",
    )
    _require(
        {one.name for one in advertised} <= {one.name for one in listeners.listeners},
        "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners. Found "
        f"{_joined(advertised)}. The valid options based on the current configuration are "
        f"{_joined(listeners.listeners)}",
    )


def check_hosts(advertised: Iterable[ListenerAddress]) -> None:
    """Check that advertised hosts are routable. Raises ConfigError."""
    for one in advertised:
        _require(
            one.endpoint.host != "0.0.0.0",  # noqa: S104 - compared, not listened on
            "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address.",
        )


def check_sasl(
    values: Mapping[str, Value],
    properties: Mapping[str, str],
    known: Mapping[str, Definition],
    security_protocols: Mapping[str, str],
    *,
    is_broker: bool,
) -> None:
    """Check the inter-broker mechanism and the delay of failed authentications. Raises ConfigError."""
    if is_broker:
        name = inter_broker_listener_name(values)
        enabled = ListenerValues(properties, values, known, name).value(ENABLED_MECHANISMS)
        assert isinstance(enabled, tuple)
        _require(
            security_protocols.get(name) not in SASL_PROTOCOLS
            or values["sasl.mechanism.inter.broker.protocol"] in enabled,
            f"sasl.mechanism.inter.broker.protocol must be included in {ENABLED_MECHANISMS} when SASL is used for "
            "inter-broker communication",
        )
    delay_key, idle_key = "connection.failed.authentication.delay.ms", "connections.max.idle.ms"
    delay_ms, idle_ms = _number(values, delay_key), _number(values, idle_key)
    _require(
        idle_ms < 0 or delay_ms < idle_ms,
        f"{delay_key}={delay_ms} should always be less than {idle_key}={idle_ms} to prevent failed authentication "
        "responses from timing out",
    )


def inter_broker_listener_name(values: Mapping[str, Value]) -> str:
    """Return the name of the inter-broker listener."""
    name = values["inter.broker.listener.name"]
    return str(values["security.inter.broker.protocol"] if name is None else name).upper()


def _require(holds: bool, text: str) -> None:  # noqa: FBT001 - it reads like the sentence that it is
    if not holds:
        raise ConfigError(text)


def _number(values: Mapping[str, Value], name: str) -> int:
    value = values[name]
    assert isinstance(value, int)
    return value


def _list(values: Mapping[str, Value], name: str) -> tuple[str, ...]:
    value = values[name]
    assert isinstance(value, tuple)
    return value


def _shown(values: Mapping[str, Value], name: str) -> str:
    return f"[{', '.join(_list(values, name))}]"


def _joined(addresses: Sequence[ListenerAddress]) -> str:
    return ",".join(address.name for address in addresses)


def _voter_set(voters: Mapping[int, Endpoint]) -> str:
    return f"{VOTERS}=Set({', '.join(map(str, voters))})"


def _check_cordoned(cordoned: Sequence[str], log_dirs: Sequence[str]) -> None:
    if "*" in cordoned:
        _require(len(cordoned) == 1, f"When {_CORDONED} is set to *, it must not contain other values")
        return
    missing = [log_dir for log_dir in cordoned if log_dir not in log_dirs]
    _require(
        not missing,
        f"All entries in {_CORDONED} must be present in log.dirs or log.dir. Missing entries : {', '.join(missing)}",
    )


def _check_early_start(values: Mapping[str, Value], listeners: ListenerProperties) -> None:
    names = {one.name for one in listeners.listeners}
    for name in split_entries(values["early.start.listeners"]):
        _require(
            name.upper() in names,
            f"early.start.listeners contains listener {name.upper()}, but this is not contained in listeners or "
            f"{_NAMES}",
        )


def _check_quorum(voters: Mapping[int, Endpoint], *, has_bootstrap_servers: bool, has_dynamic_voters: bool) -> None:
    if has_dynamic_voters:
        _require(
            bool(voters) or has_bootstrap_servers,
            f"If using {_ROLES}, either {BOOTSTRAP_SERVERS} must contain the set of bootstrap controllers or {VOTERS} "
            "must contain a parseable set of controllers.",
        )
    else:
        _require(bool(voters), f"If using {_ROLES}, {VOTERS} must contain a parseable set of voters.")


def _check_controller(
    values: Mapping[str, Value],
    roles: frozenset[str],
    listeners: ListenerProperties,
    voters: Mapping[int, Endpoint],
) -> None:
    node_id = _number(values, "node.id")
    if BROKER not in roles:
        _require(
            len(listeners.advertised_controller_listeners) == len(listeners.listeners),
            f"The listeners config must only contain KRaft controller listeners from {_NAMES} when {_ROLES}=controller",
        )
    _require(
        not voters or node_id in voters,
        f"If {_ROLES} contains the 'controller' role, the node id {node_id} must be included in the set of voters "
        f"{_voter_set(voters)}",
    )
    _require(
        bool(listeners.controller_listeners),
        f"{_NAMES} must contain at least one value appearing in the 'listeners' configuration when running the KRaft "
        "controller role",
    )
    names = {one.name for one in listeners.listeners}
    _require(
        names.issuperset(listeners.controller_listener_names),
        f"{_NAMES} must only contain values appearing in the 'listeners' configuration when running the KRaft "
        "controller role",
    )


def _check_broker_only(
    values: Mapping[str, Value], listeners: ListenerProperties, voters: Mapping[int, Endpoint]
) -> None:
    node_id = _number(values, "node.id")
    _require(
        node_id not in voters,
        f"If {_ROLES} contains just the 'broker' role, the node id {node_id} must not be included in the set of voters "
        f"{_voter_set(voters)}",
    )
    _require(
        bool(listeners.controller_listener_names),
        f"{_NAMES} must contain at least one value when running KRaft with just the broker role",
    )
    _require(
        not listeners.controller_listeners,
        f"{_NAMES} must not contain a value appearing in the 'listeners' configuration when running KRaft with just "
        "the broker role",
    )
    for name in listeners.controller_listener_names:
        _require(
            name.upper() in listeners.security_protocols,
            f"Controller listener with name {name.upper()} defined in {_NAMES} not found in "
            "listener.security.protocol.map  (an explicit security mapping for each controller listener is required "
            "if listener.security.protocol.map is non-empty, or if there are security protocols other than PLAINTEXT "
            "in use)",
        )
    _require(
        values.get("controller.quorum.auto.join.enable") is not True,
        f"controller.quorum.auto.join.enable is only supported when {_ROLES} contains the 'controller' role.",
    )


def _check_inter_broker_listener(
    values: Mapping[str, Value], listeners: ListenerProperties, *, is_protocol_set: bool
) -> None:
    name = values["inter.broker.listener.name"]
    _require(
        name is None or not is_protocol_set,
        "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set.",
    )
    _require(
        name is None or str(name).upper() in listeners.security_protocols,
        f"Listener with name {str(name).upper()} defined in inter.broker.listener.name not found in "
        "listener.security.protocol.map.",
    )
