"""Keys of server.properties: what release 4.3.1 added, changed and removed.

Source: `KafkaConfig.configDef()` of the real jars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.versions.config_definition import ConfigType, Definition, DistinctListOf, Range

if TYPE_CHECKING:
    from collections.abc import Mapping

BOOLEAN: Final = ConfigType.BOOLEAN
INT: Final = ConfigType.INT
LIST: Final = ConfigType.LIST
LONG: Final = ConfigType.LONG

DEFINED: Final[Mapping[str, Definition]] = {
    "controller.quorum.fetch.max.bytes": Definition(INT, 1048576, Range(1)),
    "controller.quorum.fetch.snapshot.max.bytes": Definition(INT, 1048576, Range(1)),
    "cordoned.log.dirs": Definition(LIST, (), DistinctListOf()),
    "follower.fetch.last.tiered.offset.enable": Definition(BOOLEAN, False),
    "group.consumer.assignment.interval.ms": Definition(INT, 1000, Range(0)),
    "group.consumer.max.assignment.interval.ms": Definition(INT, 15000, Range(0)),
    "group.consumer.min.assignment.interval.ms": Definition(INT, 0, Range(0)),
    "group.coordinator.background.threads": Definition(INT, 2, Range(1)),
    "group.coordinator.cached.buffer.max.bytes": Definition(INT, 1048588, Range(524288)),
    "group.share.assignment.interval.ms": Definition(INT, 1000, Range(0)),
    "group.share.max.assignment.interval.ms": Definition(INT, 15000, Range(0)),
    "group.share.max.delivery.count.limit": Definition(INT, 10, Range(5, 25)),
    "group.share.max.partition.max.record.locks": Definition(INT, 4000, Range(2000, 10000)),
    "group.share.min.assignment.interval.ms": Definition(INT, 0, Range(0)),
    "group.share.min.delivery.count.limit": Definition(INT, 2, Range(2, 5)),
    "group.share.min.partition.max.record.locks": Definition(INT, 100, Range(100, 2000)),
    "group.streams.assignment.interval.ms": Definition(INT, 1000, Range(0)),
    "group.streams.max.assignment.interval.ms": Definition(INT, 15000, Range(0)),
    "group.streams.min.assignment.interval.ms": Definition(INT, 0, Range(0)),
    "remote.log.index.file.cache.ttl.ms": Definition(LONG, 900000, Range(-1)),
    "share.coordinator.cached.buffer.max.bytes": Definition(INT, 1048588, Range(524288)),
    "share.coordinator.snapshot.update.records.per.snapshot": Definition(INT, 500, Range(0, 500)),
}

REMOVED: Final[tuple[str, ...]] = (
    "group.share.enable",
    "internal.metadata.max.fetch.size.in.bytes",
)
