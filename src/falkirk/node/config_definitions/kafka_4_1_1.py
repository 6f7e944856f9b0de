"""Keys of server.properties: what release 4.1.1 added, changed and removed.

Source: `KafkaConfig.configDef()` of the real jars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.versions.config_definition import ConfigType, Definition, ListOf, OneOf, Range

if TYPE_CHECKING:
    from collections.abc import Mapping

BOOLEAN: Final = ConfigType.BOOLEAN
CLASS: Final = ConfigType.CLASS
INT: Final = ConfigType.INT
LIST: Final = ConfigType.LIST
LONG: Final = ConfigType.LONG
PASSWORD: Final = ConfigType.PASSWORD
STRING: Final = ConfigType.STRING

DEFINED: Final[Mapping[str, Definition]] = {
    "controller.quorum.append.linger.ms": Definition(INT, 25, Range(0)),
    "controller.quorum.election.backoff.max.ms": Definition(INT, 1000, Range(0)),
    "controller.quorum.election.timeout.ms": Definition(INT, 1000, Range(0)),
    "controller.quorum.fetch.timeout.ms": Definition(INT, 2000, Range(0)),
    "controller.quorum.request.timeout.ms": Definition(INT, 2000, Range(0)),
    "controller.quorum.retry.backoff.ms": Definition(INT, 20, Range(0)),
    "group.consumer.regex.refresh.interval.ms": Definition(INT, 600000, Range(10000)),
    "group.coordinator.rebalance.protocols": Definition(
        LIST,
        (
            "classic",
            "consumer",
            "streams",
        ),
        ListOf(
            (
                "consumer",
                "classic",
                "share",
                "streams",
            )
        ),
    ),
    "group.share.assignors": Definition(LIST, ("simple",)),
    "group.share.max.share.sessions": Definition(INT, 2000, Range(1)),
    "group.share.partition.max.record.locks": Definition(INT, 2000, Range(100, 10000)),
    "group.streams.heartbeat.interval.ms": Definition(INT, 5000, Range(1)),
    "group.streams.max.heartbeat.interval.ms": Definition(INT, 15000, Range(1)),
    "group.streams.max.session.timeout.ms": Definition(INT, 60000, Range(1)),
    "group.streams.max.size": Definition(INT, 2147483647, Range(1)),
    "group.streams.max.standby.replicas": Definition(INT, 2, Range(0)),
    "group.streams.min.heartbeat.interval.ms": Definition(INT, 5000, Range(1)),
    "group.streams.min.session.timeout.ms": Definition(INT, 45000, Range(1)),
    "group.streams.num.standby.replicas": Definition(INT, 0, Range(0)),
    "group.streams.session.timeout.ms": Definition(INT, 45000, Range(1)),
    "internal.metadata.delete.delay.millis": Definition(LONG, 60000),
    "internal.metadata.log.segment.bytes": Definition(INT, None),
    "internal.metadata.max.batch.size.in.bytes": Definition(INT, 8388608),
    "internal.metadata.max.fetch.size.in.bytes": Definition(INT, 8388608),
    "metadata.log.segment.bytes": Definition(INT, 1073741824, Range(8388608)),
    "sasl.oauthbearer.assertion.algorithm": Definition(
        STRING,
        "RS256",
        OneOf(
            (
                "ES256",
                "RS256",
            ),
            ignores_case=True,
        ),
    ),
    "sasl.oauthbearer.assertion.claim.aud": Definition(STRING, None),
    "sasl.oauthbearer.assertion.claim.exp.seconds": Definition(INT, 300, Range(0, 86400)),
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
    "share.coordinator.cold.partition.snapshot.interval.ms": Definition(INT, 300000, Range(1)),
    "transaction.two.phase.commit.enable": Definition(BOOLEAN, False),
}

REMOVED: Final[tuple[str, ...]] = (
    "group.coordinator.new.enable",
    "group.share.max.groups",
    "metadata.log.segment.min.bytes",
    "share.fetch.max.fetch.records",
)
