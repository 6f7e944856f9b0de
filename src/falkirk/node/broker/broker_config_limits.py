"""What the values of a broker's dynamic configs must be together, and how far they may go in one change.

What has to hold in server.properties, too, is in `config_limits`.
Source: DynamicThreadPool, DynamicRemoteLogConfig, LogCleaner, DynamicLogConfig, DynamicListenerConfig and
SocketServer, which validate a reconfiguration in real brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.config.config_limits import check_limits, limited_values
from falkirk.versions.configs.definition import ConfigError
from falkirk.versions.configs.server import definitions, dynamic_configs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.release import Release

_THREAD_COUNTS: Final = (
    "num.io.threads",
    "num.network.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
    "remote.log.reader.threads",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size",
)
_CLEANER_THREADS: Final = "log.cleaner.threads"
_POSITIVE: Final = ("max.connections", "max.connection.creation.rate")
_LISTENER_PREFIX: Final = "listener.name."
_UNLIMITED: Final = -1
_AS_RETENTION: Final = -2
_UNITS_MS: Final = (("log.retention.ms", 1), ("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000))


def check_change(before: Mapping[str, str], after: Mapping[str, str], release: Release) -> None:
    """Check the effective configs of a broker before and after a change. Raises ConfigError in Kafka's words."""
    check_limits(limited_values(after, release), release)
    dynamic = dynamic_configs(release)
    for name, value in after.items():
        base = name.split(".", 3)[-1] if name.startswith(_LISTENER_PREFIX) else name
        # What the release does not know, or cannot change, may be a plugin's: nobody has read its value.
        if base not in dynamic:
            continue
        if base in _POSITIVE and int(value) <= 0:
            raise ConfigError(f"Invalid {base} {int(value)}")
        if base in _THREAD_COUNTS:
            _check_threads(base, _number(before, name if name in before else base, base, release), int(value))
    _check_cleaner(before, after, release)
    _check_retention(after, release)


def _number(configs: Mapping[str, str], name: str, base: str, release: Release) -> int:
    default = definitions(release)[base].default
    assert isinstance(default, int), "a number by its definition"
    return int(configs.get(name, default))


def _check_threads(name: str, before: int, after: int) -> None:
    prefix = f"Dynamic thread count update validation failed for {name}={after}"
    if after > 2 * before:
        raise ConfigError(f"{prefix}, value should not be greater than double the current value {before}")
    if after < before / 2:
        raise ConfigError(f"{prefix}, value should be at least half the current value {before}")


def _check_cleaner(before: Mapping[str, str], after: Mapping[str, str], release: Release) -> None:
    now = _number(before, _CLEANER_THREADS, _CLEANER_THREADS, release)
    wanted = _number(after, _CLEANER_THREADS, _CLEANER_THREADS, release)
    if wanted < now / 2:
        raise ConfigError(f"Log cleaner threads cannot be reduced to less than half the current value {now}")
    if wanted > 2 * now:
        raise ConfigError(f"Log cleaner threads cannot be increased to more than double the current value {now}")


def _check_retention(after: Mapping[str, str], release: Release) -> None:
    set_in = next(((name, factor) for name, factor in _UNITS_MS if name in after), None)
    retention_ms = _number({}, "log.retention.hours", "log.retention.hours", release) * 3_600_000
    if set_in is not None:
        retention_ms = int(after[set_in[0]]) * set_in[1]
    retention_bytes = _number(after, "log.retention.bytes", "log.retention.bytes", release)
    limits = (("ms", max(retention_ms, _UNLIMITED)), ("bytes", retention_bytes))
    for unit, retention in limits:
        name, whole = f"log.local.retention.{unit}", f"log.retention.{unit}"
        if name not in definitions(release):
            continue
        local = _number(after, name, name, release)
        if retention == _UNLIMITED or local == _AS_RETENTION:
            continue
        if local == _UNLIMITED:
            reason = f"Value must not be -1 as {whole} value is set as {retention}."
        elif local > retention:
            reason = f"Value must not be more than {whole} property value: {retention}"
        else:
            continue
        raise ConfigError(f"Invalid value {local} for configuration {name}: {reason}")
