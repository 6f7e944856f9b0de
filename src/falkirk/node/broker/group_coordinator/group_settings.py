"""The group coordinator's settings in server.properties."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.runtime.settings import GroupSettings
from falkirk.node.config.static_configs import static_value
from falkirk.versions.configs.server import definitions, dynamic_configs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.image.configs import ConfigsImage
    from falkirk.versions.configs.definition import Value
    from falkirk.versions.release import Release

_ASSIGNMENT_INTERVAL: Final = "group.consumer.assignment.interval.ms"
_INTERVAL: Final = re.compile(r"[0-9]{1,10}")
_NUMBERS: Final[Mapping[str, str]] = {
    "group_min_session_timeout_ms": "group.min.session.timeout.ms",
    "group_max_session_timeout_ms": "group.max.session.timeout.ms",
    "group_initial_rebalance_delay_ms": "group.initial.rebalance.delay.ms",
    "group_max_size": "group.max.size",
    "consumer_session_timeout_ms": "group.consumer.session.timeout.ms",
    "consumer_min_session_timeout_ms": "group.consumer.min.session.timeout.ms",
    "consumer_max_session_timeout_ms": "group.consumer.max.session.timeout.ms",
    "consumer_heartbeat_interval_ms": "group.consumer.heartbeat.interval.ms",
    "consumer_min_heartbeat_interval_ms": "group.consumer.min.heartbeat.interval.ms",
    "consumer_max_heartbeat_interval_ms": "group.consumer.max.heartbeat.interval.ms",
    "consumer_max_size": "group.consumer.max.size",
    "consumer_regex_refresh_interval_ms": "group.consumer.regex.refresh.interval.ms",
    "consumer_assignment_interval_ms": _ASSIGNMENT_INTERVAL,
    "consumer_min_assignment_interval_ms": "group.consumer.min.assignment.interval.ms",
    "consumer_max_assignment_interval_ms": "group.consumer.max.assignment.interval.ms",
    "offset_metadata_max_size": "offset.metadata.max.bytes",
    "offsets_retention_check_interval_ms": "offsets.retention.check.interval.ms",
    "offsets_commit_timeout_ms": "offsets.commit.timeout.ms",
    "offsets_load_buffer_bytes": "offsets.load.buffer.size",
}
_POLICY: Final = "group.consumer.migration.policy"
# 3.7 does not convert groups.
_NO_POLICY: Final = "disabled"
_PACKAGE: Final = "org.apache.kafka.coordinator.group.assignor."
_ASSIGNORS: Final[Mapping[str, str]] = {f"{_PACKAGE}UniformAssignor": "uniform", f"{_PACKAGE}RangeAssignor": "range"}


def with_dynamic_configs(
    settings: GroupSettings, configs: ConfigsImage, node_id: int, release: Release
) -> GroupSettings:
    """Return the settings under a broker's dynamic configs, of which one is about groups."""
    if _ASSIGNMENT_INTERVAL not in dynamic_configs(release):
        return settings
    for text in configs.broker_values(node_id, _ASSIGNMENT_INTERVAL):
        # Controllers store what no broker has checked.
        if _INTERVAL.fullmatch(text):
            return replace(settings, consumer_assignment_interval_ms=int(text))
    return settings


def group_settings(properties: Mapping[str, str], release: Release) -> GroupSettings:
    """Return the settings; those for which a release has no key have the defaults of GroupSettings.

    Assignors have the names of the wire.
    """
    known = definitions(release)

    def value(key: str) -> Value:
        return static_value(properties, release, key)

    def number(key: str) -> int:
        found = value(key)
        assert isinstance(found, int), f"{key} is a number"
        return found

    found: dict[str, int] = {field: number(key) for field, key in _NUMBERS.items() if key in known}
    assignors = value("group.consumer.assignors")
    assert isinstance(assignors, tuple), "a list"
    policy = value(_POLICY) if _POLICY in known else _NO_POLICY
    return GroupSettings(
        **found,
        offsets_retention_ms=number("offsets.retention.minutes") * 60_000,
        consumer_assignors=tuple(_ASSIGNORS.get(name, name) for name in assignors),
        consumer_migration_policy=str(policy).lower(),
        new_consumer_group_epoch=release.new_consumer_group_epoch,
    )
