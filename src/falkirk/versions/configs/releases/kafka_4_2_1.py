"""Configs that Kafka 4.2.1 added, changed or removed."""

from typing import Final

from falkirk.versions.configs.definition import (
    BOOLEAN,
    INT,
    LIST,
    ConfigChanges,
    Definition,
    DistinctListOf,
    Range,
    Required,
)

CHANGES: Final = ConfigChanges(
    release="4.2.1",
    server={
        "advertised.listeners": Definition(LIST, None, DistinctListOf(may_be_empty=False)),
        "config.providers": Definition(LIST, (), DistinctListOf(), is_dynamic=True),
        "controller.listener.names": Definition(LIST, Required.REQUIRED, DistinctListOf(may_be_empty=False)),
        "controller.quorum.auto.join.enable": Definition(BOOLEAN, False),
        "early.start.listeners": Definition(LIST, None, DistinctListOf()),
        "group.consumer.assignors": Definition(LIST, ("uniform", "range"), DistinctListOf(may_be_empty=False)),
        "group.coordinator.append.linger.ms": Definition(INT, -1, Range(-1)),
        "group.coordinator.rebalance.protocols": Definition(
            LIST,
            ("classic", "consumer", "streams"),
            DistinctListOf(("consumer", "classic", "share", "streams"), may_be_empty=False),
        ),
        "group.share.assignors": Definition(LIST, ("simple",), DistinctListOf(may_be_empty=False)),
        "group.share.initialize.retry.interval.ms": Definition(INT, 30_000, Range(1), is_internal=True),
        "group.streams.initial.rebalance.delay.ms": Definition(INT, 3000, Range(0)),
        "kafka.metrics.reporters": Definition(LIST, (), DistinctListOf()),
        "listeners": Definition(LIST, ("PLAINTEXT://:9092",), DistinctListOf(may_be_empty=False), is_dynamic=True),
        "log.cleanup.policy": Definition(LIST, ("delete",), DistinctListOf(("compact", "delete")), is_dynamic=True),
        "log.dir": Definition(LIST, ("/tmp/kafka-logs",), DistinctListOf(may_be_empty=False)),
        "log.dirs": Definition(LIST, None, DistinctListOf(may_be_empty=False)),
        "metric.reporters": Definition(
            LIST, ("org.apache.kafka.common.metrics.JmxReporter",), DistinctListOf(), is_dynamic=True
        ),
        "num.replica.fetchers": Definition(INT, 1, Range(1), is_dynamic=True),
        "process.roles": Definition(
            LIST, Required.REQUIRED, DistinctListOf(("broker", "controller"), may_be_empty=False)
        ),
        "remote.log.manager.follower.thread.pool.size": Definition(INT, 2, Range(1), is_dynamic=True),
        "sasl.enabled.mechanisms": Definition(LIST, ("GSSAPI",), DistinctListOf(), is_dynamic=True),
        "sasl.kerberos.principal.to.local.rules": Definition(LIST, ("DEFAULT",), DistinctListOf(), is_dynamic=True),
        "sasl.oauthbearer.expected.audience": Definition(LIST, (), DistinctListOf()),
        "share.coordinator.append.linger.ms": Definition(INT, -1, Range(-1)),
        "ssl.cipher.suites": Definition(LIST, (), DistinctListOf(), is_dynamic=True),
        "ssl.enabled.protocols": Definition(LIST, ("TLSv1.2", "TLSv1.3"), DistinctListOf(), is_dynamic=True),
    },
    topic={"cleanup.policy": Definition(LIST, ("delete",), DistinctListOf(("compact", "delete")))},
    group={"streams.initial.rebalance.delay.ms": Definition(INT, 3000, Range(0))},
    client_metrics={"match": Definition(LIST, (), DistinctListOf()), "metrics": Definition(LIST, (), DistinctListOf())},
)
