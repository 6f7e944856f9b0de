from dataclasses import replace

import pytest

from falkirk.coordinator.runtime.settings import GroupSettings
from falkirk.metadata.image.configs import BROKER
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, Provenance
from falkirk.node.broker.group_coordinator.group_settings import group_settings, with_dynamic_configs
from falkirk.protocol.messages import ConfigRecord
from falkirk.versions.release import Release

PACKAGE = "org.apache.kafka.coordinator.group.assignor."


def test_without_any_keys_the_settings_are_those_of_kafka():
    assert group_settings({}, Release.parse("4.2")) == GroupSettings()
    since = GroupSettings(consumer_assignment_interval_ms=1_000, new_consumer_group_epoch=1)
    assert group_settings({}, Release.parse("4.3")) == since


@pytest.mark.parametrize(
    ("own", "default", "release", "interval_ms"),
    [
        ("7", "8", "4.3", 7),
        (None, "8", "4.3", 8),
        (None, None, "4.3", 5),
        ("soon", None, "4.3", 5),
        pytest.param("9" * 5_000, None, "4.3", 5, id="digits"),
        ("7", "8", "4.2", 0),
    ],
)
def test_the_assignment_interval_can_be_changed_while_a_broker_runs(own, default, release, interval_ms):
    key, runs = "group.consumer.assignment.interval.ms", Release.parse(release)
    delta = MetadataDelta(EMPTY)
    for name, text in (("1", own), ("", default), ("2", "9")):
        if text is not None:
            delta.replay(ConfigRecord(BROKER, name, key, text))
    static = group_settings({key: "5"}, runs)
    changed = with_dynamic_configs(static, delta.apply(Provenance(1, 1, 0)).configs, 1, runs)
    assert changed == replace(static, consumer_assignment_interval_ms=interval_ms)


@pytest.mark.parametrize("release", ["3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.4"])
def test_every_release_has_the_assignors_by_their_names_on_the_wire(release):
    assert set(group_settings({}, Release.parse(release)).consumer_assignors) == {"uniform", "range"}


@pytest.mark.parametrize(
    ("key", "text", "field", "value"),
    [
        ("group.max.size", "5", "group_max_size", 5),
        ("offsets.retention.minutes", "2", "offsets_retention_ms", 120_000),
        ("group.consumer.assignors", f"{PACKAGE}RangeAssignor", "consumer_assignors", ("range",)),
        ("group.consumer.migration.policy", "DOWNGRADE", "consumer_migration_policy", "downgrade"),
        ("offset.metadata.max.bytes", "10", "offset_metadata_max_size", 10),
    ],
)
def test_keys_of_server_properties_are_taken_over(key, text, field, value):
    assert getattr(group_settings({key: text}, Release.parse("4.0")), field) == value


def test_a_release_that_converts_no_groups_has_that_as_its_policy():
    assert group_settings({}, Release.parse("3.7")).consumer_migration_policy == "disabled"
