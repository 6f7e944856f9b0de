"""Keys of server.properties: what release 3.9.1 added, changed and removed.

Source: `KafkaConfig.configDef()` of the real jars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.versions.config_definition import ConfigType, Definition, ListOf, MetadataVersionName, Range

if TYPE_CHECKING:
    from collections.abc import Mapping

BOOLEAN: Final = ConfigType.BOOLEAN
INT: Final = ConfigType.INT
LIST: Final = ConfigType.LIST
LONG: Final = ConfigType.LONG
SHORT: Final = ConfigType.SHORT
STRING: Final = ConfigType.STRING

DEFINED: Final[Mapping[str, Definition]] = {
    "group.coordinator.rebalance.protocols": Definition(
        LIST,
        ("classic",),
        ListOf(
            (
                "consumer",
                "classic",
                "share",
                "unknown",
            )
        ),
    ),
    "group.share.delivery.count.limit": Definition(INT, 5, Range(2, 10)),
    "group.share.enable": Definition(BOOLEAN, False),
    "group.share.heartbeat.interval.ms": Definition(INT, 5000, Range(1)),
    "group.share.max.groups": Definition(SHORT, 10, Range(1, 100)),
    "group.share.max.heartbeat.interval.ms": Definition(INT, 15000, Range(1)),
    "group.share.max.record.lock.duration.ms": Definition(INT, 60000, Range(30000, 3600000)),
    "group.share.max.session.timeout.ms": Definition(INT, 60000, Range(1)),
    "group.share.max.size": Definition(SHORT, 200, Range(10, 1000)),
    "group.share.min.heartbeat.interval.ms": Definition(INT, 5000, Range(1)),
    "group.share.min.record.lock.duration.ms": Definition(INT, 15000, Range(1000, 30000)),
    "group.share.min.session.timeout.ms": Definition(INT, 45000, Range(1)),
    "group.share.partition.max.record.locks": Definition(INT, 200, Range(100, 10000)),
    "group.share.record.lock.duration.ms": Definition(INT, 30000, Range(1000, 60000)),
    "group.share.session.timeout.ms": Definition(INT, 45000, Range(1)),
    "inter.broker.protocol.version": Definition(STRING, "3.9-IV0", MetadataVersionName()),
    "remote.log.manager.copier.thread.pool.size": Definition(INT, -1, Range(1, besides=-1)),
    "remote.log.manager.expiration.thread.pool.size": Definition(INT, -1, Range(1, besides=-1)),
    "unclean.leader.election.interval.ms": Definition(LONG, 300000, Range(1)),
}

REMOVED: Final[tuple[str, ...]] = ()
