"""Limits of group configs: by the coordinator's keys in server.properties, and between two group configs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.versions.configs.definition import ConfigError, Required, Value
from falkirk.versions.configs.resources import group_definitions, inherits_group_config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.release import Release


# Of the assignors that are listed the first is the default.
_ASSIGNORS: Final = "group.streams.assignors"
_ASSIGNORS_DEFAULT: Final = "sticky"
_WITHOUT_SYNONYM: Final = frozenset(
    {
        "errors.deadletterqueue.copy.record.enable",
        "errors.deadletterqueue.topic.name",
        "share.auto.offset.reset",
        "share.isolation.level",
        "share.renew.acknowledge.enable",
    }
)
_Limit = tuple[str, int]
LIMITS: Final[Mapping[str, tuple[_Limit | None, _Limit | None]]] = {
    "consumer.assignment.interval.ms": (
        ("group.consumer.min.assignment.interval.ms", 0),
        ("group.consumer.max.assignment.interval.ms", 15_000),
    ),
    "consumer.heartbeat.interval.ms": (
        ("group.consumer.min.heartbeat.interval.ms", 5000),
        ("group.consumer.max.heartbeat.interval.ms", 15_000),
    ),
    "consumer.session.timeout.ms": (
        ("group.consumer.min.session.timeout.ms", 45_000),
        ("group.consumer.max.session.timeout.ms", 60_000),
    ),
    "share.assignment.interval.ms": (
        ("group.share.min.assignment.interval.ms", 0),
        ("group.share.max.assignment.interval.ms", 15_000),
    ),
    "share.delivery.count.limit": (
        ("group.share.min.delivery.count.limit", 2),
        ("group.share.max.delivery.count.limit", 10),
    ),
    "share.heartbeat.interval.ms": (
        ("group.share.min.heartbeat.interval.ms", 5000),
        ("group.share.max.heartbeat.interval.ms", 15_000),
    ),
    "share.partition.max.record.locks": (
        ("group.share.min.partition.max.record.locks", 100),
        ("group.share.max.partition.max.record.locks", 4000),
    ),
    "share.record.lock.duration.ms": (
        ("group.share.min.record.lock.duration.ms", 15_000),
        ("group.share.max.record.lock.duration.ms", 60_000),
    ),
    "share.session.timeout.ms": (
        ("group.share.min.session.timeout.ms", 45_000),
        ("group.share.max.session.timeout.ms", 60_000),
    ),
    "streams.assignment.interval.ms": (
        ("group.streams.min.assignment.interval.ms", 0),
        ("group.streams.max.assignment.interval.ms", 15_000),
    ),
    "streams.heartbeat.interval.ms": (
        ("group.streams.min.heartbeat.interval.ms", 5000),
        ("group.streams.max.heartbeat.interval.ms", 15_000),
    ),
    "streams.num.standby.replicas": (None, ("group.streams.max.standby.replicas", 2)),
    "streams.num.warmup.replicas": (None, ("group.streams.max.warmup.replicas", 20)),
    "streams.session.timeout.ms": (
        ("group.streams.min.session.timeout.ms", 45_000),
        ("group.streams.max.session.timeout.ms", 60_000),
    ),
    "streams.task.offset.interval.ms": (("group.streams.min.task.offset.interval.ms", 15_000), None),
}
"""By config of a group: the keys of server.properties that limit it and its default, each with its own default."""


def group_synonym(name: str) -> str | None:
    """Return the key of server.properties that is a group config's default; None if it has none."""
    if name == "streams.assignor.name":
        return _ASSIGNORS
    return None if name in _WITHOUT_SYNONYM else f"group.{name}"


def group_default(name: str, static_configs: Mapping[str, str], release: Release) -> Value:
    """Return the value of a config that the group does not set."""
    definition = group_definitions(release)[name]
    if name == "streams.assignor.name":
        return static_configs.get(_ASSIGNORS, _ASSIGNORS_DEFAULT).split(",")[0].strip()
    text = static_configs.get(group_synonym(name) or "")
    if text is not None and inherits_group_config(release, name):
        return definition.parse(name, text)
    return None if isinstance(definition.default, Required) else definition.default


def check_group_configs(configs: Mapping[str, Value], static_configs: Mapping[str, str], release: Release) -> None:
    """Check the configs of a group, each of which is of its type already. Raises ConfigError."""
    for name, value in configs.items():
        if name in LIMITS:
            _check_limits(name, _number(value), static_configs, release)
    _check_words(configs, static_configs)
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if session not in configs and heartbeat not in configs:
            continue
        values = {
            name: configs[name] if name in configs else group_default(name, static_configs, release)
            for name in (session, heartbeat)
        }
        if _number(values[session]) <= _number(values[heartbeat]):
            raise ConfigError(f"{session} must be greater than {heartbeat}")


def _check_limits(name: str, value: int, static_configs: Mapping[str, str], release: Release) -> None:
    low, high = LIMITS[name]
    at_least = None if low is None else _limit(static_configs, low)
    at_most = None if high is None else _limit(static_configs, high)
    # Before 4.4 the key of the limit is reported, since then the limit itself.
    if low is not None and at_least is not None and value < at_least:
        limit: str | int = at_least if release.tells_limits_of_group_configs else low[0]
        reason = f"greater than or equal to {limit}"
    elif high is not None and at_most is not None and value > at_most:
        limit = at_most if release.tells_limits_of_group_configs else high[0]
        reason = f"less than or equal to {limit}"
    else:
        return
    if release.tells_limits_of_group_configs and at_least is not None and at_most is not None:
        reason = f"in the range {at_least} to {at_most} inclusive."
    raise ConfigError(f"{name} must be {reason}")


def _check_words(configs: Mapping[str, Value], static_configs: Mapping[str, str]) -> None:
    topic = configs.get("errors.deadletterqueue.topic.name")
    if isinstance(topic, str) and topic.startswith("__"):
        raise ConfigError("errors.deadletterqueue.topic.name must not start with '__'")
    tags = configs.get("streams.rack.aware.assignment.tags")
    if isinstance(tags, tuple) and len(set(tags)) < len(tags):
        raise ConfigError("streams.rack.aware.assignment.tags must not name a tag twice")
    assignor = configs.get("streams.assignor.name")
    if assignor is not None:
        registered = [word.strip() for word in static_configs.get(_ASSIGNORS, _ASSIGNORS_DEFAULT).split(",")]
        # What a class of the operator's own calls itself, only Java can say.
        if assignor not in registered and not any("." in word for word in registered):
            raise ConfigError(f"streams.assignor.name '{assignor}' is none of {', '.join(registered)}")


def _limit(static_configs: Mapping[str, str], limit: _Limit) -> int:
    name, default = limit
    return int(static_configs.get(name, default))


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value
