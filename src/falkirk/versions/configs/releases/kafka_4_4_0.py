"""Configs that Kafka 4.4.0 added, changed or removed."""

from typing import Final

from falkirk.versions.configs.definition import (
    BOOLEAN,
    CLASS,
    INT,
    LIST,
    LONG,
    STRING,
    ConfigChanges,
    Definition,
    DistinctListOf,
    Range,
)

CHANGES: Final = ConfigChanges(
    release="4.4.0",
    server={
        "errors.deadletterqueue.auto.create.topics.enable": Definition(BOOLEAN, False, is_dynamic=True),
        "errors.deadletterqueue.topic.name.prefix": Definition(STRING, "dlq.", is_dynamic=True),
        "group.consumer.assignor.offload.enable": Definition(BOOLEAN, True, is_dynamic=True, is_internal=True),
        "group.share.assignor.offload.enable": Definition(BOOLEAN, True, is_dynamic=True, is_internal=True),
        "group.share.dlq.manager.class.name": Definition(
            STRING, "org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager", is_internal=True
        ),
        "group.streams.acceptable.recovery.lag": Definition(LONG, 10_000, Range(0), is_internal=True),
        "group.streams.assignor.offload.enable": Definition(BOOLEAN, True, is_dynamic=True, is_internal=True),
        "group.streams.assignors": Definition(LIST, ("sticky",), DistinctListOf(may_be_empty=False)),
        "group.streams.max.warmup.replicas": Definition(INT, 20, Range(0), is_internal=True),
        "group.streams.min.task.offset.interval.ms": Definition(INT, 15_000, Range(1), is_internal=True),
        "group.streams.num.warmup.replicas": Definition(INT, 2, Range(0), is_internal=True),
        "group.streams.rack.aware.assignment.tags": Definition(LIST, (), DistinctListOf()),
        "group.streams.task.offset.interval.ms": Definition(INT, 60_000, Range(1), is_internal=True),
        "group.streams.topology.description.plugin.class": Definition(CLASS, None),
        "log.remote.copy.lag.bytes": Definition(LONG, -1, Range(-1), is_dynamic=True),
        "log.remote.copy.lag.ms": Definition(LONG, 0, Range(-1), is_dynamic=True),
        "max.decompressed.message.bytes": Definition(INT, 2_147_483_639, Range(1, 2_147_483_639), is_dynamic=True),
        "sasl.oauthbearer.allow.unverified.audience": Definition(BOOLEAN, False),
        "sasl.oauthbearer.allow.unverified.issuer": Definition(BOOLEAN, False),
    },
    topic={
        "errors.deadletterqueue.group.enable": Definition(BOOLEAN, False),
        "max.decompressed.message.bytes": Definition(INT, 2_147_483_639, Range(1, 2_147_483_639)),
        "remote.copy.lag.bytes": Definition(LONG, -1, Range(-1)),
        "remote.copy.lag.ms": Definition(LONG, 0, Range(-1)),
    },
    group={
        "consumer.assignor.offload.enable": Definition(BOOLEAN, True, is_internal=True),
        "errors.deadletterqueue.copy.record.enable": Definition(BOOLEAN, False),
        "errors.deadletterqueue.topic.name": Definition(STRING, ""),
        "share.assignor.offload.enable": Definition(BOOLEAN, True, is_internal=True),
        "streams.acceptable.recovery.lag": Definition(LONG, 10_000, Range(0), is_internal=True),
        "streams.assignor.name": Definition(STRING, None),
        "streams.assignor.offload.enable": Definition(BOOLEAN, True, is_internal=True),
        "streams.num.warmup.replicas": Definition(INT, 2, Range(0), is_internal=True),
        "streams.rack.aware.assignment.tags": Definition(LIST, (), DistinctListOf()),
        "streams.task.offset.interval.ms": Definition(INT, 60_000, Range(1), is_internal=True),
    },
    dynamic_quotas=(
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    ),
)
