"""Keys of server.properties: what release 3.8.1 added, changed and removed.

Source: `KafkaConfig.configDef()` of the real jars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.versions.config_definition import ConfigType, Definition, ListOf, MetadataVersionName, OneOf, Range

if TYPE_CHECKING:
    from collections.abc import Mapping

BOOLEAN: Final = ConfigType.BOOLEAN
INT: Final = ConfigType.INT
LIST: Final = ConfigType.LIST
LONG: Final = ConfigType.LONG
STRING: Final = ConfigType.STRING

DEFINED: Final[Mapping[str, Definition]] = {
    "compression.gzip.level": Definition(INT, -1, Range(1, 9, besides=-1)),
    "compression.lz4.level": Definition(INT, 9, Range(1, 17)),
    "compression.zstd.level": Definition(INT, 3, Range(-131072, 22)),
    "controller.quorum.bootstrap.servers": Definition(LIST, ()),
    "group.consumer.migration.policy": Definition(
        STRING,
        "disabled",
        OneOf(
            (
                "DISABLED",
                "DOWNGRADE",
                "UPGRADE",
                "BIDIRECTIONAL",
            ),
            ignores_case=True,
        ),
    ),
    "group.coordinator.append.linger.ms": Definition(INT, 10, Range(0)),
    "group.coordinator.rebalance.protocols": Definition(
        LIST,
        ("classic",),
        ListOf(
            (
                "consumer",
                "classic",
                "unknown",
            )
        ),
    ),
    "inter.broker.protocol.version": Definition(STRING, "3.8-IV0", MetadataVersionName()),
    "listener.security.protocol.map": Definition(
        STRING, "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"
    ),
    "log.dir.failure.timeout.ms": Definition(LONG, 30000, Range(1)),
    "log.initial.task.delay.ms": Definition(LONG, 30000, Range(0)),
    "max.request.partition.size.limit": Definition(INT, 2000, Range(1)),
    "remote.fetch.max.wait.ms": Definition(INT, 500, Range(1)),
    "remote.log.manager.copier.thread.pool.size": Definition(INT, 10, Range(1)),
    "remote.log.manager.copy.max.bytes.per.second": Definition(LONG, 9223372036854775807, Range(1)),
    "remote.log.manager.copy.quota.window.num": Definition(INT, 11, Range(1)),
    "remote.log.manager.copy.quota.window.size.seconds": Definition(INT, 1, Range(1)),
    "remote.log.manager.expiration.thread.pool.size": Definition(INT, 10, Range(1)),
    "remote.log.manager.fetch.max.bytes.per.second": Definition(LONG, 9223372036854775807, Range(1)),
    "remote.log.manager.fetch.quota.window.num": Definition(INT, 11, Range(1)),
    "remote.log.manager.fetch.quota.window.size.seconds": Definition(INT, 1, Range(1)),
    "unstable.feature.versions.enable": Definition(BOOLEAN, False),
}

REMOVED: Final[tuple[str, ...]] = ("unstable.metadata.versions.enable",)
