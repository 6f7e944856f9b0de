"""Keys of server.properties: what release 4.2.1 added, changed and removed.

Source: `KafkaConfig.configDef()` of the real jars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.versions.config_definition import ConfigType, Definition, DistinctListOf, Range, Required

if TYPE_CHECKING:
    from collections.abc import Mapping

BOOLEAN: Final = ConfigType.BOOLEAN
INT: Final = ConfigType.INT
LIST: Final = ConfigType.LIST
REQUIRED: Final = Required.REQUIRED

DEFINED: Final[Mapping[str, Definition]] = {
    "advertised.listeners": Definition(LIST, None, DistinctListOf(may_be_empty=False)),
    "config.providers": Definition(LIST, (), DistinctListOf()),
    "controller.listener.names": Definition(LIST, REQUIRED, DistinctListOf(may_be_empty=False)),
    "controller.quorum.auto.join.enable": Definition(BOOLEAN, False),
    "early.start.listeners": Definition(LIST, None, DistinctListOf()),
    "group.consumer.assignors": Definition(
        LIST,
        (
            "uniform",
            "range",
        ),
        DistinctListOf(may_be_empty=False),
    ),
    "group.coordinator.append.linger.ms": Definition(INT, -1, Range(-1)),
    "group.coordinator.rebalance.protocols": Definition(
        LIST,
        (
            "classic",
            "consumer",
            "streams",
        ),
        DistinctListOf(
            (
                "consumer",
                "classic",
                "share",
                "streams",
            ),
            may_be_empty=False,
        ),
    ),
    "group.share.assignors": Definition(LIST, ("simple",), DistinctListOf(may_be_empty=False)),
    "group.share.initialize.retry.interval.ms": Definition(INT, 30000, Range(1)),
    "group.streams.initial.rebalance.delay.ms": Definition(INT, 3000, Range(0)),
    "kafka.metrics.reporters": Definition(LIST, (), DistinctListOf()),
    "listeners": Definition(LIST, ("PLAINTEXT://:9092",), DistinctListOf(may_be_empty=False)),
    "log.cleanup.policy": Definition(
        LIST,
        ("delete",),
        DistinctListOf(
            (
                "compact",
                "delete",
            )
        ),
    ),
    "log.dir": Definition(LIST, ("/tmp/kafka-logs",), DistinctListOf(may_be_empty=False)),  # noqa: S108 - Kafka's default
    "log.dirs": Definition(LIST, None, DistinctListOf(may_be_empty=False)),
    "metric.reporters": Definition(LIST, ("org.apache.kafka.common.metrics.JmxReporter",), DistinctListOf()),
    "num.replica.fetchers": Definition(INT, 1, Range(1)),
    "process.roles": Definition(
        LIST,
        REQUIRED,
        DistinctListOf(
            (
                "broker",
                "controller",
            ),
            may_be_empty=False,
        ),
    ),
    "remote.log.manager.follower.thread.pool.size": Definition(INT, 2, Range(1)),
    "sasl.enabled.mechanisms": Definition(LIST, ("GSSAPI",), DistinctListOf()),
    "sasl.kerberos.principal.to.local.rules": Definition(LIST, ("DEFAULT",), DistinctListOf()),
    "sasl.oauthbearer.expected.audience": Definition(LIST, (), DistinctListOf()),
    "share.coordinator.append.linger.ms": Definition(INT, -1, Range(-1)),
    "ssl.cipher.suites": Definition(LIST, (), DistinctListOf()),
    "ssl.enabled.protocols": Definition(
        LIST,
        (
            "TLSv1.2",
            "TLSv1.3",
        ),
        DistinctListOf(),
    ),
}

REMOVED: Final[tuple[str, ...]] = ()
