"""Configs of topics, groups and client metrics by release."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.versions.configs.tables import definitions_of, is_since, names_since

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.configs.definition import Definition
    from falkirk.versions.release import Release

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,10}")
_HOUR: Final = 3600 * 1000


def topic_definitions(release: Release) -> Mapping[str, Definition]:
    """Return the configs of topics by name; none before 3.7."""
    return definitions_of("topic", release)


def group_definitions(release: Release) -> Mapping[str, Definition]:
    """Return the configs of groups by name; none before 4.0.

    Defaults are those of the group coordinator's own keys, where server.properties does not set them.
    """
    return definitions_of("group", release)


def client_metrics_definitions(release: Release) -> Mapping[str, Definition]:
    """Return the configs of client metrics by name; none before 3.7."""
    return definitions_of("client_metrics", release)


def unknown_topic_configs(release: Release) -> frozenset[str]:
    """Return the names that came after 3.7 and after the release."""
    return names_since("topic", release)


def unknown_group_configs(release: Release) -> frozenset[str]:
    """Return the names that came after 4.0 and after the release."""
    return names_since("group", release)


def describes_client_metrics_defaults(release: Release) -> bool:
    """Return whether DescribeConfigs returns all configs of client metrics, with types, not only those that are set."""
    return is_since(release, "4.1")


def has_group_synonyms(release: Release) -> bool:
    """Return whether DescribeConfigs names the keys of server.properties that are synonyms of group configs."""
    return is_since(release, "4.3")


def inherits_group_config(release: Release, name: str) -> bool:
    """Return whether a group that does not set a config has the value of server.properties, not Kafka's default."""
    if name.startswith("streams."):
        return is_since(release, "4.3")
    return name not in {"share.heartbeat.interval.ms", "share.session.timeout.ms"} or is_since(release, "4.1")


@dataclass(frozen=True, slots=True)
class Synonym:
    """A key of server.properties that is a topic config's default; its value times `factor` is the topic's."""

    name: str
    factor: int = 1

    def convert(self, text: str) -> str:
        """Return the topic config's value for a value of this key; as in Kafka, other texts than numbers count as 0."""
        if self.factor == 1:
            return text
        return str(int(text) * self.factor) if _INTEGER.fullmatch(text) else "0"


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
