"""Which coordinator runs where, and whose rules are known."""

import pytest

from falkirk.coordinator.loader_rules import (
    CoordinatorKind,
    configured_coordinator,
    default_coordinator,
    loader_rules,
    read_limits,
)
from falkirk.versions.errors import IncompleteReleaseError
from falkirk.versions.release import Release

OLD, NEW = CoordinatorKind.OLD, CoordinatorKind.NEW


@pytest.mark.parametrize(("name", "kind"), [("3.7", OLD), ("3.9", OLD), ("4.0", NEW), ("4.3", NEW), ("4.4", NEW)])
def test_the_new_coordinator_is_the_default_since_4_0(name, kind):
    release = Release.parse(name)
    assert default_coordinator(release) is kind
    assert loader_rules(release).kind is kind
    assert loader_rules(release, NEW).kind is NEW


def test_the_old_coordinator_was_last_in_4_0():
    assert loader_rules(Release.parse("4.0"), OLD).kind is OLD
    with pytest.raises(IncompleteReleaseError, match=r"old group coordinator of release 4\.3\.1"):
        loader_rules(Release.parse("4.3"), OLD)


@pytest.mark.parametrize(
    ("properties", "kind"),
    [
        ({}, OLD),
        ({"group.coordinator.new.enable": "true"}, NEW),
        ({"group.coordinator.new.enable": "false"}, OLD),
        ({"group.coordinator.rebalance.protocols": "classic"}, OLD),
        ({"group.coordinator.rebalance.protocols": "classic, Consumer"}, NEW),
    ],
)
def test_properties_turn_the_new_coordinator_on_in_kafka_3(properties, kind):
    assert configured_coordinator(Release.parse("3.9"), properties) is kind


def test_a_property_turns_the_new_coordinator_off_in_4_0_alone():
    off = {"group.coordinator.new.enable": "FALSE", "group.coordinator.rebalance.protocols": "classic,consumer"}
    assert configured_coordinator(Release.parse("4.0"), off) is OLD
    assert configured_coordinator(Release.parse("4.0"), {}) is NEW
    assert configured_coordinator(Release.parse("4.3"), off) is NEW


def test_only_4_4_limits_its_readers():
    assert [read_limits(Release.parse(name)) is None for name in ("3.7", "3.9", "4.0", "4.3", "4.4")] == [True] * 4 + [
        False
    ]
