import pytest

from falkirk.coordinator.runtime.settings import GroupSettings
from falkirk.node.broker.group_coordinator.group_settings import group_settings
from falkirk.versions.release import Release

PACKAGE = "org.apache.kafka.coordinator.group.assignor."


def test_without_any_keys_the_settings_are_those_of_kafka():
    assert group_settings({}, Release.parse("4.3")) == GroupSettings()


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
