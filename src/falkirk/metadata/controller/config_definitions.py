"""The configs of topics, groups and client metrics by release: types, defaults, what values they take.

Source: `LogConfig`, `GroupConfig` and `ClientMetricsConfigs` of the real jars, 3.7.2 to 4.4.0.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from falkirk.versions.config_definition import (
    ConfigType,
    Definition,
    InvalidValueError,
    ListOf,
    MetadataVersionName,
    OneOf,
    Range,
    Value,
)
from falkirk.versions.release import Release, all_releases

if TYPE_CHECKING:
    from collections.abc import Mapping

BOOLEAN: Final = ConfigType.BOOLEAN
DOUBLE: Final = ConfigType.DOUBLE
INT: Final = ConfigType.INT
LIST: Final = ConfigType.LIST
LONG: Final = ConfigType.LONG
STRING: Final = ConfigType.STRING
LONG_MAX: Final = (1 << 63) - 1


@functools.cache
def topic_definitions(release: Release) -> Mapping[str, Definition]:
    """Give the configs of topics that a release from 3.7 on knows, by name."""
    return _known(release, _TOPIC_CONFIGS)


@functools.cache
def group_definitions(release: Release) -> Mapping[str, Definition]:
    """Give the configs of groups that a release knows, by name; none before 4.0."""
    return _known(release, _GROUP_CONFIGS)


def describes_client_metrics_defaults(release: Release) -> bool:
    """Say whether DescribeConfigs tells all configs of client metrics with types, not only those that are set."""
    return _is_since(release, "4.1")


def has_group_synonyms(release: Release) -> bool:
    """Say whether DescribeConfigs tells the keys of server.properties that stand behind the configs of groups."""
    return _is_since(release, "4.3")


def inherits_group_config(release: Release, name: str) -> bool:
    """Say whether a group that does not set a config has what server.properties says, not Kafka's default."""
    if name.startswith("streams."):
        return _is_since(release, "4.3")
    return name not in {"share.heartbeat.interval.ms", "share.session.timeout.ms"} or _is_since(release, "4.1")


@functools.cache
def broker_lists(release: Release) -> Mapping[str, Definition]:
    """Give the dynamic configs of brokers that are lists: what can be appended to."""
    return _known(release, _BROKER_LISTS)


@dataclass(frozen=True, slots=True)
class ThrottledReplicas:
    """`*` for all replicas, or a list of `partition:broker`."""

    def check(self, name: str, value: Value) -> None:
        """Refuse anything else."""
        assert isinstance(value, tuple)
        if value != ("*",) and not all(_PARTITION_AND_BROKER.fullmatch(entry) for entry in value):
            shown = f"[{', '.join(value)}]"
            raise InvalidValueError(name, shown, "must be '*' or a list of [partitionId]:[brokerId]")


@dataclass(frozen=True, slots=True)
class ShareOffsetReset:
    """Where a share group starts: `latest`, `earliest`, or some time ago (KIP-932)."""

    def check(self, name: str, value: Value) -> None:
        """Refuse other words, and durations that are none or negative."""
        if value in {"latest", "earliest"}:
            return
        word, _, duration = str(value).partition(":")
        match = _DURATION.fullmatch(duration) if word == "by_duration" else None
        # A P or T with nothing behind it is no duration.
        if match is None or not any(match.groups()) or duration.upper().endswith("T") or "-" in duration:
            reason = "must be 'earliest', 'latest' or 'by_duration:<duration>' with a duration as PnDTnHnMn.nS"
            raise InvalidValueError(name, value, reason)


_PARTITION_AND_BROKER: Final = re.compile(r"[0-9]+:[0-9]+")
_DURATION: Final = re.compile(
    r"[+-]?P(?:([+-]?[0-9]+)D)?(?:T(?:([+-]?[0-9]+)H)?(?:([+-]?[0-9]+)M)?(?:([+-]?[0-9]+(?:[.,][0-9]{0,9})?)S)?)?",
    re.IGNORECASE,
)

CLIENT_METRICS_DEFINITIONS: Final[Mapping[str, Definition]] = {
    "interval.ms": Definition(INT, 300_000),
    "match": Definition(LIST, ()),
    "metrics": Definition(LIST, ()),
}


@dataclass(frozen=True, slots=True)
class Synonym:
    """A key of server.properties that stands for a topic config; its value times `factor` is that of the topic."""

    name: str
    factor: int = 1

    def convert(self, text: str) -> str:
        """Give the topic config's value for a value of this key; as in Kafka, what is no number counts as 0."""
        if self.factor == 1:
            return text
        return str(int(text) * self.factor) if _INTEGER.fullmatch(text) else "0"


_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,10}")
_HOUR: Final = 3600 * 1000
# The first that is set counts. Configs that are not here have no synonym.
TOPIC_SYNONYMS: Final[Mapping[str, tuple[Synonym, ...]]] = {
    "cleanup.policy": (Synonym("log.cleanup.policy"),),
    "compression.gzip.level": (Synonym("compression.gzip.level"),),
    "compression.lz4.level": (Synonym("compression.lz4.level"),),
    "compression.type": (Synonym("compression.type"),),
    "compression.zstd.level": (Synonym("compression.zstd.level"),),
    "delete.retention.ms": (Synonym("log.cleaner.delete.retention.ms"),),
    "file.delete.delay.ms": (Synonym("log.segment.delete.delay.ms"),),
    "flush.messages": (Synonym("log.flush.interval.messages"),),
    "flush.ms": (Synonym("log.flush.interval.ms"), Synonym("log.flush.scheduler.interval.ms")),
    "index.interval.bytes": (Synonym("log.index.interval.bytes"),),
    "local.retention.bytes": (Synonym("log.local.retention.bytes"),),
    "local.retention.ms": (Synonym("log.local.retention.ms"),),
    "max.compaction.lag.ms": (Synonym("log.cleaner.max.compaction.lag.ms"),),
    "max.decompressed.message.bytes": (Synonym("max.decompressed.message.bytes"),),
    "max.message.bytes": (Synonym("message.max.bytes"),),
    "message.downconversion.enable": (Synonym("log.message.downconversion.enable"),),
    "message.format.version": (Synonym("log.message.format.version"),),
    "message.timestamp.after.max.ms": (Synonym("log.message.timestamp.after.max.ms"),),
    "message.timestamp.before.max.ms": (Synonym("log.message.timestamp.before.max.ms"),),
    "message.timestamp.difference.max.ms": (Synonym("log.message.timestamp.difference.max.ms"),),
    "message.timestamp.type": (Synonym("log.message.timestamp.type"),),
    "min.cleanable.dirty.ratio": (Synonym("log.cleaner.min.cleanable.ratio"),),
    "min.compaction.lag.ms": (Synonym("log.cleaner.min.compaction.lag.ms"),),
    "min.insync.replicas": (Synonym("min.insync.replicas"),),
    "preallocate": (Synonym("log.preallocate"),),
    "remote.copy.lag.bytes": (Synonym("log.remote.copy.lag.bytes"),),
    "remote.copy.lag.ms": (Synonym("log.remote.copy.lag.ms"),),
    "retention.bytes": (Synonym("log.retention.bytes"),),
    "retention.ms": (
        Synonym("log.retention.ms"),
        Synonym("log.retention.minutes", 60 * 1000),
        Synonym("log.retention.hours", _HOUR),
    ),
    "segment.bytes": (Synonym("log.segment.bytes"),),
    "segment.index.bytes": (Synonym("log.index.size.max.bytes"),),
    "segment.jitter.ms": (Synonym("log.roll.jitter.ms"), Synonym("log.roll.jitter.hours", _HOUR)),
    "segment.ms": (Synonym("log.roll.ms"), Synonym("log.roll.hours", _HOUR)),
    "unclean.leader.election.enable": (Synonym("unclean.leader.election.enable"),),
}

_COMPRESSIONS: Final = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")

# By the release that brought or changed them; None: it took the config away.
_TOPIC_CONFIGS: Final[Mapping[str, Mapping[str, Definition | None]]] = {
    "3.7": {
        "cleanup.policy": Definition(LIST, ("delete",), ListOf(("compact", "delete"))),
        "compression.type": Definition(STRING, "producer", OneOf(_COMPRESSIONS)),
        "delete.retention.ms": Definition(LONG, 86_400_000, Range(0)),
        "file.delete.delay.ms": Definition(LONG, 60_000, Range(0)),
        "flush.messages": Definition(LONG, LONG_MAX, Range(1)),
        "flush.ms": Definition(LONG, LONG_MAX, Range(0)),
        "follower.replication.throttled.replicas": Definition(LIST, (), ThrottledReplicas()),
        "index.interval.bytes": Definition(INT, 4096, Range(0)),
        "leader.replication.throttled.replicas": Definition(LIST, (), ThrottledReplicas()),
        "local.retention.bytes": Definition(LONG, -2, Range(-2)),
        "local.retention.ms": Definition(LONG, -2, Range(-2)),
        "max.compaction.lag.ms": Definition(LONG, LONG_MAX, Range(1)),
        "max.message.bytes": Definition(INT, 1_048_588, Range(0)),
        "message.downconversion.enable": Definition(BOOLEAN, True),
        "message.format.version": Definition(STRING, "3.0-IV1", MetadataVersionName()),
        "message.timestamp.after.max.ms": Definition(LONG, LONG_MAX, Range(0)),
        "message.timestamp.before.max.ms": Definition(LONG, LONG_MAX, Range(0)),
        "message.timestamp.difference.max.ms": Definition(LONG, LONG_MAX, Range(0)),
        "message.timestamp.type": Definition(STRING, "CreateTime", OneOf(("CreateTime", "LogAppendTime"))),
        "min.cleanable.dirty.ratio": Definition(DOUBLE, 0.5, Range(0, 1)),
        "min.compaction.lag.ms": Definition(LONG, 0, Range(0)),
        "min.insync.replicas": Definition(INT, 1, Range(1)),
        "preallocate": Definition(BOOLEAN, False),
        "remote.storage.enable": Definition(BOOLEAN, False),
        "retention.bytes": Definition(LONG, -1),
        "retention.ms": Definition(LONG, 604_800_000, Range(-1)),
        "segment.bytes": Definition(INT, 1_073_741_824, Range(14)),
        "segment.index.bytes": Definition(INT, 10_485_760, Range(4)),
        "segment.jitter.ms": Definition(LONG, 0, Range(0)),
        "segment.ms": Definition(LONG, 604_800_000, Range(1)),
        "unclean.leader.election.enable": Definition(BOOLEAN, False),
    },
    "3.8": {
        "compression.gzip.level": Definition(INT, -1, Range(1, 9, besides=-1)),
        "compression.lz4.level": Definition(INT, 9, Range(1, 17)),
        "compression.zstd.level": Definition(INT, 3, Range(-131_072, 22)),
    },
    "3.9": {
        "remote.log.copy.disable": Definition(BOOLEAN, False),
        "remote.log.delete.on.disable": Definition(BOOLEAN, False),
    },
    "4.0": {
        "message.downconversion.enable": None,
        "message.format.version": None,
        "message.timestamp.difference.max.ms": None,
        "message.timestamp.after.max.ms": Definition(LONG, 3_600_000, Range(0)),
    },
    "4.1": {
        "internal.segment.bytes": Definition(INT, None),
        "segment.bytes": Definition(INT, 1_073_741_824, Range(1_048_576)),
    },
    "4.4": {
        "errors.deadletterqueue.group.enable": Definition(BOOLEAN, False),
        "max.decompressed.message.bytes": Definition(INT, 2_147_483_639, Range(1, 2_147_483_639)),
        "remote.copy.lag.bytes": Definition(LONG, -1, Range(-1)),
        "remote.copy.lag.ms": Definition(LONG, 0, Range(-1)),
    },
}

# Defaults are those of the group coordinator's own keys, where server.properties does not set them.
_GROUP_CONFIGS: Final[Mapping[str, Mapping[str, Definition | None]]] = {
    "4.0": {
        "consumer.heartbeat.interval.ms": Definition(INT, 5000, Range(1)),
        "consumer.session.timeout.ms": Definition(INT, 45_000, Range(1)),
        "share.auto.offset.reset": Definition(STRING, "latest", ShareOffsetReset()),
        "share.heartbeat.interval.ms": Definition(INT, 5000, Range(1)),
        "share.record.lock.duration.ms": Definition(INT, 30_000, Range(1000)),
        "share.session.timeout.ms": Definition(INT, 45_000, Range(1)),
    },
    "4.1": {
        "share.isolation.level": Definition(STRING, "read_uncommitted", OneOf(("read_committed", "read_uncommitted"))),
        "streams.heartbeat.interval.ms": Definition(INT, 5000, Range(1)),
        "streams.num.standby.replicas": Definition(INT, 0, Range(0)),
        "streams.session.timeout.ms": Definition(INT, 45_000, Range(1)),
    },
    "4.2": {"streams.initial.rebalance.delay.ms": Definition(INT, 3000, Range(0))},
    "4.3": {
        "consumer.assignment.interval.ms": Definition(INT, 1000, Range(0)),
        "share.assignment.interval.ms": Definition(INT, 1000, Range(0)),
        "share.delivery.count.limit": Definition(INT, 5, Range(2)),
        "share.partition.max.record.locks": Definition(INT, 2000, Range(100)),
        "share.renew.acknowledge.enable": Definition(BOOLEAN, True),
        "streams.assignment.interval.ms": Definition(INT, 1000, Range(0)),
    },
    "4.4": {
        "consumer.assignor.offload.enable": Definition(BOOLEAN, True),
        "errors.deadletterqueue.copy.record.enable": Definition(BOOLEAN, False),
        "errors.deadletterqueue.topic.name": Definition(STRING, ""),
        "share.assignor.offload.enable": Definition(BOOLEAN, True),
        "streams.acceptable.recovery.lag": Definition(LONG, 10_000, Range(0)),
        "streams.assignor.name": Definition(STRING, None),
        "streams.assignor.offload.enable": Definition(BOOLEAN, True),
        "streams.num.warmup.replicas": Definition(INT, 2, Range(0)),
        "streams.rack.aware.assignment.tags": Definition(LIST, ()),
        "streams.task.offset.interval.ms": Definition(INT, 60_000, Range(1)),
    },
}

_BROKER_LISTS: Final[Mapping[str, Mapping[str, Definition | None]]] = {
    "3.7": {
        "log.cleanup.policy": Definition(LIST, ("delete",)),
        "metric.reporters": Definition(LIST, ()),
        "sasl.enabled.mechanisms": Definition(LIST, ("GSSAPI",)),
        "sasl.kerberos.principal.to.local.rules": Definition(LIST, ("DEFAULT",)),
        "ssl.cipher.suites": Definition(LIST, ()),
        "ssl.enabled.protocols": Definition(LIST, ("TLSv1.2", "TLSv1.3")),
    },
    "4.0": {"metric.reporters": Definition(LIST, ("org.apache.kafka.common.metrics.JmxReporter",))},
    "4.2": {"config.providers": Definition(LIST, ()), "listeners": Definition(LIST, ("PLAINTEXT://:9092",))},
    "4.3": {"cordoned.log.dirs": Definition(LIST, ())},
}


INTERNAL_CONFIGS: Final = frozenset(
    {
        "consumer.assignor.offload.enable",
        "internal.segment.bytes",
        "share.assignor.offload.enable",
        "streams.acceptable.recovery.lag",
        "streams.assignor.offload.enable",
        "streams.num.warmup.replicas",
        "streams.task.offset.interval.ms",
    }
)
"""Configs of topics and groups that DescribeConfigs tells only where they are set."""


def _is_since(release: Release, word: str) -> bool:
    order = all_releases()
    return order.index(Release.parse(word)) <= order.index(release)


def _known(release: Release, changes: Mapping[str, Mapping[str, Definition | None]]) -> Mapping[str, Definition]:
    known: dict[str, Definition] = {}
    for word, changed in changes.items():
        if not _is_since(release, word):
            continue
        for name, definition in changed.items():
            if definition is None:
                del known[name]
            else:
                known[name] = definition
    return MappingProxyType(dict(sorted(known.items())))
