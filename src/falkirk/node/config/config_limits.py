"""Constraints between keys that hold in server.properties, and again after a change of dynamic configs.

Source: KafkaConfig.validateValues, GroupCoordinatorConfig, ShareGroupConfig.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.configs.group_config_limits import LIMITS
from falkirk.versions.configs.definition import ConfigError, Required
from falkirk.versions.configs.server import definitions, phrases_of_limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.versions.configs.definition import Value
    from falkirk.versions.release import Release

_RETENTION: Final = "log.retention.ms"
# Keys for the same time in several units: the first that is set counts.
_RETENTIONS: Final = ((_RETENTION, 1), ("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000))
_MINIMA: Final = (("log.roll.ms", 1), ("log.roll.jitter.ms", 0))
_REPLICATION: Final = ("replica.fetch.wait.max.ms", "replica.socket.timeout.ms", "replica.lag.time.max.ms")
_THREADS: Final = "log.cleaner.threads"
_DEDUPE_BUFFER: Final = "log.cleaner.dedupe.buffer.size"
_MIB: Final = 1024 * 1024
_QUEUED_BYTES: Final = "queued.max.request.bytes"
_REQUEST_BYTES: Final = "socket.request.max.bytes"
_PER_IP: Final = "max.connections.per.ip"
_OVERRIDES: Final = f"{_PER_IP}.overrides"
_INT_DIGITS_MAX: Final = 10
_HOST: Final = re.compile(r"[0-9a-zA-Z\-%._:]*")
_CODEC: Final = "offsets.topic.compression.codec"
_CODECS: Final = range(5)
_PROTOCOLS: Final = "group.coordinator.rebalance.protocols"
_SHARE_SESSIONS: Final = "group.share.max.share.sessions"
_SHARE_SIZE: Final = "group.share.max.size"
# Of these it is said what the highest limit must be, not the value.
_LIMITED_BY_HIGHEST: Final = frozenset(
    {"share.delivery.count.limit", "share.partition.max.record.locks", "share.record.lock.duration.ms"}
)
_KINDS: Final = ("consumer", "share", "streams")
_KEYS: Final = frozenset(
    {
        *(key for key, _ in (*_RETENTIONS, *_MINIMA)),
        *(f"group.{name}" for name in LIMITS),
        *(limit[0] for limits in LIMITS.values() for limit in limits if limit is not None),
        *(_THREADS, _DEDUPE_BUFFER, _QUEUED_BYTES, _REQUEST_BYTES, _PER_IP, _OVERRIDES, _CODEC, _PROTOCOLS),
        *(_SHARE_SESSIONS, _SHARE_SIZE, *_REPLICATION),
    }
)


def check_limits(values: Mapping[str, Value], release: Release) -> None:
    """Check the keys that are there. Raises ConfigError in Kafka's words, of which there is but the first."""
    _check_groups(values, release)
    for key, minimum in _MINIMA:
        value = values.get(key)
        _require(value is None or _int(value) >= minimum, f"{key} must be greater than or equal to {minimum}")
    retentions = (_int(value) * factor for key, factor in _RETENTIONS if (value := values.get(key)) is not None)
    _require(next(retentions, -1) != 0, f"{_RETENTION} must be unlimited (-1) or, greater than or equal to 1")
    _check_cleaner(values)
    _check_replication(values)
    queued, request = values.get(_QUEUED_BYTES), values.get(_REQUEST_BYTES)
    if queued is not None and request is not None:
        _require(
            _int(queued) <= 0 or _int(queued) >= _int(request),
            f"{_QUEUED_BYTES} must be larger or equal to {_REQUEST_BYTES}",
        )
    _check_connections(values)


def limited_values(properties: Mapping[str, str], release: Release) -> dict[str, Value]:
    """Return the values that `check_limits` looks at, defaults where a key is not set."""
    values: dict[str, Value] = {}
    known = definitions(release)
    for key in _KEYS & known.keys():
        text = properties.get(key)
        default = known[key].default
        assert not isinstance(default, Required), "none of them has to be set"
        values[key] = default if text is None else known[key].parse(key, text)
    return values


def _check_groups(values: Mapping[str, Value], release: Release) -> None:
    phrases = phrases_of_limits(release)
    protocols = values.get(_PROTOCOLS)
    _require(
        protocols is None or "classic" in (protocols if isinstance(protocols, tuple) else ()),
        "Disabling the 'classic' protocol is not supported.",
    )
    codec = values.get(_CODEC)
    _require(codec is None or _int(codec) in _CODECS, f"Unknown compression type id: {codec}")
    for name, (low, high) in LIMITS.items():
        key = f"group.{name}"
        low_key, high_key = low and low[0], high and high[0]
        _check_order(values, high_key, low_key, phrases.at_least)
        _check_order(values, key, low_key, phrases.at_least)
        if name in _LIMITED_BY_HIGHEST:
            _check_order(values, high_key, key, phrases.at_least)
        else:
            _check_order(values, key, high_key, phrases.at_most, is_at_most=True)
    if phrases.heartbeat is not None:
        for kind in _KINDS:
            heartbeat, session = f"group.{kind}.heartbeat.interval.ms", f"group.{kind}.session.timeout.ms"
            if heartbeat in values and session in values:
                _require(_int(values[heartbeat]) < _int(values[session]), f"{heartbeat} {phrases.heartbeat} {session}")
    _check_order(values, _SHARE_SESSIONS, _SHARE_SIZE, phrases.at_least)


def _check_order(
    values: Mapping[str, Value], key: str | None, other: str | None, phrase: str, *, is_at_most: bool = False
) -> None:
    if key is None or other is None or values.get(key) is None or values.get(other) is None:
        return
    value, limit = _int(values[key]), _int(values[other])
    _require(value <= limit if is_at_most else value >= limit, f"{key} {phrase} {other}")


def _check_cleaner(values: Mapping[str, Value]) -> None:
    threads, buffer = values.get(_THREADS), values.get(_DEDUPE_BUFFER)
    if threads is not None and buffer is not None:
        _require(_int(threads) > 0, f"{_THREADS} must be at least 1")
        _require(_int(buffer) // _int(threads) > _MIB, f"{_DEDUPE_BUFFER} must be at least 1MB per cleaner thread.")


def _check_replication(values: Mapping[str, Value]) -> None:
    if not all(key in values for key in _REPLICATION):
        return
    wait_max_ms, socket_timeout_ms, lag_time_max_ms = (_int(values[key]) for key in _REPLICATION)
    _require(
        wait_max_ms <= socket_timeout_ms,
        "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary socket "
        "timeouts",
    )
    _require(
        wait_max_ms <= lag_time_max_ms,
        "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to prevent frequent "
        "changes in ISR",
    )


def _check_connections(values: Mapping[str, Value]) -> None:
    hosts = list(_override_hosts(values.get(_OVERRIDES)))
    if values.get(_PER_IP) == 0:
        _require(bool(hosts), f"{_PER_IP} can be set to zero only if {_OVERRIDES} property is set.")
    refused = [host for host in hosts if not _HOST.fullmatch(host)]
    _require(not refused, f"{_OVERRIDES} contains invalid addresses : {','.join(refused)}")


def _override_hosts(overrides: Value) -> Iterable[str]:
    for entry in str(overrides or "").split(","):
        if not entry.strip():
            continue
        host, colon, count = entry.strip().rpartition(":")
        _require(
            bool(colon),
            f"Error parsing configuration property '{_OVERRIDES}': begin 0, end -1, length {len(entry.strip())}",
        )
        digits = count.strip().removeprefix("-")
        # As many as an int of Java has.
        _require(digits.isdecimal() and len(digits) <= _INT_DIGITS_MAX, f'For input string: "{count.strip()}"')
        yield host


def _int(value: Value) -> int:
    assert isinstance(value, int), "a number by its definition"
    return value


def _require(condition: bool, text: str) -> None:  # noqa: FBT001 - as in Kafka
    if not condition:
        raise ConfigError(text)
