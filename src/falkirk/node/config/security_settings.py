"""Security settings in server.properties: how clients authenticate, and how the node itself does.

Keys of a listener win over those without `listener.name.<listener>.`; JAAS configurations belong to a listener and a
mechanism. Texts that Kafka has are Kafka's. Source: SaslChannelBuilder, JaasContext, KafkaConfig.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.metadata.requests.request_context import ANONYMOUS, Principal
from falkirk.node.config.principal_mapping import DEFAULT_MAPPING, PrincipalMapping
from falkirk.protocol.sasl.errors import JaasConfigError
from falkirk.protocol.sasl.login import MECHANISMS, read_login, read_module
from falkirk.protocol.sasl.plain import PLAIN
from falkirk.versions.configs.definition import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.protocol.sasl.login import Login
    from falkirk.versions.configs.definition import Definition, Value

JAAS_CONFIG: Final = "sasl.jaas.config"
ENABLED_MECHANISMS: Final = "sasl.enabled.mechanisms"
MAX_REAUTH_MS: Final = "connections.max.reauth.ms"
SASL_PROTOCOLS: Final = ("SASL_PLAINTEXT", "SASL_SSL")
SECURITY_PROTOCOL_IDS: Final = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}
"""Kafka's numbers of security protocols, as registrations have them."""
# Suffixes of keys that name Java classes, which cannot run here.
_CLASS_KEYS: Final = (
    "sasl.server.callback.handler.class",
    "sasl.client.callback.handler.class",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "ssl.engine.factory.class",
)
_PRINCIPAL_BUILDER: Final = "principal.builder.class"
_DEFAULT_BUILDER: Final = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSecurity:
    """What a listener requires of clients. `mechanisms`: empty without SASL; `plain_users`: passwords by name.

    `max_reauth_ms`: the session lifetime by mechanism; mechanisms whose sessions do not expire are missing.
    """

    mechanisms: tuple[str, ...] = ()
    plain_users: "Mapping[str, str]" = field(default_factory=dict, repr=False)
    max_reauth_ms: "Mapping[str, int]" = field(default_factory=dict)
    max_receive_bytes: int = 524288
    principal_mapping: PrincipalMapping = field(default_factory=lambda: PrincipalMapping(DEFAULT_MAPPING))

    def principal_of(self, peer_name: str | None) -> Principal | None:
        """Return the principal of a client's certificate; None if no mapping rule applies.

        With SASL a certificate admits a client, but does not identify it.
        """
        if peer_name is None or self.mechanisms:
            return ANONYMOUS
        name = self.principal_mapping.name_of(peer_name)
        return None if name is None else Principal("User", name)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuritySettings:
    """Settings by name of a listener. `logins`: how the node authenticates where the other side's listener has SASL.

    `failed_authentication_delay_ms`: the delay of a refusal.
    """

    listeners: "Mapping[str, ListenerSecurity]" = field(default_factory=dict)
    logins: "Mapping[str, Login]" = field(default_factory=dict)
    failed_authentication_delay_ms: int = 100

    @property
    def mechanisms(self) -> frozenset[str]:
        """The mechanisms that are enabled on any listener."""
        return frozenset(mechanism for listener in self.listeners.values() for mechanism in listener.mechanisms)

    def of_listener(self, name: str) -> ListenerSecurity:
        """Return the settings of a listener."""
        return self.listeners.get(name, NO_SECURITY)


NO_SECURITY: Final = ListenerSecurity()


def listener_prefix(listener: str) -> str:
    """Return the prefix of a listener's own keys."""
    return f"listener.name.{listener.lower()}."


class ListenerValues:
    """The properties as one listener sees them."""

    def __init__(
        self, properties: Mapping[str, str], values: Mapping[str, Value], known: Mapping[str, Definition], listener: str
    ) -> None:
        self.prefix = listener_prefix(listener)
        self._properties = properties
        self._values = values
        self._known = known

    def value(self, key: str, mechanism: str = "") -> Value:
        """Return the value of `listener.name.<listener>.[<mechanism>.]<key>`, else of `<key>`. Raises ConfigError."""
        names = [self.prefix + key]
        if mechanism:
            names.insert(0, f"{self.prefix}{mechanism.lower()}.{key}")
        for name in names:
            if name in self._properties:
                return self._known[key].parse(name, self._properties[name])
        return self._values.get(key)

    def jaas_config(self, mechanism: str) -> tuple[str, str | None]:
        """Return the key of the JAAS configuration, and its text or None."""
        name = f"{self.prefix}{mechanism.lower()}.{JAAS_CONFIG}"
        return name, self._properties.get(name)


def read_security(
    properties: Mapping[str, str],
    values: Mapping[str, Value],
    known: Mapping[str, Definition],
    *,
    listeners: Mapping[str, str],
    outbound: Mapping[str, tuple[str, str]],
) -> SecuritySettings:
    """Read the settings; `listeners`: security protocols by listener name.

    `outbound`: the listeners that the node connects to: by name, the security protocol and the key of its mechanism.
    Raises ConfigError.
    """
    _refuse_classes(properties)
    views = {name: ListenerValues(properties, values, known, name) for name in (*listeners, *outbound)}
    logins = {
        name: _login(views[name], name, key, str(values[key]))
        for name, (protocol, key) in outbound.items()
        if protocol in SASL_PROTOCOLS
    }
    return SecuritySettings(
        listeners={name: _listener(views[name], name, protocol) for name, protocol in listeners.items()},
        logins=logins,
        failed_authentication_delay_ms=_number(values["connection.failed.authentication.delay.ms"]),
    )


def _refuse_classes(properties: Mapping[str, str]) -> None:
    for key, value in properties.items():
        is_builder = key.endswith(_PRINCIPAL_BUILDER) and value.strip() != _DEFAULT_BUILDER
        if value.strip() and (is_builder or key.endswith(_CLASS_KEYS)):
            raise ConfigError(f"{key}: falkirk has no {value.strip()}")


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _listener(view: ListenerValues, name: str, protocol: str) -> ListenerSecurity:
    mapping = PrincipalMapping(str(view.value("ssl.principal.mapping.rules")))
    if protocol not in SASL_PROTOCOLS:
        return ListenerSecurity(principal_mapping=mapping)
    mechanisms = view.value(ENABLED_MECHANISMS)
    assert isinstance(mechanisms, tuple)
    enabled = tuple(dict.fromkeys(mechanisms))
    _check_mechanisms(enabled, f"{ENABLED_MECHANISMS} of listener {name}")
    plain_users: Mapping[str, str] = {}
    for mechanism in enabled:
        options = _options(view, name, mechanism)
        if mechanism == PLAIN:
            prefix = "user_"
            plain_users = {key.removeprefix(prefix): value for key, value in options.items() if key.startswith(prefix)}
    limits = {mechanism: _number(view.value(MAX_REAUTH_MS, mechanism)) for mechanism in enabled}
    return ListenerSecurity(
        mechanisms=enabled,
        plain_users=plain_users,
        max_reauth_ms={mechanism: limit for mechanism, limit in limits.items() if limit > 0},
        max_receive_bytes=_number(view.value("sasl.server.max.receive.size")),
        principal_mapping=mapping,
    )


def _check_mechanisms(mechanisms: Sequence[str], where: str) -> None:
    if not mechanisms:
        raise ConfigError(f"{where}: No SASL mechanisms are enabled")
    for mechanism in mechanisms:
        if mechanism not in MECHANISMS:
            raise ConfigError(f"{where}: falkirk has no {mechanism}, only {', '.join(MECHANISMS)}")


def _text(view: ListenerValues, name: str, mechanism: str) -> tuple[str, str]:
    key, text = view.jaas_config(mechanism)
    if text is None:
        raise ConfigError(
            f"{key} is not set: Could not find a 'KafkaServer' or '{name.lower()}.KafkaServer' entry in the JAAS "
            "configuration. System property 'java.security.auth.login.config' is not set"
        )
    return key, text


def _options(view: ListenerValues, name: str, mechanism: str) -> Mapping[str, str]:
    key, text = _text(view, name, mechanism)
    try:
        return read_module(mechanism, text).options
    except JaasConfigError as error:
        raise ConfigError(f"{key}: {error}") from error


def _login(view: ListenerValues, name: str, mechanism_key: str, mechanism: str) -> Login:
    _check_mechanisms((mechanism,), mechanism_key)
    key, text = _text(view, name, mechanism)
    try:
        return read_login(mechanism, text)
    except JaasConfigError as error:
        raise ConfigError(f"{key}: {error}") from error
