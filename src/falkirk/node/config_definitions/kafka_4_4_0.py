"""Keys of server.properties: what release 4.4.0 added, changed and removed.

Source: `KafkaConfig.configDef()` of the real jars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.versions.config_definition import ConfigType, Definition, DistinctListOf, Range

if TYPE_CHECKING:
    from collections.abc import Mapping

BOOLEAN: Final = ConfigType.BOOLEAN
CLASS: Final = ConfigType.CLASS
INT: Final = ConfigType.INT
LIST: Final = ConfigType.LIST
LONG: Final = ConfigType.LONG
STRING: Final = ConfigType.STRING

DEFINED: Final[Mapping[str, Definition]] = {
    "errors.deadletterqueue.auto.create.topics.enable": Definition(BOOLEAN, False),
    "errors.deadletterqueue.topic.name.prefix": Definition(STRING, "dlq."),
    "group.consumer.assignor.offload.enable": Definition(BOOLEAN, True),
    "group.share.assignor.offload.enable": Definition(BOOLEAN, True),
    "group.share.dlq.manager.class.name": Definition(
        STRING, "org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager"
    ),
    "group.streams.acceptable.recovery.lag": Definition(LONG, 10000, Range(0)),
    "group.streams.assignor.offload.enable": Definition(BOOLEAN, True),
    "group.streams.assignors": Definition(LIST, ("sticky",), DistinctListOf(may_be_empty=False)),
    "group.streams.max.warmup.replicas": Definition(INT, 20, Range(0)),
    "group.streams.min.task.offset.interval.ms": Definition(INT, 15000, Range(1)),
    "group.streams.num.warmup.replicas": Definition(INT, 2, Range(0)),
    "group.streams.rack.aware.assignment.tags": Definition(LIST, (), DistinctListOf()),
    "group.streams.task.offset.interval.ms": Definition(INT, 60000, Range(1)),
    "group.streams.topology.description.plugin.class": Definition(CLASS, None),
    "log.remote.copy.lag.bytes": Definition(LONG, -1, Range(-1)),
    "log.remote.copy.lag.ms": Definition(LONG, 0, Range(-1)),
    "max.decompressed.message.bytes": Definition(INT, 2147483639, Range(1, 2147483639)),
    "sasl.oauthbearer.allow.unverified.audience": Definition(BOOLEAN, False),
    "sasl.oauthbearer.allow.unverified.issuer": Definition(BOOLEAN, False),
}

REMOVED: Final[tuple[str, ...]] = ()
