"""What a node tells of its configs and those of others: as real nodes do."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from immutables import Map

from falkirk.metadata.image.configs import BROKER, CLIENT_METRICS, GROUP, TOPIC, ConfigResource, ConfigsImage
from falkirk.node.config.config_descriptions import ConfigDescriptions
from falkirk.versions.configs.server import definitions, dynamic_configs
from falkirk.versions.release import Release

DATA = Path(__file__).parents[2] / "data/configs"
RELEASES = ("3.7.2", "3.9.1", "4.0.0", "4.1.1", "4.4.0")
STATIC = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@127.0.0.1:9093",
    "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "log.dirs": "/data",
    "num.partitions": "3",
    "log.roll.hours": "10",
    "offsets.topic.replication.factor": "1",
    "my.own.key": "secret",
    "delegation.token.secret.key": "abc",
}
CONFIGS = {
    ConfigResource(TOPIC, "foo"): {"retention.ms": "12345", "cleanup.policy": "compact"},
    ConfigResource(BROKER, "1"): {"log.cleaner.threads": "2", "log.retention.ms": "5000000"},
    ConfigResource(BROKER, ""): {
        "log.cleaner.threads": "2",
        "min.insync.replicas": "2",
        "log.segment.bytes": "2000000",
    },
    ConfigResource(CLIENT_METRICS, "sub"): {"interval.ms": "1000"},
    ConfigResource(GROUP, "grp"): {"consumer.session.timeout.ms": "50000"},
}
SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}
TYPES = ("UNKNOWN", "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD")


def described(release, static=None, configs=None):
    image = ConfigsImage(Map({key: Map(value) for key, value in (CONFIGS if configs is None else configs).items()}))
    return ConfigDescriptions(Release.parse(release), 1, STATIC if static is None else static, image)


def told(release):
    """Return the answers of a real node: lines by resource."""
    lines = {}
    for line in gzip.decompress((DATA / f"described-{release}.tsv.gz").read_bytes()).decode().splitlines():
        kind, name, *rest = line.split("\t")
        if rest[0] != "ERROR":
            lines.setdefault((kind, name), []).append("\t".join(rest))
    return lines


def lines_of(results):
    word = {True: "true", False: "false"}
    return [
        "\t".join(
            (
                config.name,
                "null" if config.value is None else config.value,
                SOURCES[config.config_source],
                word[config.read_only],
                word[config.is_sensitive],
                TYPES[config.config_type],
                "".join(
                    f"{SOURCES[s.source]}:{s.name}={'null' if s.value is None else s.value};" for s in config.synonyms
                ),
            )
        )
        for config in results
    ]


@pytest.mark.parametrize("release", RELEASES)
def test_configs_are_described_as_real_nodes_describe_them(release):
    configs = described(release)
    answers = {
        ("BROKER", "1"): configs.of_this_node(),
        ("BROKER", ""): configs.of_all_brokers(),
        ("TOPIC", "foo"): configs.of_topic("foo"),
        ("CLIENT_METRICS", "sub"): configs.of_client_metrics("sub"),
        ("CLIENT_METRICS", "none"): configs.of_client_metrics("none"),
        ("GROUP", "grp"): configs.of_group("grp"),
    }
    answers = {key: lines_of(results) for key, results in answers.items() if results}
    expected = told(release)
    assert answers.keys() == expected.keys()
    for key, lines in expected.items():
        assert answers[key] == lines, key


def by_name(results):
    return {config.name: config for config in results}


def test_secrets_and_keys_that_nobody_knows_are_not_told():
    configs = {ConfigResource(BROKER, ""): {"ssl.keystore.password": "hunter2", "what.is.this": "x"}}
    brokers = by_name(described("4.4", configs=configs).of_all_brokers())
    assert all(config.is_sensitive and config.value is None for config in brokers.values())
    assert [config.synonyms[0].value for config in brokers.values()] == [None, None]
    node = by_name(described("4.4", configs=configs).of_this_node())
    assert (node["my.own.key"].value, node["my.own.key"].is_sensitive) == (None, True)


@pytest.mark.parametrize(("release", "is_read_only"), [("3.9", True), ("4.3", False)])
def test_dynamic_configs_that_are_no_key_of_server_properties_are_described(release, is_read_only):
    """As real 3.9.1 and 4.3.1 nodes answer."""
    rate, listener = "leader.replication.throttled.rate", "listener.name.plaintext.max.connections"
    configs = {
        ConfigResource(BROKER, "1"): {rate: "1000", listener: "77", "my.own.config": "x"},
        ConfigResource(BROKER, ""): {rate: "2000", "my.own.config": "y"},
    }
    node = by_name(described(release, configs=configs).of_this_node())

    def synonyms(name):
        return [(synonym.name, synonym.value, SOURCES[synonym.source]) for synonym in node[name].synonyms]

    own, default = "DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG"
    assert (node[rate].value, node[rate].read_only, TYPES[node[rate].config_type]) == ("1000", is_read_only, "LONG")
    assert synonyms(rate) == [(rate, "1000", own), (rate, "2000", default)]
    assert (node[listener].value, node[listener].read_only) == ("77", True)
    assert synonyms(listener) == [(listener, "77", own), ("max.connections", "2147483647", "DEFAULT_CONFIG")]
    unknown = node["my.own.config"]
    assert (unknown.value, unknown.is_sensitive, TYPES[unknown.config_type]) == (None, True, "UNKNOWN")
    assert synonyms("my.own.config") == [("my.own.config", None, own), ("my.own.config", None, default)]
    all_brokers = by_name(described(release, configs=configs).of_all_brokers())
    assert (all_brokers[rate].value, all_brokers[rate].is_sensitive) == ("2000", False)


def test_a_group_has_the_dynamic_value_of_its_broker():
    """As real 4.3.1 nodes answer."""
    behind = "group.consumer.assignment.interval.ms"
    configs = {ConfigResource(BROKER, ""): {behind: "5000"}}
    default = by_name(described("4.3", configs=configs).of_group("g"))["consumer.assignment.interval.ms"]
    assert (default.value, SOURCES[default.config_source]) == ("5000", "DYNAMIC_DEFAULT_BROKER_CONFIG")
    configs[ConfigResource(BROKER, "1")] = {behind: "7000"}
    own = by_name(described("4.3", configs=configs).of_group("g"))["consumer.assignment.interval.ms"]
    assert own.value == "7000"
    assert [synonym.value for synonym in own.synonyms] == ["7000", "5000", "1000"]
    configs[ConfigResource(BROKER, "1")] = {behind: "many"}
    unreadable = by_name(described("4.3", configs=configs).of_group("g"))["consumer.assignment.interval.ms"]
    assert unreadable.value == "5000"


def test_a_listeners_own_value_has_the_common_one_behind_it():
    static = {"listener.name.outside.ssl.protocol": "TLSv1.2", "ssl.protocol": "TLSv1.3"}
    node = by_name(described("4.4", static=static).of_this_node())
    own = node["listener.name.outside.ssl.protocol"]
    assert own.value == "TLSv1.2"
    assert [(synonym.name, synonym.value) for synonym in own.synonyms] == [
        ("listener.name.outside.ssl.protocol", "TLSv1.2"),
        ("ssl.protocol", "TLSv1.3"),
        ("ssl.protocol", definitions(Release.parse("4.4"))["ssl.protocol"].default_text),
    ]


def test_a_dynamic_value_that_cannot_be_read_is_told_as_it_is():
    configs = {ConfigResource(BROKER, "1"): {"log.cleaner.threads": "many"}}
    assert by_name(described("4.4", configs=configs).of_this_node())["log.cleaner.threads"].value == "many"
    # It is none of the topic's: what cannot be read does not count there.
    configs = {ConfigResource(BROKER, "1"): {"min.insync.replicas": "many"}}
    assert by_name(described("4.4", configs=configs).of_topic("foo"))["min.insync.replicas"].value == "1"


@pytest.mark.parametrize("release", RELEASES)
def test_all_keys_that_may_change_are_known(release):
    profile = Release.parse(release)
    # KafkaConfig does not define them, and brokers take them all the same.
    quotas = {
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    }
    assert dynamic_configs(profile) - quotas <= definitions(profile).keys()
