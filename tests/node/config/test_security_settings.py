"""server.properties, as far as it says who may connect and as whom the node connects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from falkirk.node.config.server_properties import read_security_settings, read_server_properties
from falkirk.protocol.sasl.jaas_config import PLAIN_LOGIN_MODULE, SCRAM_LOGIN_MODULE
from falkirk.versions.configs.definition import ConfigError
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from falkirk.node.config.security_settings import SecuritySettings

PLAIN = f'{PLAIN_LOGIN_MODULE} required username="node" password="node-secret" user_node="node-secret" user_a="b";'
SCRAM = f'{SCRAM_LOGIN_MODULE} required username="node" password="node-secret";'
NODE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@h:2",
    "listeners": "OUTSIDE://h:1,CONTROLLER://h:2,INSIDE://h:3",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "INSIDE",
    "listener.security.protocol.map": "OUTSIDE:SASL_SSL,CONTROLLER:SASL_PLAINTEXT,INSIDE:SASL_PLAINTEXT",
    "log.dirs": "/d",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
    "connections.max.reauth.ms": "1000",
    "listener.name.outside.scram-sha-512.connections.max.reauth.ms": "0",
    "listener.name.outside.plain.connections.max.reauth.ms": "2000",
    "listener.name.controller.sasl.server.max.receive.size": "100",
}
for _name in ("outside", "controller", "inside"):
    NODE[f"listener.name.{_name}.plain.sasl.jaas.config"] = PLAIN
    NODE[f"listener.name.{_name}.scram-sha-512.sasl.jaas.config"] = SCRAM


def read(changes: dict[str, str | None] | None = None) -> SecuritySettings:
    properties = {key: value for key, value in (NODE | (changes or {})).items() if value is not None}
    return read_security_settings(read_server_properties(properties, Release.parse("4.3"), hostname="h"))


def test_each_listener_has_what_its_own_keys_say_and_else_what_is_said_for_all() -> None:
    made = read({"listener.name.outside.sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN"})
    outside, controller = made.of_listener("OUTSIDE"), made.of_listener("CONTROLLER")
    assert outside.mechanisms == ("SCRAM-SHA-512", "PLAIN")
    assert controller.mechanisms == ("PLAIN", "SCRAM-SHA-512")
    assert outside.max_reauth_ms == {"PLAIN": 2000}
    assert controller.max_reauth_ms == {"PLAIN": 1000, "SCRAM-SHA-512": 1000}
    assert (outside.max_receive_bytes, controller.max_receive_bytes) == (524288, 100)
    assert outside.plain_users == {"node": "node-secret", "a": "b"}
    assert made.failed_authentication_delay_ms == 100


def test_a_controller_meets_brokers_where_its_file_says_and_as_whom() -> None:
    jaas = "listener.name.inside.scram-sha-512.sasl.jaas.config"
    alone: dict[str, str | None] = {"process.roles": "controller", "listeners": "CONTROLLER://h:2"}
    assert read(alone).logins["INSIDE"].mechanism == "SCRAM-SHA-512"
    # To Kafka's controllers it is no error to leave something out.
    for changes in (
        {jaas: None},
        {"inter.broker.listener.name": None},
        {"inter.broker.listener.name": "ELSEWHERE"},
        {"sasl.mechanism.inter.broker.protocol": "GSSAPI"},
    ):
        assert list(read(alone | changes).logins) == ["CONTROLLER"]
    plain: dict[str, str | None] = {
        "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT,INSIDE:SSL",
        jaas: None,
    }
    properties = {key: value for key, value in (NODE | alone | plain).items() if value is not None}
    made = read_server_properties(properties, Release.parse("4.3"), hostname="h")
    assert made.config.inter_broker_listener_name == "INSIDE"
    assert list(read(alone | plain).logins) == ["CONTROLLER"]


def test_the_node_has_a_login_for_each_listener_that_it_connects_to() -> None:
    made = read()
    assert {name: login.mechanism for name, login in made.logins.items()} == {
        "CONTROLLER": "PLAIN",
        "INSIDE": "SCRAM-SHA-512",
    }


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr(read())


def test_a_listener_in_plain_text_asks_for_nothing() -> None:
    made = read(
        {
            "listener.security.protocol.map": "OUTSIDE:PLAINTEXT,CONTROLLER:SSL,INSIDE:PLAINTEXT",
            "sasl.enabled.mechanisms": None,
            "listener.name.controller.ssl.principal.mapping.rules": "RULE:^CN=(.*?),.*$/$1/",
        }
    )
    assert made.logins == {}
    assert made.of_listener("OUTSIDE").mechanisms == ()
    assert str(made.of_listener("CONTROLLER").principal_of("CN=a,O=b")) == "User:a"
    assert made.of_listener("CONTROLLER").principal_of("O=b") is None
    assert str(made.of_listener("CONTROLLER").principal_of(None)) == "User:ANONYMOUS"
    assert str(made.of_listener("OUTSIDE").principal_of("CN=a,O=b")) == "User:CN=a,O=b"


def test_with_sasl_a_certificate_does_not_say_who_one_is() -> None:
    assert str(read().of_listener("OUTSIDE").principal_of("CN=a")) == "User:ANONYMOUS"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"listener.name.outside.sasl.enabled.mechanisms": "GSSAPI"},
            "sasl.enabled.mechanisms of listener OUTSIDE: falkirk has no GSSAPI, only PLAIN, SCRAM-SHA-256, SCRAM",
        ),
        ({"listener.name.outside.sasl.enabled.mechanisms": "OAUTHBEARER"}, "falkirk has no OAUTHBEARER"),
        ({"sasl.mechanism.controller.protocol": None}, "sasl.mechanism.controller.protocol: falkirk has no GSSAPI"),
        (
            {"listener.name.outside.plain.sasl.jaas.config": None},
            (
                "listener.name.outside.plain.sasl.jaas.config is not set: Could not find a 'KafkaServer' or "
                "'outside.KafkaServer' entry in the JAAS configuration"
            ),
        ),
        (
            {"listener.name.outside.plain.sasl.jaas.config": SCRAM},
            f"listener.name.outside.plain.sasl.jaas.config: the login module of PLAIN is {PLAIN_LOGIN_MODULE}",
        ),
        (
            {"listener.name.inside.scram-sha-512.sasl.jaas.config": f"{SCRAM_LOGIN_MODULE} required;"},
            "Value not specified for key 'username' in JAAS config",
        ),
        ({"listener.name.outside.ssl.principal.mapping.rules": "RULE:x"}, "Invalid rule: `RULE:x`"),
        ({"listener.name.outside.sasl.server.max.receive.size": "big"}, "Not a number of type INT"),
        (
            {"listener.name.outside.plain.sasl.server.callback.handler.class": "com.example.Ldap"},
            "listener.name.outside.plain.sasl.server.callback.handler.class: falkirk has no com.example.Ldap",
        ),
        ({"principal.builder.class": "com.example.Names"}, "principal.builder.class: falkirk has no com.example.Names"),
        (
            {"sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256"},
            (
                "sasl.mechanism.inter.broker.protocol must be included in sasl.enabled.mechanisms when SASL is used "
                "for inter-broker communication"
            ),
        ),
        (
            {"connection.failed.authentication.delay.ms": "600000"},
            "connection.failed.authentication.delay.ms=600000 should always be less than connections.max.idle.ms=6",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(changes: dict[str, str | None], told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(changes)
    assert told in str(refused.value)
    assert "secret" not in str(refused.value)
