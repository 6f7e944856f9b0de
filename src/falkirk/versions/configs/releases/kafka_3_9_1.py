"""Configs that Kafka 3.9.1 added, changed or removed."""

from typing import Final

from falkirk.versions.configs.definition import (
    BOOLEAN,
    INT,
    LIST,
    LONG,
    SHORT,
    STRING,
    ConfigChanges,
    Definition,
    ListOf,
    MetadataVersionName,
    OneOf,
    Range,
)

CHANGES: Final = ConfigChanges(
    release="3.9.1",
    server={
        "controller.quorum.bootstrap.servers": Definition(LIST, ()),
        "group.consumer.migration.policy": Definition(
            STRING,
            "disabled",
            OneOf(("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"), ignores_case=True),
            is_internal=True,
        ),
        "group.coordinator.rebalance.protocols": Definition(
            LIST, ("classic",), ListOf(("consumer", "classic", "share", "unknown"))
        ),
        "group.share.delivery.count.limit": Definition(INT, 5, Range(2, 10)),
        "group.share.enable": Definition(BOOLEAN, False, is_internal=True),
        "group.share.heartbeat.interval.ms": Definition(INT, 5000, Range(1)),
        "group.share.max.groups": Definition(SHORT, 10, Range(1, 100)),
        "group.share.max.heartbeat.interval.ms": Definition(INT, 15_000, Range(1)),
        "group.share.max.record.lock.duration.ms": Definition(INT, 60_000, Range(30_000, 3_600_000)),
        "group.share.max.session.timeout.ms": Definition(INT, 60_000, Range(1)),
        "group.share.max.size": Definition(SHORT, 200, Range(10, 1000)),
        "group.share.min.heartbeat.interval.ms": Definition(INT, 5000, Range(1)),
        "group.share.min.record.lock.duration.ms": Definition(INT, 15_000, Range(1000, 30_000)),
        "group.share.min.session.timeout.ms": Definition(INT, 45_000, Range(1)),
        "group.share.partition.max.record.locks": Definition(INT, 200, Range(100, 10_000)),
        "group.share.record.lock.duration.ms": Definition(INT, 30_000, Range(1000, 60_000)),
        "group.share.session.timeout.ms": Definition(INT, 45_000, Range(1)),
        "inter.broker.protocol.version": Definition(STRING, "3.9-IV0", MetadataVersionName()),
        "remote.log.manager.copier.thread.pool.size": Definition(INT, -1, Range(1, besides=-1)),
        "remote.log.manager.expiration.thread.pool.size": Definition(INT, -1, Range(1, besides=-1)),
        "unclean.leader.election.interval.ms": Definition(LONG, 300_000, Range(1), is_internal=True),
    },
    topic={
        "remote.log.copy.disable": Definition(BOOLEAN, False),
        "remote.log.delete.on.disable": Definition(BOOLEAN, False),
    },
)
