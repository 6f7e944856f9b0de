"""Which coordinator runs where, and whose rules are known."""

import pytest
from coordinator_logs import TARGETS

from falkirk.coordinator.records.loader_rules import (
    CoordinatorKind,
    configured_coordinator,
    default_coordinator,
    loader_rules,
    read_limits,
)
from falkirk.versions.errors import IncompleteReleaseError
from falkirk.versions.release import Release

OLD, NEW = CoordinatorKind.OLD, CoordinatorKind.NEW


@pytest.mark.parametrize("name", TARGETS)
def test_the_new_coordinator_is_the_default_since_4_0(name):
    release = Release.parse(name)
    kind = OLD if name.startswith("3.") else NEW
    assert default_coordinator(release) is kind
    assert loader_rules(release).kind is kind
    assert loader_rules(release, NEW).kind is NEW


def test_the_old_coordinator_was_last_in_4_0():
    assert loader_rules(Release.parse("4.0"), OLD).kind is OLD
    for name in ("4.1", "4.2", "4.3", "4.4"):
        with pytest.raises(IncompleteReleaseError, match=rf"old group coordinator of release {name}\."):
            loader_rules(Release.parse(name), OLD)


def test_a_release_whose_coordinators_were_not_read_has_no_rules():
    release = Release.parse("3.6")
    for rules in (loader_rules, read_limits):
        with pytest.raises(IncompleteReleaseError, match=r"3\.6\.2"):
            rules(release)


@pytest.mark.parametrize(
    ("properties", "kind"),
    [
        ({}, OLD),
        ({"group.coordinator.new.enable": "true"}, NEW),
        ({"group.coordinator.new.enable": "false"}, OLD),
        ({"group.coordinator.rebalance.protocols": "classic"}, OLD),
        ({"group.coordinator.rebalance.protocols": "classic, consumer"}, NEW),
    ],
)
def test_properties_turn_the_new_coordinator_on_in_kafka_3(properties, kind):
    for name in ("3.7", "3.8", "3.9"):
        assert configured_coordinator(Release.parse(name), properties) is kind


def test_a_property_turns_the_new_coordinator_off_in_4_0_alone():
    off = {"group.coordinator.new.enable": "FALSE", "group.coordinator.rebalance.protocols": "classic,consumer"}
    assert configured_coordinator(Release.parse("4.0"), off) is OLD
    assert configured_coordinator(Release.parse("4.0"), {}) is NEW
    for name in ("4.1", "4.2", "4.3", "4.4"):
        assert configured_coordinator(Release.parse(name), off) is NEW


def test_only_4_4_limits_its_readers():
    assert [name for name in TARGETS if read_limits(Release.parse(name)) is not None] == ["4.4.0"]
