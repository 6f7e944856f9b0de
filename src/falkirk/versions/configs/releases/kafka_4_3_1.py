"""Configs that Kafka 4.3.1 added, changed or removed."""

from typing import Final

from falkirk.versions.configs.definition import (
    BOOLEAN,
    INT,
    LIST,
    LONG,
    ConfigChanges,
    Definition,
    DistinctListOf,
    Range,
)

CHANGES: Final = ConfigChanges(
    release="4.3.1",
    server={
        "controller.quorum.fetch.max.bytes": Definition(INT, 1_048_576, Range(1)),
        "controller.quorum.fetch.snapshot.max.bytes": Definition(INT, 1_048_576, Range(1)),
        "cordoned.log.dirs": Definition(LIST, (), DistinctListOf(), is_dynamic=True),
        "follower.fetch.last.tiered.offset.enable": Definition(BOOLEAN, False, is_dynamic=True),
        "group.consumer.assignment.interval.ms": Definition(INT, 1000, Range(0), is_dynamic=True),
        "group.consumer.max.assignment.interval.ms": Definition(INT, 15_000, Range(0)),
        "group.consumer.min.assignment.interval.ms": Definition(INT, 0, Range(0)),
        "group.coordinator.background.threads": Definition(INT, 2, Range(1)),
        "group.coordinator.cached.buffer.max.bytes": Definition(INT, 1_048_588, Range(524_288), is_dynamic=True),
        "group.share.assignment.interval.ms": Definition(INT, 1000, Range(0), is_dynamic=True),
        "group.share.enable": None,
        "group.share.max.assignment.interval.ms": Definition(INT, 15_000, Range(0)),
        "group.share.max.delivery.count.limit": Definition(INT, 10, Range(5, 25)),
        "group.share.max.partition.max.record.locks": Definition(INT, 4000, Range(2000, 10_000)),
        "group.share.min.assignment.interval.ms": Definition(INT, 0, Range(0)),
        "group.share.min.delivery.count.limit": Definition(INT, 2, Range(2, 5)),
        "group.share.min.partition.max.record.locks": Definition(INT, 100, Range(100, 2000)),
        "group.streams.assignment.interval.ms": Definition(INT, 1000, Range(0), is_dynamic=True),
        "group.streams.max.assignment.interval.ms": Definition(INT, 15_000, Range(0)),
        "group.streams.min.assignment.interval.ms": Definition(INT, 0, Range(0)),
        "internal.metadata.max.fetch.size.in.bytes": None,
        "remote.log.index.file.cache.ttl.ms": Definition(LONG, 900_000, Range(-1), is_internal=True),
        "share.coordinator.cached.buffer.max.bytes": Definition(INT, 1_048_588, Range(524_288), is_dynamic=True),
        "share.coordinator.snapshot.update.records.per.snapshot": Definition(INT, 500, Range(0, 500)),
    },
    group={
        "consumer.assignment.interval.ms": Definition(INT, 1000, Range(0)),
        "share.assignment.interval.ms": Definition(INT, 1000, Range(0)),
        "share.delivery.count.limit": Definition(INT, 5, Range(2)),
        "share.partition.max.record.locks": Definition(INT, 2000, Range(100)),
        "share.renew.acknowledge.enable": Definition(BOOLEAN, True),
        "streams.assignment.interval.ms": Definition(INT, 1000, Range(0)),
    },
    dynamic_quotas=(
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    ),
)
