"""Changes of configs: what is asked for, what is written, what counts for a topic."""

import pytest
from controllers import CONTROLLER_ID, make_controller, run

from falkirk.metadata.controller.configs import configuration_control
from falkirk.metadata.controller.configs.config_resolution import (
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    STATIC_BROKER_CONFIG,
    TOPIC_CONFIG,
)
from falkirk.metadata.controller.configs.configuration_control import APPEND, DELETE, SET, SUBTRACT, changed_list
from falkirk.metadata.image.configs import BROKER, CLIENT_METRICS, GROUP, TOPIC, ConfigResource
from falkirk.metadata.requests.api_error import NO_ERROR
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ClearElrRecord,
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
)
from falkirk.slices import exhaust
from falkirk.versions.configs.resources import (
    TOPIC_SYNONYMS,
    group_definitions,
    topic_definitions,
    unknown_group_configs,
    unknown_topic_configs,
)
from falkirk.versions.configs.server import dynamic_lists
from falkirk.versions.release import Release, all_releases

FOO = ConfigResource(TOPIC, "foo")
BROKER_1 = ConfigResource(BROKER, "1")
ALL_BROKERS = ConfigResource(BROKER, "")
TOPIC_FOO = TopicRecord("foo", b"f" * 16)
ELR = "eligible.leader.replicas.version"
# Python's own parser fails at them in other ways than at what is no expression.
PATTERNS_OUT_OF_MEASURE = {
    "count": f"a{{{1 << 64}}}",
    "digits": f"a{{{'9' * 5_000}}}",
    "depth": "(" * 5_000 + ")" * 5_000,
}


def controller_with(*records, elr=False, **settings):
    return make_controller(
        brokers=[1, 2], records=[TOPIC_FOO, *records], features={ELR: 1} if elr else None, **settings
    )


def config(resource, name, value):
    return ConfigRecord(resource.resource_type, resource.resource_name, name, value)


def alter(controller, resource, *operations, **fields):
    """Change configs of one resource; return its error and the records."""
    changes = {resource: {name: (operation, value) for name, operation, value in operations}}
    result = exhaust(controller.configs.incremental_alter_configs(changes, **fields))
    return run(controller, result)[resource], [record for record, _ in result.records]


def configs_of(controller, resource):
    return dict(controller.state.image.configs.of(*resource))


def test_single_configs_are_set_and_deleted():
    controller = controller_with(config(FOO, "retention.ms", "5"), config(FOO, "segment.ms", "7"))
    error, records = alter(controller, FOO, ("retention.ms", SET, "9"), ("segment.ms", DELETE, None))
    assert error == NO_ERROR
    assert records == [config(FOO, "retention.ms", "9"), config(FOO, "segment.ms", None)]
    assert configs_of(controller, FOO) == {"retention.ms": "9"}


def test_what_is_so_already_is_written_again_only_for_brokers():
    controller = controller_with(config(FOO, "retention.ms", "5"), config(BROKER_1, "log.cleaner.threads", "2"))
    assert alter(controller, FOO, ("retention.ms", SET, "5"), ("segment.ms", DELETE, None)) == (NO_ERROR, [])
    # A broker takes it as a reason to read its key stores anew.
    again = [config(BROKER_1, "log.cleaner.threads", "2")]
    assert alter(controller, BROKER_1, ("log.cleaner.threads", SET, "2")) == (NO_ERROR, again)


@pytest.mark.parametrize(
    ("before", "operation", "value", "after"),
    [
        (None, APPEND, "compact", "delete,compact"),  # to the default
        ("compact", APPEND, "delete", "compact,delete"),
        ("compact", APPEND, "compact,delete", "compact,delete"),
        ("compact,delete", SUBTRACT, "compact", "delete"),
        ("delete", SUBTRACT, "compact", "delete"),
        (None, SUBTRACT, "delete", ""),
    ],
)
def test_lists_are_appended_to_and_subtracted_from(before, operation, value, after):
    records = [] if before is None else [config(FOO, "cleanup.policy", before)]
    controller = controller_with(*records)
    assert alter(controller, FOO, ("cleanup.policy", operation, value))[0] == NO_ERROR
    assert configs_of(controller, FOO)["cleanup.policy"] == after


@pytest.mark.parametrize(
    ("resource", "operation", "name", "value", "error"),
    [
        (FOO, APPEND, "retention.ms", "5", "INVALID_CONFIG"),  # is no list
        (ConfigResource(CLIENT_METRICS, "sub"), APPEND, "metrics", "a", "INVALID_CONFIG"),
        (ConfigResource(GROUP, "g"), APPEND, "streams.rack.aware.assignment.tags", "a", "INVALID_CONFIG"),
        *[
            pytest.param(
                ConfigResource(CLIENT_METRICS, "sub"), SET, "match", f"client_id={pattern}", "INVALID_CONFIG", id=what
            )
            for what, pattern in PATTERNS_OUT_OF_MEASURE.items()
        ],
        (FOO, APPEND, "cleanup.policy", None, "INVALID_REQUEST"),
        (FOO, 9, "retention.ms", "5", "INVALID_REQUEST"),
        (FOO, SET, "retention.ms", "x", "INVALID_CONFIG"),
        (FOO, SET, "no.such.config", "x", "INVALID_CONFIG"),
        (FOO, SET, "retention.ms", "9" * 40_000, "INVALID_CONFIG"),
        (ConfigResource(TOPIC, "bar"), SET, "retention.ms", "5", "UNKNOWN_TOPIC_OR_PARTITION"),
        (ConfigResource(TOPIC, "b r"), SET, "retention.ms", "5", "INVALID_TOPIC_EXCEPTION"),
        (ConfigResource(TOPIC, ""), SET, "retention.ms", "5", "INVALID_REQUEST"),
        (ConfigResource(BROKER, "7"), SET, "log.cleaner.threads", "5", "BROKER_ID_NOT_REGISTERED"),
        (ConfigResource(BROKER, "x"), SET, "log.cleaner.threads", "5", "INVALID_REQUEST"),
        (ConfigResource(GROUP, ""), SET, "consumer.session.timeout.ms", "50000", "INVALID_REQUEST"),
    ],
)
def test_a_change_is_refused(resource, operation, name, value, error):
    controller = controller_with()
    told, records = alter(controller, resource, (name, operation, value))
    assert (told.error_code, records) == (ErrorCode[error], [])
    assert told.message


@pytest.mark.parametrize(
    "resource", [BROKER_1, ALL_BROKERS, ConfigResource(BROKER, str(CONTROLLER_ID)), ConfigResource(GROUP, "none.yet")]
)
def test_resources_need_not_be_known_where_nothing_knows_them_before(resource):
    name, value = ("consumer.session.timeout.ms", "50000") if resource.resource_type == GROUP else ("a.b", "c")
    assert alter(controller_with(), resource, (name, SET, value))[0] == NO_ERROR


def test_one_bad_change_undoes_those_of_its_resource_and_of_no_other():
    controller = controller_with()
    changes = {
        FOO: {"retention.ms": (SET, "5"), "segment.ms": (SET, "x")},
        BROKER_1: {"log.cleaner.threads": (SET, "2")},
    }
    result = exhaust(controller.configs.incremental_alter_configs(changes))
    assert [record for record, _ in result.records] == [config(BROKER_1, "log.cleaner.threads", "2")]
    assert [error.error_code for error in result.response.values()] == [ErrorCode.INVALID_CONFIG, ErrorCode.NONE]
    assert result.is_atomic


def test_the_configs_that_a_resource_would_have_are_checked_together():
    controller = controller_with(config(FOO, "min.compaction.lag.ms", "10"))
    assert alter(controller, FOO, ("max.compaction.lag.ms", SET, "9"))[0].error_code is ErrorCode.INVALID_CONFIG
    operations = ("max.compaction.lag.ms", SET, "9"), ("min.compaction.lag.ms", DELETE, None)
    assert alter(controller, FOO, *operations)[0] == NO_ERROR


def test_legacy_changes_take_away_what_they_do_not_name():
    controller = controller_with(config(FOO, "retention.ms", "5"), config(FOO, "segment.ms", "7"))
    result = exhaust(controller.configs.legacy_alter_configs({FOO: {"retention.ms": "6"}}))
    assert run(controller, result) == {FOO: NO_ERROR}
    assert configs_of(controller, FOO) == {"retention.ms": "6"}
    result = exhaust(controller.configs.legacy_alter_configs({FOO: {}, ConfigResource(TOPIC, "bar"): {}}))
    assert [error.error_code.name for error in result.response.values()] == ["NONE", "UNKNOWN_TOPIC_OR_PARTITION"]
    run(controller, result)
    assert configs_of(controller, FOO) == {}


def test_a_request_that_changes_too_much_changes_nothing():
    brokers = range(1, 11)
    controller = make_controller(brokers=brokers, records=[TOPIC_FOO])
    many = {f"key.{number}": (SET, "x") for number in range(1_000)}
    changes = {ConfigResource(BROKER, str(broker)): many for broker in brokers} | {FOO: {"retention.ms": (SET, "1")}}
    result = exhaust(controller.configs.incremental_alter_configs(changes))
    assert result.records == ()
    assert {error.error_code for error in result.response.values()} == {ErrorCode.POLICY_VIOLATION}


# --- Eligible leader replicas


def test_changes_of_min_insync_replicas_start_eligible_leader_replicas_anew():
    controller = controller_with(elr=True)
    change = ("min.insync.replicas", SET, "2")
    assert alter(controller, FOO, change)[1] == [config(FOO, change[0], "2"), ClearElrRecord("foo")]
    assert alter(controller, ALL_BROKERS, change)[1] == [config(ALL_BROKERS, change[0], "2"), ClearElrRecord("")]
    # No change, and nothing to start anew.
    assert alter(controller, FOO, change)[1] == []
    assert alter(controller, FOO, ("retention.ms", SET, "2"))[1] == [config(FOO, "retention.ms", "2")]
    assert alter(controller_with(), FOO, change)[1] == [config(FOO, change[0], "2")]


@pytest.mark.parametrize("resource", [FOO, ALL_BROKERS])
def test_a_partition_that_only_an_eligible_replica_can_lead_keeps_that_one_as_in_sync(resource):
    foo, other = TOPIC_FOO.topic_id, b"o" * 16
    controller = controller_with(
        PartitionRecord(0, foo, replicas=[1, 2], isr=[], leader=-1, eligible_leader_replicas=[2], last_known_elr=[2]),
        PartitionRecord(1, foo, replicas=[1, 2], isr=[], leader=-1, last_known_elr=[1]),
        PartitionRecord(2, foo, replicas=[1, 2], isr=[1], leader=1, eligible_leader_replicas=[2]),
        TopicRecord("other", other),
        PartitionRecord(0, other, replicas=[1, 2], isr=[], leader=-1, eligible_leader_replicas=[1]),
        elr=True,
    )
    records = alter(controller, resource, ("min.insync.replicas", SET, "2"))[1]
    assert records[-1] == ClearElrRecord(resource.resource_name)
    led, recovering, *others = [record for record in records if isinstance(record, PartitionChangeRecord)]
    assert (led.topic_id, led.partition_id, led.isr, led.leader_recovery_state) == (foo, 0, (2,), -1)
    assert (recovering.topic_id, recovering.partition_id, recovering.isr) == (foo, 1, (1,))
    assert recovering.leader_recovery_state == 1
    assert [each.topic_id for each in others] == ([] if resource == FOO else [other])


@pytest.mark.parametrize(
    ("resource", "operation", "is_refused"),
    [(BROKER_1, SET, True), (BROKER_1, DELETE, True), (ALL_BROKERS, DELETE, True), (ALL_BROKERS, SET, False)],
)
def test_with_elr_min_insync_replicas_is_the_clusters(resource, operation, is_refused):
    change = ("min.insync.replicas", operation, None if operation == DELETE else "2")
    assert alter(controller_with(elr=True), resource, change)[0].is_failure == is_refused
    assert not alter(controller_with(), resource, change)[0].is_failure


def test_what_elr_needs_is_written_before_it_is_turned_on():
    name = "min.insync.replicas"
    controller = controller_with(config(BROKER_1, name, "3"), static_configs={name: "2"})
    records = [record for record, _ in controller.configs.elr_safety_records()]
    assert records == [config(ALL_BROKERS, name, "2"), config(BROKER_1, name, None)]
    controller = controller_with(config(ALL_BROKERS, name, "3"))
    assert controller.configs.elr_safety_records() == []


# --- Cordoned log directories


def test_only_brokers_cordon_further_directories():
    controller = controller_with(config(BROKER_1, "cordoned.log.dirs", "/a,/b"))
    assert not alter(controller, BROKER_1, ("cordoned.log.dirs", SET, "/b"))[0].is_failure
    error, _ = alter(controller, BROKER_1, ("cordoned.log.dirs", SET, "/b,/c"))
    assert error.message == (
        "When updating cordoned.log.dirs via controllers,  the new value must be a subset of the current configuration "
        "value."
    )
    assert not alter(controller, BROKER_1, ("cordoned.log.dirs", SET, "/b,/c"), is_forwarded=True)[0].is_failure
    old = controller_with(release="4.3", metadata_version="4.2-IV1")
    error, _ = alter(old, BROKER_1, ("cordoned.log.dirs", SET, "/b"), is_forwarded=True)
    assert (error.error_code, error.message) == (
        ErrorCode.INVALID_CONFIG,
        "The cordoned.log.dirs configuration value cannot be set because it requires metadata.version >= 4.3-IV0",
    )


# --- What counts for a topic


def test_a_topics_own_config_counts_before_the_nodes_the_clusters_and_the_static_one():
    name, synonym = "retention.ms", "log.retention.ms"
    layers = [
        (config(FOO, name, "1"), "1", TOPIC_CONFIG),
        (config(ConfigResource(BROKER, str(CONTROLLER_ID)), synonym, "2"), "2", DYNAMIC_BROKER_CONFIG),
        (config(ALL_BROKERS, synonym, "3"), "3", DYNAMIC_DEFAULT_BROKER_CONFIG),
        (None, "4", STATIC_BROKER_CONFIG),
    ]
    for first, (_, value, source) in enumerate(layers):
        records = [record for record, _, _ in layers[first:] if record is not None]
        controller = controller_with(*records, static_configs={synonym: "4"})
        assert controller.configs.topic_config("foo", name) == value
        own = controller.state.image.configs.of(*FOO).items()
        described = {config.name: config for config in controller.configs.effective_topic_configs(own)}
        assert (described[name].value, described[name].source) == (value, source)
    controller = controller_with(config(BROKER_1, synonym, "9"))
    assert controller.configs.topic_config("foo", name) == "604800000"


@pytest.mark.parametrize(
    ("static", "value"),
    [
        ({"log.retention.hours": "2"}, "7200000"),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, "180000"),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, "4"),
    ],
)
def test_keys_of_other_units_are_converted(static, value):
    assert controller_with(static_configs=static).configs.topic_config("foo", "retention.ms") == value


def test_a_topic_config_that_the_release_does_not_know_has_no_value():
    assert controller_with(release="4.0").configs.topic_config("foo", "message.format.version") is None
    assert controller_with(release="3.9").configs.topic_config("foo", "message.format.version") == "3.0-IV1"


def test_min_insync_replicas_is_at_most_the_replication_factor():
    configs = controller_with(config(FOO, "min.insync.replicas", "3")).configs
    assert [configs.min_insync_replicas("foo", replication_factor=factor) for factor in (1, 2, 3, 4)] == [1, 2, 3, 3]
    assert configs.min_insync_replicas("bar", replication_factor=3) == 1


def test_unclean_elections_are_enabled_by_topic_or_for_all():
    name = "unclean.leader.election.enable"
    assert not controller_with().configs.is_unclean_election_enabled("foo")
    assert controller_with(config(FOO, name, "true")).configs.is_unclean_election_enabled("foo")
    assert controller_with(config(ALL_BROKERS, name, "TRUE")).configs.is_unclean_election_enabled("bar")
    # Nobody has checked this one.
    assert not controller_with(config(ALL_BROKERS, name, "perhaps")).configs.is_unclean_election_enabled("foo")


# --- New topics


def test_the_configs_of_a_new_topic_are_checked_and_written():
    configs = controller_with().configs
    records, error = configs.alter_topic_configs_for_creation("new", [("retention.ms", "5"), ("segment.ms", None)])
    assert (records, error) == ([(config(ConfigResource(TOPIC, "new"), "retention.ms", "5"), 0)], NO_ERROR)
    records, error = configs.alter_topic_configs_for_creation("new", [("retention.ms", "5"), ("segment.ms", "0")])
    assert (records, error.error_code) == ([], ErrorCode.INVALID_CONFIG)


def test_a_new_topics_configs_are_told_whole_and_in_order():
    told = controller_with().configs.effective_topic_configs([("retention.ms", "5")])
    known = topic_definitions(Release.parse("4.4"))
    assert [config.name for config in told] == sorted(name for name, each in known.items() if not each.is_internal)
    assert {config.name for config in told if config.source != DEFAULT_CONFIG} == {"retention.ms"}
    internal = "internal.segment.bytes"
    assert known[internal].is_internal
    told = controller_with().configs.effective_topic_configs([(internal, "1048576")])
    assert [config.value for config in told if config.name == internal] == ["1048576"]


# --- The tables


def test_the_tables_of_names_agree():
    releases = [release for release in all_releases() if release.name >= "3.7"]
    assert len(releases) == 8
    for release in releases:
        topics, groups = topic_definitions(release).keys(), group_definitions(release).keys()
        assert not topics & unknown_topic_configs(release)
        assert not groups & unknown_group_configs(release)
        assert set(dynamic_lists(release))
    newest_topics = topic_definitions(releases[-1]).keys()
    assert unknown_topic_configs(releases[0]) <= newest_topics
    assert unknown_group_configs(releases[0]) <= group_definitions(releases[-1]).keys()
    assert TOPIC_SYNONYMS.keys() <= {name for release in releases for name in topic_definitions(release)}


def test_a_resource_with_very_many_configs_is_refused():
    controller = controller_with()
    names = [f"plugin.key.{number}" for number in range(1_001)]
    error, records = alter(controller, BROKER_1, *((name, SET, "x") for name in names))
    assert (error.error_code, records) == (ErrorCode.POLICY_VIOLATION, [])
    assert alter(controller, BROKER_1, *((name, SET, "x") for name in names[1:]))[0] is NO_ERROR
    # What is there goes at once.
    assert alter(controller, BROKER_1, *((name, DELETE, None) for name in names))[0] is NO_ERROR
    assert configs_of(controller, BROKER_1) == {}


class CountedText(str):
    """Counts how often such texts are compared."""

    comparisons = 0
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        CountedText.comparisons += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("operation", [APPEND, SUBTRACT])
def test_entries_of_a_long_list_are_not_compared_each_with_each(operation, monkeypatch):
    names = [f"e{number}" for number in range(3_000)]
    monkeypatch.setattr(configuration_control, "_entries", lambda text: list(map(CountedText, text.split(","))))
    after = changed_list(",".join(names), operation, ",".join([*names[::-1], "new"]))
    assert after == (",".join([*names, "new"]) if operation == APPEND else "")
    assert CountedText.comparisons < 10 * len(names)
