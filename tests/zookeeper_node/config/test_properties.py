"""server.properties of brokers on ZooKeeper: what nodes are told, and what is refused."""

from __future__ import annotations

import pytest

from falkirk.node.config.server_properties import is_on_zookeeper
from falkirk.protocol.endpoint import Endpoint
from falkirk.versions.configs.definition import ConfigError
from falkirk.versions.release import Release
from falkirk.versions.supported_range import SupportedRange
from falkirk.zookeeper_node.config.properties import (
    ZooKeeperProperties,
    read_security_settings,
    read_zookeeper_properties,
)

SMALL = {"broker.id": "1", "zookeeper.connect": "zoo:2181", "listeners": "PLAINTEXT://:9092"}


def read(release: str = "3.9", **given: str) -> ZooKeeperProperties:
    properties = SMALL | {key.replace("_", "."): value for key, value in given.items()}
    return read_zookeeper_properties(properties, Release.parse(release), hostname="host.test")


def refused(properties: dict[str, str], release: str = "3.9") -> str:
    with pytest.raises(ConfigError) as caught:
        read_zookeeper_properties(SMALL | properties, Release.parse(release), hostname="host.test")
    return str(caught.value)


@pytest.mark.parametrize(
    ("properties", "is_so"),
    [
        (SMALL, True),
        ({**SMALL, "process.roles": "broker"}, False),
        ({"node.id": "1"}, False),
    ],
)
def test_a_file_says_which_mode_it_is_of(properties: dict[str, str], is_so: bool) -> None:
    assert is_on_zookeeper(properties) is is_so


def test_a_small_file_is_enough() -> None:
    config = read().config
    assert config.node_id == 1
    assert config.zookeeper_connect == "zoo:2181"
    assert (config.zookeeper_session_timeout_ms, config.zookeeper_connection_timeout_ms) == (18_000, 18_000)
    assert (config.features_path, config.kip_778, config.refresh_ms) == ("/features", False, 60_000)
    assert str(config.inter_broker_protocol) == "3.9-IV0"
    (listener,) = config.listeners
    assert listener.advertised == Endpoint("host.test", 9092)
    assert not listener.is_controller
    assert config.inter_broker_listener_name == "PLAINTEXT"
    assert read().warnings == ()


def test_listeners_that_are_not_advertised_are_nobodys_business() -> None:
    made = read_zookeeper_properties(
        SMALL
        | {
            "listeners": "PLAINTEXT://:9092,INSIDE://:9093",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT",
            "advertised.listeners": "PLAINTEXT://out:1",
        },
        Release.parse("3.9"),
        hostname="h",
    )
    assert [(one.name, one.is_advertised) for one in made.config.listeners] == [("PLAINTEXT", True), ("INSIDE", False)]


def test_the_connection_timeout_is_the_sessions_unless_it_is_set() -> None:
    assert read(zookeeper_session_timeout_ms="7000").config.zookeeper_connection_timeout_ms == 7000
    both = read(zookeeper_session_timeout_ms="7000", zookeeper_connection_timeout_ms="8000").config
    assert (both.zookeeper_session_timeout_ms, both.zookeeper_connection_timeout_ms) == (7000, 8000)


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("a", "a:2181"),
        ("a:1, b:2", "a:1,b:2"),
        ("a:1,b:2/kafka/one", "a:1,b:2/kafka/one"),
        ("a:1/", "a:1"),
        ("[::1]:7/x/", "[::1]:7/x"),
    ],
)
def test_servers_and_chroot_are_read_as_kafka_writes_them(text: str, read_as: str) -> None:
    assert read(zookeeper_connect=text).config.zookeeper_connect == read_as


def test_a_node_supports_what_it_is_told_and_the_protocols_of_its_release() -> None:
    config = read(falkirk_supported_features="tc:1-5, gc:2").config
    assert config.supported_features == {
        "gc": SupportedRange(2, 2),
        "ibp-feature": SupportedRange(1, 27),
        "tc": SupportedRange(1, 5),
    }
    assert list(config.supported_features) == sorted(config.supported_features)
    assert read("3.7").config.supported_features == {"ibp-feature": SupportedRange(1, 25)}


def test_the_protocols_that_a_node_supports_can_be_told_otherwise() -> None:
    config = read(falkirk_supported_features="ibp-feature:1-3").config
    assert config.supported_features == {"ibp-feature": SupportedRange(1, 3)}


def test_our_own_keys_are_no_unknown_ones() -> None:
    given = {"falkirk.kip.778": "true", "falkirk.zookeeper.features.path": "/feature", "unknown.key": "1"}
    made = read_zookeeper_properties(SMALL | given, Release.parse("3.8"), hostname="h")
    assert made.config.kip_778
    assert made.config.features_path == "/feature"
    assert made.warnings == ("These configurations '[unknown.key]' were supplied but are not used yet.",)


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"broker.id": "-1"}, "broker.id must be set: falkirk does not let ZooKeeper give numbers to brokers"),
        (
            {"broker.id": "1001"},
            "broker.id must be greater than or equal to -1 and not greater than reserved.broker.max.id",
        ),
        ({"broker.id": "-1", "broker.id.generation.enable": "false"}, "broker.id must be greater than or equal to 0"),
        ({"node.id": "2"}, "You must set `node.id` to the same value as `broker.id`."),
        ({"zookeeper.connect": " "}, "zookeeper.connect: '' names no server"),
        ({"zookeeper.connect": "a:1:2"}, "zookeeper.connect: a:1:2 is not host:port"),
        ({"zookeeper.connect": "a:65536"}, "zookeeper.connect: a:65536 is not host:port"),
        ({"zookeeper.connect": "a/b//c"}, "zookeeper.connect: /b//c is not the path of a znode"),
        ({"zookeeper.connect": "a/../c"}, "zookeeper.connect: /../c is not the path of a znode"),
        ({"zookeeper.metadata.migration.enable": "true"}, "zookeeper.metadata.migration.enable: this node does not"),
        ({"zookeeper.set.acl": "true"}, "zookeeper.set.acl is true, and ZooKeeper cannot know the broker"),
        (
            {"controller.listener.names": "C", "listener.security.protocol.map": "C:PLAINTEXT,PLAINTEXT:PLAINTEXT"},
            "controller.listener.names must be empty when not running in KRaft mode: [C]",
        ),
        ({"listeners": "PLAINTEXT://0.0.0.0:1"}, "advertised.listeners cannot use the nonroutable meta-address"),
        ({"inter.broker.listener.name": "OTHER"}, "Listener with name OTHER defined in inter.broker.listener.name"),
        ({"inter.broker.protocol.version": "4.1"}, "release 3.9.1 does not know 4.1-IV1; its highest is 4.0-IV1"),
        ({"inter.broker.protocol.version": "x"}, "inter.broker.protocol.version"),
        ({"authorizer.class.name": "a.B"}, "authorizer.class.name: falkirk has no a.B for brokers on ZooKeeper"),
        ({"falkirk.supported.features": "a"}, "falkirk.supported.features: a is not name:lowest-highest"),
        ({"falkirk.supported.features": ":1-2"}, "falkirk.supported.features: :1-2 is not name:lowest-highest"),
        ({"falkirk.supported.features": "a:0-2"}, "falkirk.supported.features: a:0-2: levels go from 1 to 32767"),
        ({"falkirk.supported.features": "a:3-2"}, "falkirk.supported.features: a:3-2: levels go from 1 to 32767"),
        ({"falkirk.supported.features": "a:1-32768"}, "levels go from 1 to 32767, the lowest one first"),
        ({"falkirk.supported.features": "a:1,a:2"}, "falkirk.supported.features: a is there twice"),
        ({"falkirk.supported.features": "ibp-feature:1-30"}, "release 3.9.1 knows ibp-feature up to level 29"),
        ({"falkirk.zookeeper.features.path": "/"}, "falkirk.zookeeper.features.path: / is not the path of a znode"),
        ({"falkirk.zookeeper.features.path": "features"}, "features is not the path of a znode"),
        ({"falkirk.zookeeper.refresh.ms": "0"}, "falkirk.zookeeper.refresh.ms: Value must be at least 1"),
    ],
)
def test_what_no_broker_on_zookeeper_can_be_is_refused(properties: dict[str, str], said: str) -> None:
    assert said in refused(properties)


def test_a_release_without_zookeeper_names_the_last_one_that_has_it() -> None:
    said = refused({}, "4.0")
    assert said == "zookeeper.connect: release 4.0.0 has no ZooKeeper; the last one that has is 3.9.1"


def test_a_listener_with_sasl_has_its_users() -> None:
    made = read_zookeeper_properties(
        SMALL
        | {
            "listeners": "SASL_PLAINTEXT://:9092",
            "security.inter.broker.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
                'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'
            ),
        },
        Release.parse("3.9"),
        hostname="h",
    )
    security = read_security_settings(made)
    assert security.of_listener("SASL_PLAINTEXT").plain_users == {"alice": "secret"}
    assert security.logins == {}
