"""What a broker refuses of changed configs before it passes them on, and what becomes of the rest."""

from __future__ import annotations

import pytest
from immutables import Map
from node_network import BROKER_LISTENER, NodeNetwork, controller_endpoint

from falkirk.metadata.image.configs import BROKER, BROKER_LOGGER, GROUP, TOPIC, ConfigResource, ConfigsImage
from falkirk.node.broker.broker_config_changes import APPEND, DELETE, SET, SUBTRACT, BrokerConfigChanges
from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER as BROKER_ROLE
from falkirk.node.config.node_config import CONTROLLER
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AlterConfigsRequest,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from falkirk.protocol.messages import alter_configs_request as legacy
from falkirk.protocol.messages import incremental_alter_configs_request as incremental
from falkirk.protocol.messages import incremental_alter_configs_response as incremental_response
from falkirk.slices import exhaust
from falkirk.versions.release import Release

OWN = 101
STATIC = {
    "process.roles": "broker",
    "node.id": str(OWN),
    "listeners": "PLAINTEXT://:9092",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@host:9093",
    "log.dirs": "d",
}


def change(kind, name, *configs):
    """One resource; configs are (name, value) or (name, operation, value)."""
    given = [config if len(config) == 3 else (config[0], SET, config[1]) for config in configs]
    return incremental.AlterConfigsResource(kind, name, [incremental.AlterableConfig(*config) for config in given])


def refused(*resources, configs=None, release="4.3"):
    """Return what is refused, by place: name of the error and its text."""
    image = ConfigsImage(Map({ConfigResource(BROKER, name): Map(each) for name, each in (configs or {}).items()}))
    changes = BrokerConfigChanges(Release.parse(release), OWN, STATIC)
    split = exhaust(changes.split(IncrementalAlterConfigsRequest(list(resources)), image))
    if split is None:
        return {}
    left = [] if split.remaining is None else split.remaining.resources
    assert left == [each for index, each in enumerate(resources) if index not in split.refused]
    return {index: (error.error_code.name, error.message) for index, error in split.refused.items()}


@pytest.mark.parametrize(
    ("name", "config"),
    [
        (str(OWN), ("log.retention.ms", "1000")),
        ("", ("log.retention.ms", "1000")),
        (str(OWN), ("log.cleanup.policy", APPEND, "compact")),
        (str(OWN), ("log.cleanup.policy", SUBTRACT, "delete")),
        (str(OWN), ("log.retention.ms", DELETE, None)),
        (str(OWN), ("listener.name.plaintext.ssl.keystore.location", "x")),
        ("", ("follower.replication.throttled.rate", "7")),
        ("", ("max.connections", "7")),
        ("", ("num.io.threads", "16")),
        (str(OWN), ("num.io.threads", "4")),
        (str(OWN), ("cordoned.log.dirs", "d")),
        (str(OWN), ("cordoned.log.dirs", "*")),
        (str(OWN), ("some.plugin.key", "x")),
        ("", ("metric.reporters", "org.apache.kafka.common.metrics.JmxReporter")),
        ("", ("metric.reporters", "")),
    ],
)
def test_what_a_broker_can_take_up_is_passed_on(name, config):
    assert refused(change(BROKER, name, config)) == {}


def test_a_resource_with_very_many_configs_is_refused():
    configs = [(f"plugin.key.{number}", "x") for number in range(1_001)]
    assert refused(change(BROKER, str(OWN), *configs[:-1])) == {}
    assert refused(change(BROKER, str(OWN), *configs)) == {
        0: ("POLICY_VIOLATION", "A request may set at most 1000 configs of a resource.")
    }


@pytest.mark.parametrize(
    ("name", "config", "said"),
    [
        ("102", ("log.retention.ms", "1"), "Unexpected broker id, expected 101, but received 102"),
        ("x", ("log.retention.ms", "1"), "Node id must be an integer, but it is: x"),
        ("101", ("log.dirs", "d"), "Cannot update these configs dynamically: [log.dirs]"),
        (
            "101",
            ("ssl.keystore.location", "x"),
            (
                "These security configs can be dynamically updated only per-listener using the listener prefix: "
                "[ssl.keystore.location]"
            ),
        ),
        (
            "",
            ("listener.name.plaintext.ssl.keystore.location", "x"),
            (
                "Cannot update these configs at default cluster level, broker id must be specified: "
                "[listener.name.plaintext.ssl.keystore.location]"
            ),
        ),
        (
            "101",
            ("log.retention.ms", "many"),
            "Invalid value many for configuration log.retention.ms: Not a number of type LONG",
        ),
        ("101", ("log.retention.ms", None), "Null value not supported for : log.retention.ms"),
        ("", ("max.connections", "0"), "Invalid max.connections 0"),
        ("101", ("listener.name.plaintext.max.connections", "0"), "Invalid max.connections 0"),
        (
            "",
            ("num.io.threads", "17"),
            (
                "Dynamic thread count update validation failed for num.io.threads=17, value should not be greater than "
                "double the current value 8"
            ),
        ),
        (
            "101",
            ("listener.name.plaintext.num.network.threads", "1"),
            (
                "Dynamic thread count update validation failed for num.network.threads=1, value should be at least "
                "half the current value 3"
            ),
        ),
        (
            "",
            ("remote.log.reader.threads", "4"),
            (
                "Dynamic thread count update validation failed for remote.log.reader.threads=4, value should be at "
                "least half the current value 10"
            ),
        ),
        (
            "101",
            ("remote.log.manager.copier.thread.pool.size", "21"),
            (
                "Dynamic thread count update validation failed for remote.log.manager.copier.thread.pool.size=21, "
                "value should not be greater than double the current value 10"
            ),
        ),
        (
            "",
            ("log.cleaner.threads", "3"),
            "Log cleaner threads cannot be increased to more than double the current value 1",
        ),
        (
            "101",
            ("log.cleaner.dedupe.buffer.size", "1000"),
            "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
        ),
        ("101", ("max.connections.per.ip.overrides", "127.0.0.1:x"), 'For input string: "x"'),
        (
            "101",
            ("cordoned.log.dirs", "/nope,d"),
            "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : /nope",
        ),
        (
            "101",
            ("cordoned.log.dirs", "*,d"),
            "When cordoned.log.dirs is set to *, it must not contain other values",
        ),
        (
            "",
            ("cordoned.log.dirs", "d"),
            ("Cannot update these configs at default cluster level, broker id must be specified: [cordoned.log.dirs]"),
        ),
        ("101", ("log.retention.ms", 9, "1"), "Unknown operations type 9"),
        (
            "",
            ("principal.builder.class", "x.Y"),
            "Invalid value x.Y for configuration principal.builder.class: Class x.Y could not be found.",
        ),
        (
            "101",
            ("listener.name.plaintext.ssl.engine.factory.class", "no.such"),
            "Invalid value no.such for configuration ssl.engine.factory.class: Class no.such could not be found.",
        ),
        (
            "",
            ("listener.name.plaintext.sasl.login.class", "no.such"),
            (
                "Cannot update these configs at default cluster level, broker id must be specified: "
                "[listener.name.plaintext.sasl.login.class]"
            ),
        ),
        (
            "101",
            ("listener.name.plaintext.sasl.login.class", "no.such"),
            (
                "Invalid value org.apache.kafka.common.config.ConfigException: Invalid value no.such for configuration "
                "sasl.login.class: Class no.such could not be found. for configuration Invalid dynamic configuration"
            ),
        ),
        (
            "101",
            ("metric.reporters", "no.such.Class"),
            (
                "Invalid value org.apache.kafka.common.config.ConfigException: Validation of dynamic config update of "
                "Set(metric.reporters) failed with class class kafka.server.DynamicMetricsReporters for configuration "
                "Invalid dynamic configuration"
            ),
        ),
    ],
)
def test_what_it_cannot_is_refused_in_kafkas_words(name, config, said):
    assert refused(change(BROKER, name, config)) == {0: ("INVALID_REQUEST", said)}


def test_local_retention_is_looked_at_together_with_the_whole():
    bytes_ = change(BROKER, "", ("log.local.retention.bytes", "1001"), ("log.retention.bytes", "1000"))
    said = "Value must not be more than log.retention.bytes property value: 1000"
    assert refused(bytes_) == {
        0: ("INVALID_REQUEST", f"Invalid value 1001 for configuration log.local.retention.bytes: {said}")
    }
    both = change(BROKER, str(OWN), ("log.local.retention.ms", "-1"), ("log.retention.ms", "1000"))
    said = "Value must not be -1 as log.retention.ms value is set as 1000."
    assert refused(both) == {
        0: ("INVALID_REQUEST", f"Invalid value -1 for configuration log.local.retention.ms: {said}")
    }
    # The broker's own value counts before the default of all brokers that is set here.
    default = change(BROKER, "", ("log.local.retention.ms", "5000"), ("log.retention.ms", "9000"))
    assert refused(default) == {}
    assert list(refused(default, configs={str(OWN): {"log.retention.ms": "4000"}})) == [0]


@pytest.mark.parametrize(
    ("configs", "said"),
    [
        (
            {"log.cleaner.threads": "2", "log.cleaner.dedupe.buffer.size": "2097152"},
            "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
        ),
        ({"log.retention.ms": "0"}, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
        ({"log.roll.ms": "0"}, "log.roll.ms must be greater than or equal to 1"),
        ({"log.roll.jitter.ms": "-1"}, "log.roll.jitter.ms must be greater than or equal to 0"),
        (
            {"max.connections.per.ip": "0"},
            "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.",
        ),
        (
            {"max.connections.per.ip.overrides": "a b:3"},
            "max.connections.per.ip.overrides contains invalid addresses : a b",
        ),
        (
            {"group.consumer.assignment.interval.ms": "20000"},
            (
                "group.consumer.assignment.interval.ms must be less than or equal to "
                "group.consumer.max.assignment.interval.ms"
            ),
        ),
    ],
)
@pytest.mark.parametrize("name", ["", str(OWN)])
def test_what_server_properties_may_not_have_together_dynamic_configs_may_not_either(name, configs, said):
    assert refused(change(BROKER, name, *configs.items())) == {0: ("INVALID_REQUEST", said)}


def test_a_change_is_refused_by_what_server_properties_has(monkeypatch):
    monkeypatch.setitem(STATIC, "log.cleaner.dedupe.buffer.size", "2097152")
    password = ("listener.name.external.ssl.keystore.password", "secret")
    assert refused(change(BROKER, str(OWN), password)) == {}
    said = "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
    refusal = {0: ("INVALID_REQUEST", said)}
    assert refused(change(BROKER, str(OWN), password, ("log.cleaner.threads", "2"))) == refusal


def test_a_change_starts_from_what_the_broker_has_now():
    known = {"": {"num.io.threads": "20"}}
    assert refused(change(BROKER, str(OWN), ("num.io.threads", "40")), configs=known) == {}
    assert list(refused(change(BROKER, str(OWN), ("num.io.threads", "9")), configs=known)) == [0]


def test_numbers_of_thousands_of_digits_are_refused_as_others_that_are_too_large():
    digits = "9" * 5_000
    told = refused(change(BROKER, str(OWN), ("log.retention.ms", digits)))
    assert told[0][1].endswith(f"Invalid value {digits} for configuration log.retention.ms: Not a number of type LONG")
    assert set(refused(change(BROKER, str(OWN), ("listeners", f"PLAINTEXT://:{digits}")))) == {0}
    overrides = ("max.connections.per.ip.overrides", f"127.0.0.1:{digits}")
    assert set(refused(change(BROKER, "", overrides))) == {0}


@pytest.mark.parametrize(
    "name", ["remote.log.manager.copier.thread.pool.size", "listener.name.plaintext.remote.log.reader.threads"]
)
def test_counts_of_threads_that_the_release_cannot_change_are_passed_on_unread(name):
    assert refused(change(BROKER, str(OWN), (name, "x")), release="3.7") == {}


def test_only_lists_are_appended_to():
    said = "Config value append is not allowed for config key: log.retention.ms"
    assert refused(change(BROKER, "", ("log.retention.ms", APPEND, "1"))) == {0: ("INVALID_CONFIG", said)}


def test_values_are_looked_at_together_with_those_that_stay():
    assert refused(change(BROKER, "101", ("num.io.threads", "9")), configs={"101": {"max.connections": "x"}}) == {
        0: ("INVALID_REQUEST", "Invalid value x for configuration max.connections: Not a number of type INT")
    }
    # What brokers pass over was never their concern.
    kept = {"101": {"log.dirs": "x", "ssl.keystore.location": "y"}}
    assert refused(change(BROKER, "101", ("num.io.threads", "9")), configs=kept) == {}


def test_a_key_and_a_resource_stand_in_a_request_once():
    twice = change(BROKER, "101", ("log.retention.ms", "1"), ("log.retention.ms", "2"))
    assert refused(twice) == {0: ("INVALID_REQUEST", "Error due to duplicate config keys")}
    again = ("INVALID_REQUEST", "Each resource must appear at most once.")
    assert refused(change(TOPIC, "t"), change(TOPIC, "u"), change(TOPIC, "t")) == {0: again, 2: again}


@pytest.mark.parametrize(
    ("kind", "release", "said"),
    [
        (BROKER_LOGGER, "4.3", "Log levels of this node cannot be changed."),
        (99, "4.3", "Unknown resource type 99"),
        (GROUP, "3.9", "Unknown resource type 32"),
    ],
)
def test_what_nobody_keeps_is_refused(kind, release, said):
    assert refused(change(kind, "101"), release=release) == {0: ("INVALID_REQUEST", said)}


# --- On the wire


def a_cluster() -> NodeNetwork:
    network = NodeNetwork(release="4.3")
    voters = {1: controller_endpoint(1)}
    network.add(1, roles={CONTROLLER}, quorum_voters=voters)
    network.add(OWN, roles={BROKER_ROLE}, quorum_voters=voters, properties=STATIC)
    for node_id in (1, OWN):
        network.start(node_id)
    network.run_until(lambda: network.hosts[OWN].running.broker.state is BrokerState.RUNNING)
    return network


def told(response):
    return [(answer.resource_name, ErrorCode(answer.error_code).name) for answer in response.responses]


@pytest.mark.parametrize("version", [0, 1])
def test_what_is_left_is_changed_and_the_answer_is_in_the_order_of_the_request(version):
    network = a_cluster()
    bad, good = change(BROKER, "102", ("log.retention.ms", "1")), change(BROKER, "", ("log.retention.ms", "77"))
    other = change(TOPIC, "missing", ("retention.ms", "1"))
    client = network.client(OWN, BROKER_LISTENER)
    response = client.ask(IncrementalAlterConfigsRequest([bad, good, other]), version)
    assert told(response) == [
        ("102", "INVALID_REQUEST"),
        ("", "NONE"),
        ("missing", "UNKNOWN_TOPIC_OR_PARTITION"),
    ]
    image = network.hosts[1].running.image
    assert dict(image.configs.of(BROKER, "")) == {"log.retention.ms": "77"}
    assert not image.configs.of(BROKER, "102")
    assert told(client.ask(IncrementalAlterConfigsRequest([bad]), version)) == [("102", "INVALID_REQUEST")]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_older_requests_are_looked_through_too(version):
    network = a_cluster()
    resources = [
        legacy.AlterConfigsResource(BROKER, name, [legacy.AlterableConfig("log.retention.ms", value)])
        for name, value in (("", "5"), ("101", "x"))
    ]
    response = network.client(OWN, BROKER_LISTENER).ask(AlterConfigsRequest(resources), version)
    assert told(response) == [("", "NONE"), ("101", "INVALID_REQUEST")]
    assert dict(network.hosts[1].running.image.configs.of(BROKER, "")) == {"log.retention.ms": "5"}


def test_a_fault_of_ours_in_the_check_costs_the_request_and_not_the_broker(monkeypatch):
    network = a_cluster()
    client = network.client(OWN, BROKER_LISTENER)
    with monkeypatch.context() as broken:
        broken.setattr(BrokerConfigChanges, "split", lambda *_: 1 / 0)
        for _ in range(2):
            response = client.ask(IncrementalAlterConfigsRequest([change(BROKER, "", ("log.retention.ms", "7"))]), 1)
            assert told(response) == [("", "UNKNOWN_SERVER_ERROR")]
    response = client.ask(IncrementalAlterConfigsRequest([change(BROKER, "", ("log.retention.ms", "7"))]), 1)
    assert told(response) == [("", "NONE")]


def test_an_error_of_the_controller_that_is_not_known_here_is_an_unknown_one():
    resources = [change(BROKER, str(OWN), ("num.io.threads", "x")), change(TOPIC, "t", ("retention.ms", "1"))]
    changes = BrokerConfigChanges(Release.parse("4.3"), OWN, STATIC)
    split = exhaust(changes.split(IncrementalAlterConfigsRequest(resources), ConfigsImage(Map())))
    answered = incremental_response.AlterConfigsResourceResponse(12_345, None, TOPIC, "t")
    completed = split.complete(IncrementalAlterConfigsResponse(responses=[answered]))
    assert [each.error_code for each in completed.responses] == [ErrorCode.INVALID_REQUEST, -1]
