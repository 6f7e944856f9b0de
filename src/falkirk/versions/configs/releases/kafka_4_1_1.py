"""Configs that Kafka 4.1.1 added, changed or removed."""

from typing import Final

from falkirk.versions.configs.definition import (
    BOOLEAN,
    CLASS,
    INT,
    LIST,
    LONG,
    PASSWORD,
    STRING,
    ConfigChanges,
    Definition,
    ListOf,
    OneOf,
    Range,
)

CHANGES: Final = ConfigChanges(
    release="4.1.1",
    server={
        "controller.quorum.append.linger.ms": Definition(INT, 25, Range(0)),
        "controller.quorum.election.backoff.max.ms": Definition(INT, 1000, Range(0)),
        "controller.quorum.election.timeout.ms": Definition(INT, 1000, Range(0)),
        "controller.quorum.fetch.timeout.ms": Definition(INT, 2000, Range(0)),
        "controller.quorum.request.timeout.ms": Definition(INT, 2000, Range(0)),
        "controller.quorum.retry.backoff.ms": Definition(INT, 20, Range(0)),
        "group.consumer.regex.refresh.interval.ms": Definition(INT, 600_000, Range(10_000), is_internal=True),
        "group.coordinator.new.enable": None,
        "group.coordinator.rebalance.protocols": Definition(
            LIST, ("classic", "consumer", "streams"), ListOf(("consumer", "classic", "share", "streams"))
        ),
        "group.share.assignors": Definition(LIST, ("simple",)),
        "group.share.max.groups": None,
        "group.share.max.share.sessions": Definition(INT, 2000, Range(1)),
        "group.share.partition.max.record.locks": Definition(INT, 2000, Range(100, 10_000)),
        "group.streams.heartbeat.interval.ms": Definition(INT, 5000, Range(1)),
        "group.streams.max.heartbeat.interval.ms": Definition(INT, 15_000, Range(1)),
        "group.streams.max.session.timeout.ms": Definition(INT, 60_000, Range(1)),
        "group.streams.max.size": Definition(INT, 2_147_483_647, Range(1)),
        "group.streams.max.standby.replicas": Definition(INT, 2, Range(0)),
        "group.streams.min.heartbeat.interval.ms": Definition(INT, 5000, Range(1)),
        "group.streams.min.session.timeout.ms": Definition(INT, 45_000, Range(1)),
        "group.streams.num.standby.replicas": Definition(INT, 0, Range(0)),
        "group.streams.session.timeout.ms": Definition(INT, 45_000, Range(1)),
        "internal.metadata.delete.delay.millis": Definition(LONG, 60_000, is_internal=True),
        "internal.metadata.log.segment.bytes": Definition(INT, None, is_internal=True),
        "internal.metadata.max.batch.size.in.bytes": Definition(INT, 8_388_608, is_internal=True),
        "internal.metadata.max.fetch.size.in.bytes": Definition(INT, 8_388_608, is_internal=True),
        "metadata.log.segment.bytes": Definition(INT, 1_073_741_824, Range(8_388_608)),
        "metadata.log.segment.min.bytes": None,
        "sasl.oauthbearer.assertion.algorithm": Definition(
            STRING, "RS256", OneOf(("ES256", "RS256"), ignores_case=True)
        ),
        "sasl.oauthbearer.assertion.claim.aud": Definition(STRING, None),
        "sasl.oauthbearer.assertion.claim.exp.seconds": Definition(INT, 300, Range(0, 86_400)),
        "sasl.oauthbearer.assertion.claim.iss": Definition(STRING, None),
        "sasl.oauthbearer.assertion.claim.jti.include": Definition(BOOLEAN, False),
        "sasl.oauthbearer.assertion.claim.nbf.seconds": Definition(INT, 60, Range(0, 3600)),
        "sasl.oauthbearer.assertion.claim.sub": Definition(STRING, None),
        "sasl.oauthbearer.assertion.file": Definition(STRING, None),
        "sasl.oauthbearer.assertion.private.key.file": Definition(STRING, None),
        "sasl.oauthbearer.assertion.private.key.passphrase": Definition(PASSWORD, None),
        "sasl.oauthbearer.assertion.template.file": Definition(STRING, None),
        "sasl.oauthbearer.client.credentials.client.id": Definition(STRING, None),
        "sasl.oauthbearer.client.credentials.client.secret": Definition(PASSWORD, None),
        "sasl.oauthbearer.jwt.retriever.class": Definition(
            CLASS, "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever"
        ),
        "sasl.oauthbearer.jwt.validator.class": Definition(
            CLASS, "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator"
        ),
        "sasl.oauthbearer.scope": Definition(STRING, None),
        "share.coordinator.append.linger.ms": Definition(INT, 5, Range(0)),
        "share.coordinator.cold.partition.snapshot.interval.ms": Definition(INT, 300_000, Range(1), is_internal=True),
        "share.fetch.max.fetch.records": None,
        "transaction.two.phase.commit.enable": Definition(BOOLEAN, False),
    },
    topic={
        "internal.segment.bytes": Definition(INT, None, is_internal=True),
        "segment.bytes": Definition(INT, 1_073_741_824, Range(1_048_576)),
    },
    group={
        "share.isolation.level": Definition(STRING, "read_uncommitted", OneOf(("read_committed", "read_uncommitted"))),
        "streams.heartbeat.interval.ms": Definition(INT, 5000, Range(1)),
        "streams.num.standby.replicas": Definition(INT, 0, Range(0)),
        "streams.session.timeout.ms": Definition(INT, 45_000, Range(1)),
    },
)
