"""server.properties as each release reads them; tests/interop/test_config_answers.py holds the golden file to Kafka."""

from dataclasses import replace

import pytest
from config_refusals import RELEASES, Refusal, refusals
from hypothesis import given
from hypothesis import strategies as st

from falkirk.node.config.node_config import NodeConfig
from falkirk.node.config.server_properties import ServerProperties, read_server_properties
from falkirk.protocol.endpoint import Endpoint
from falkirk.versions.configs.definition import ConfigError
from falkirk.versions.configs.server import definitions
from falkirk.versions.release import Release
from falkirk.versions.supported_range import SupportedRange

CONTROLLER = {
    "process.roles": "controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listeners": "CONTROLLER://:9093",
    "controller.quorum.voters": "1@c1:9093,2@[::1]:9094",
    "log.dirs": "/d1, /d2",
}
# Where our text is another one, and why. By the name of the case, and where only some releases differ, those.
MISSING_ROLES = 'Missing required configuration "process.roles" which has no default value.'
ZOOKEEPER = (
    "zookeeper.connect is set and process.roles is not: these are the properties of a broker on ZooKeeper, "
    "not of a KRaft node"
)
OURS: dict[str, dict[str, str | None]] = {
    # Kafka's text of one patch release has unfilled places.
    "controller, controller.quorum.bootstrap.servers=h": {
        "3.8.1": "Failed to parse host name from h for the configuration controller.quorum.bootstrap.servers. "
        'Each entry should be in the form "{host}:{port}"'
    },
    "controller, broker.id=2": {"4.4.0": "You must set `node.id` to the same value as `broker.id`."},
    # Kafka names the synonym that nobody has set.
    "controller, node.id=x": dict.fromkeys(
        RELEASES, "Invalid value x for configuration node.id: Not a number of type INT"
    ),
    "controller, node.id=99999999999": dict.fromkeys(
        RELEASES, "Invalid value 99999999999 for configuration node.id: Not a number of type INT"
    ),
    # Kafka's texts show a collection of Scala's.
    "controller, process.roles=controller,controller": dict.fromkeys(
        ("3.7.2", "3.8.1", "3.9.1", "4.0.0", "4.1.1"),
        "Duplicate role names found in `process.roles`: [controller, controller]",
    ),
    # Kafka goes on as a node of ZooKeeper mode, or as one that is nothing.
    "controller, process.roles=": dict.fromkeys(("3.7.2", "3.8.1", "3.9.1", "4.0.0", "4.1.1"), MISSING_ROLES),
    "controller, no process.roles": dict.fromkeys(("3.7.2", "3.8.1", "3.9.1"), MISSING_ROLES),
    "controller, zookeeper.connect=z:1, no process.roles": dict.fromkeys(RELEASES, ZOOKEEPER),
    # Kafka tells an index into the text.
    "controller, listener.security.protocol.map=x": dict.fromkeys(
        RELEASES,
        "Error parsing configuration property 'listener.security.protocol.map': x is not of the form name:protocol",
    ),
    # The same said with more words before it.
    "controller, listeners=CONTROLLER://h:1,CONTROLLER://h:2": dict.fromkeys(
        ("4.3.1", "4.4.0"),
        "Each listener must have a different name, listeners: [CONTROLLER://h:1, CONTROLLER://h:2]",
    ),
    "controller, controller.listener.names=CONTROLLER,B, listeners=CONTROLLER://h:1,B://h:1": dict.fromkeys(
        ("4.3.1", "4.4.0"), "Each listener must have a different port, listeners: [CONTROLLER://h:1, B://h:1]"
    ),
    "both roles, advertised.listeners=PLAINTEXT://h:1,PLAINTEXT://h:2": dict.fromkeys(
        ("4.3.1", "4.4.0"),
        "Each listener must have a different name, listeners: [PLAINTEXT://h:1, PLAINTEXT://h:2]",
    ),
    # Kafka blames the name where the port is wrong.
    "controller, listeners=CONTROLLER://h:x": dict.fromkeys(
        ("3.7.2", "3.8.1"),
        "Error creating broker listeners from 'CONTROLLER://h:x': Unable to parse CONTROLLER://h:x to a broker "
        "endpoint",
    ),
    # Kafka takes it, or says that it did not expect it.
    "controller, controller.listener.names=CONTROLLER,CONTROLLER": dict.fromkeys(
        ("3.7.2", "3.8.1", "4.1.1"),
        "The listeners config must only contain KRaft controller listeners from controller.listener.names when "
        "process.roles=controller",
    ),
    # Blanks around a name are part of it in older releases.
    "controller, controller.listener.names= CONTROLLER , ": dict.fromkeys(("3.7.2", "3.8.1", "3.9.1", "4.0.0"), None),
    # Kafka divides by it.
    "both roles, log.cleaner.threads=0": dict.fromkeys(RELEASES, "log.cleaner.threads must be at least 1"),
    # There are no Java classes to look for.
    "controller, principal.builder.class=no.Such": dict.fromkeys(RELEASES, None),
}
NO_BROKER_LISTENER = "There must be at least one broker advertised listener. Perhaps all listeners appear in "
for _name in ("broker, advertised.listeners=", "both roles, listeners=CONTROLLER://:9093"):
    OURS[_name] = dict.fromkeys(("3.7.2", "3.8.1"), f"{NO_BROKER_LISTENER}controller.listener.names?")
OURS["both roles, controller.listener.names=CONTROLLER,PLAINTEXT"] = OURS["broker, advertised.listeners="]


def read(release: str = "4.3.1", **changed: str | None) -> ServerProperties:
    properties = CONTROLLER | {name.replace("_", "."): value for name, value in changed.items()}
    given = {name: value for name, value in properties.items() if value is not None}
    return read_server_properties(given, Release.parse(release), hostname="host.test")


def config(release: str = "4.3.1", **changed: str | None) -> NodeConfig:
    return read(release, **changed).config


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in refusals()])
def test_each_release_refuses_what_kafka_refuses_in_its_words(case: Refusal) -> None:
    ours = OURS.get(case.name, {})
    for release in RELEASES:
        kafka = case.kafka[release]
        expected = ours.get(release, None if kafka is None else kafka.removeprefix("requirement failed: "))
        assert (release, reason_to_refuse(case, release)) == (release, expected)


def reason_to_refuse(case: Refusal, release: str) -> str | None:
    try:
        read_server_properties(case.properties, Release.parse(release), hostname="h")
    except ConfigError as error:
        return str(error)
    return None


def test_no_difference_is_listed_that_is_none() -> None:
    names = {case.name: case.kafka for case in refusals()}
    assert [name for name in OURS if name not in names] == []
    same = [
        (name, release)
        for name, texts in OURS.items()
        for release, text in texts.items()
        if names[name][release] == text
    ]
    assert same == []


def test_a_controller_gets_its_listeners_voters_and_directories() -> None:
    made = config()
    assert made.node_id == 1
    assert made.is_controller
    assert not made.is_broker
    assert made.log_dirs == ("/d1", "/d2")
    assert made.metadata_log_dir == "/d1"
    assert made.quorum_voters == {1: Endpoint("c1", 9093), 2: Endpoint("::1", 9094)}
    (listener,) = made.listeners
    assert listener.endpoint == Endpoint("", 9093)
    assert listener.advertised == Endpoint("host.test", 9093)
    assert listener.security_protocol == "PLAINTEXT"
    assert listener.is_controller


def test_values_are_defaults_of_the_release_until_they_are_set() -> None:
    assert config().metadata_log_segment_ms == 7 * 24 * 3600 * 1000
    assert config().metadata_log_segment_bytes == 1 << 30
    assert config().queued_max_requests == 500
    changed = config(
        controller_quorum_fetch_timeout_ms="7",
        queued_max_requests="8",
        leader_imbalance_check_interval_seconds="9",
        delegation_token_secret_key=" secret ",  # noqa: S106 - a test's
        super_users="User:a;User:b",
        unstable_feature_versions_enable="TRUE",
    )
    assert changed.quorum_fetch_timeout_ms == 7
    assert changed.queued_max_requests == 8
    assert changed.leader_imbalance_check_interval_ms == 9000
    assert changed.delegation_token_secret_key == "secret"  # noqa: S105 - a test's
    assert changed.super_users == "User:a;User:b"
    assert changed.unstable_feature_versions_enable


@pytest.mark.parametrize("release", RELEASES)
def test_without_settings_the_config_has_its_own_defaults(release: str) -> None:
    made = config(release)
    plain = NodeConfig(
        release=made.release,
        node_id=made.node_id,
        process_roles=made.process_roles,
        listeners=made.listeners,
        controller_listener_names=made.controller_listener_names,
        quorum_voters=made.quorum_voters,
        quorum_bootstrap_servers=(),
        log_dirs=made.log_dirs,
        metadata_log_dir=made.metadata_log_dir,
        properties=made.properties,
    )
    assert made == plain


def test_a_node_follows_a_lowering_unless_it_is_told_not_to() -> None:
    made = read("4.3.1", falkirk_undo_dir="/undo")
    assert made.warnings == ()
    assert made.config.undo_dir == "/undo"
    assert made.config.supported_features == made.config.release.supported_features() | {
        "falkirk.downgrade": SupportedRange(0, 1)
    }
    refusing = config("4.3.1", falkirk_downgrade_enable=" FALSE ")
    assert refusing.supported_features == refusing.release.supported_features()
    with pytest.raises(ConfigError, match=r"Invalid value no for configuration falkirk\.downgrade\.enable"):
        config("4.3.1", falkirk_downgrade_enable="no")


def test_of_a_combined_node_only_the_controller_takes_part_in_a_lift() -> None:
    assert not config("4.3.1").is_lift
    listeners = "PLAINTEXT://:9092, CONTROLLER://:9093"
    lifted = config("4.3.1", falkirk_lift="true", process_roles="broker, controller", listeners=listeners)
    assert lifted.is_lift
    assert lifted.process_roles == {"controller"}
    assert [listener.name for listener in lifted.listeners] == ["CONTROLLER"]
    with pytest.raises(ConfigError, match=r"falkirk\.lift=true is only supported when process\.roles has controller\."):
        config("4.3.1", falkirk_lift="true", process_roles="broker")


def test_all_values_that_are_wrong_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        config(num_partitions="0", node_id="x", log_roll_ms="1e3")
    assert str(refused.value).splitlines() == [
        "Invalid value 1e3 for configuration log.roll.ms: Not a number of type LONG",
        "Invalid value x for configuration node.id: Not a number of type INT",
        "Invalid value 0 for configuration num.partitions: Value must be at least 1",
    ]


@pytest.mark.parametrize("key", ["max.connections", "max.connection.creation.rate"])
@pytest.mark.parametrize("text", ["", "x", "-1", "9" * 5_000])
def test_a_listeners_own_limit_that_is_none_is_refused(key: str, text: str) -> None:
    name = f"listener.name.controller.{key}"
    with pytest.raises(ConfigError, match=name):
        read_server_properties({**CONTROLLER, name: text}, Release.parse("4.3"), hostname="h")


def test_keys_that_the_release_does_not_know_are_one_warning() -> None:
    made = read("3.9.1", no_such_key="1", listener_name_controller_x="2", super_users="User:a", other_key="")
    assert made.warnings == ("These configurations '[no.such.key, other.key]' were supplied but are not used yet.",)


def test_a_key_is_known_from_its_release_on() -> None:
    assert read("4.2.1", controller_quorum_auto_join_enable="false").warnings == ()
    assert len(read("4.1.1", controller_quorum_auto_join_enable="false").warnings) == 1


@pytest.mark.parametrize("release", ["3.9.1", "4.3.1"])
def test_versions_that_the_metadata_decides_are_ignored_with_a_warning(release: str) -> None:
    warnings = read(release, inter_broker_protocol_version="3.5", log_message_format_version="3.0").warnings
    assert [warning.partition(":")[0] for warning in warnings] == [
        "inter.broker.protocol.version is ignored",
        "log.message.format.version is ignored",
    ]


@pytest.mark.parametrize(
    ("release", "is_known"), [("3.7.2", True), ("3.9.1", True), ("4.0.0", False), ("4.4.0", False)]
)
def test_keys_of_zookeeper_mode_change_nothing_and_are_told_where_the_release_knows_them_no_more(
    release: str, is_known: bool
) -> None:
    made = read(release, zookeeper_connect="z:2181", zookeeper_session_timeout_ms="18000")
    told = (
        "These configurations '[zookeeper.connect, zookeeper.session.timeout.ms]' were supplied but are not used yet."
    )
    assert made.warnings == (() if is_known else (told,))
    assert replace(made.config, properties={}) == replace(read(release).config, properties={})


def test_static_voters_win_over_bootstrap_servers() -> None:
    made = read(controller_quorum_bootstrap_servers="c1:9093")
    assert made.config.quorum_bootstrap_servers == ()
    assert made.warnings == ("controller.quorum.bootstrap.servers is ignored: controller.quorum.voters is set",)
    dynamic = config(controller_quorum_voters=None, controller_quorum_bootstrap_servers="c1:9093,[::1]:9")
    assert dynamic.quorum_voters is None
    assert dynamic.quorum_bootstrap_servers == (Endpoint("c1", 9093), Endpoint("::1", 9))


def test_what_a_controller_advertises_may_be_another_address() -> None:
    made = config(advertised_listeners="CONTROLLER://outside:1")
    assert made.listeners[0].endpoint == Endpoint("", 9093)
    assert made.listeners[0].advertised == Endpoint("outside", 1)


def test_listeners_on_one_port_are_of_both_ip_versions() -> None:
    two = {"controller_listener_names": "A,B"}
    assert len(config(listeners="A://127.0.0.1:9,B://[::1]:9", **two).listeners) == 2
    with pytest.raises(ConfigError, match="one needs to be IPv4 and the other IPv6"):
        config(listeners="A://127.0.0.1:9,B://127.0.0.2:9", **two)
    with pytest.raises(ConfigError, match="unless exactly one listener has an IPv4 address"):
        config(listeners="A://127.0.0.1:9,B://[::1]:9,C://127.0.0.2:9", controller_listener_names="A,B,C")
    assert len(config(listeners="A://h:0,B://h:0", **two).listeners) == 2


def test_a_listener_keeps_the_protocol_that_the_map_says() -> None:
    made = config(listener_security_protocol_map="controller:sasl_ssl")
    assert made.listeners[0].security_protocol == "SASL_SSL"


def test_the_metadata_log_has_its_directory() -> None:
    assert config(metadata_log_dir="/m").metadata_log_dir == "/m"


def test_a_small_segment_is_for_tests_only() -> None:
    with pytest.raises(ConfigError, match=r"metadata.log.segment.bytes: Value must be at least 8388608"):
        config(metadata_log_segment_bytes="100")
    assert config(internal_metadata_log_segment_bytes="100").metadata_log_segment_bytes == 100


@given(
    name=st.sampled_from(sorted(definitions(Release.parse("4.4")))),
    text=st.text(max_size=20)
    | st.integers().map(str)
    | st.sampled_from(["true", "a,b", "1@h:1", "A://h:1", "", "1.5"]),
)
def test_whatever_a_value_is_it_is_taken_or_refused(name: str, text: str) -> None:
    try:
        made = config("4.4.0", **{name.replace(".", "_"): text})
    except ConfigError as error:
        text_of_error = str(error)
        assert any(word in text_of_error for word in (name, "listener", "node id", "compression type id"))
    else:
        assert made.properties[name] == text
