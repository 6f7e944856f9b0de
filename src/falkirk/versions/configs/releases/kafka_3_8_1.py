"""Configs that Kafka 3.8.1 added, changed or removed."""

from typing import Final

from falkirk.versions.configs.definition import (
    BOOLEAN,
    INT,
    LIST,
    LONG,
    STRING,
    ConfigChanges,
    Definition,
    ListOf,
    MetadataVersionName,
    OneOf,
    Range,
)

CHANGES: Final = ConfigChanges(
    release="3.8.1",
    server={
        "compression.gzip.level": Definition(INT, -1, Range(1, 9, besides=-1), is_dynamic=True),
        "compression.lz4.level": Definition(INT, 9, Range(1, 17), is_dynamic=True),
        "compression.zstd.level": Definition(INT, 3, Range(-131_072, 22), is_dynamic=True),
        "controller.quorum.bootstrap.servers": Definition(LIST, (), is_internal=True),
        "group.consumer.migration.policy": Definition(
            STRING, "disabled", OneOf(("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"), ignores_case=True)
        ),
        "group.coordinator.append.linger.ms": Definition(INT, 10, Range(0)),
        "group.coordinator.rebalance.protocols": Definition(
            LIST, ("classic",), ListOf(("consumer", "classic", "unknown"))
        ),
        "inter.broker.protocol.version": Definition(STRING, "3.8-IV0", MetadataVersionName()),
        "listener.security.protocol.map": Definition(
            STRING, "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", is_dynamic=True
        ),
        "log.dir.failure.timeout.ms": Definition(LONG, 30_000, Range(1)),
        "log.initial.task.delay.ms": Definition(LONG, 30_000, Range(0), is_internal=True),
        "max.request.partition.size.limit": Definition(INT, 2000, Range(1)),
        "remote.fetch.max.wait.ms": Definition(INT, 500, Range(1), is_dynamic=True),
        "remote.log.manager.copier.thread.pool.size": Definition(INT, 10, Range(1), is_internal=True),
        "remote.log.manager.copy.max.bytes.per.second": Definition(
            LONG, 9_223_372_036_854_775_807, Range(1), is_dynamic=True
        ),
        "remote.log.manager.copy.quota.window.num": Definition(INT, 11, Range(1)),
        "remote.log.manager.copy.quota.window.size.seconds": Definition(INT, 1, Range(1)),
        "remote.log.manager.expiration.thread.pool.size": Definition(INT, 10, Range(1), is_internal=True),
        "remote.log.manager.fetch.max.bytes.per.second": Definition(
            LONG, 9_223_372_036_854_775_807, Range(1), is_dynamic=True
        ),
        "remote.log.manager.fetch.quota.window.num": Definition(INT, 11, Range(1)),
        "remote.log.manager.fetch.quota.window.size.seconds": Definition(INT, 1, Range(1)),
        "unstable.feature.versions.enable": Definition(BOOLEAN, False, is_internal=True),
        "unstable.metadata.versions.enable": None,
    },
    topic={
        "compression.gzip.level": Definition(INT, -1, Range(1, 9, besides=-1)),
        "compression.lz4.level": Definition(INT, 9, Range(1, 17)),
        "compression.zstd.level": Definition(INT, 3, Range(-131_072, 22)),
    },
)
