"""Keys of server.properties: what release 4.0.0 added, changed and removed.

Source: `KafkaConfig.configDef()` of the real jars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.versions.config_definition import ConfigType, Definition, ListOf, OneOf, Range, Required

if TYPE_CHECKING:
    from collections.abc import Mapping

BOOLEAN: Final = ConfigType.BOOLEAN
INT: Final = ConfigType.INT
LIST: Final = ConfigType.LIST
LONG: Final = ConfigType.LONG
SHORT: Final = ConfigType.SHORT
STRING: Final = ConfigType.STRING
REQUIRED: Final = Required.REQUIRED

DEFINED: Final[Mapping[str, Definition]] = {
    "add.partitions.to.txn.retry.backoff.max.ms": Definition(INT, 100, Range(0)),
    "add.partitions.to.txn.retry.backoff.ms": Definition(INT, 20, Range(1)),
    "controller.performance.always.log.threshold.ms": Definition(LONG, 2000, Range(0)),
    "controller.performance.sample.period.ms": Definition(LONG, 60000, Range(100)),
    "group.consumer.assignors": Definition(
        LIST,
        (
            "uniform",
            "range",
        ),
    ),
    "group.consumer.migration.policy": Definition(
        STRING,
        "bidirectional",
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
    "group.coordinator.append.linger.ms": Definition(INT, 5, Range(0)),
    "group.coordinator.new.enable": Definition(BOOLEAN, True),
    "group.coordinator.rebalance.protocols": Definition(
        LIST,
        (
            "classic",
            "consumer",
        ),
        ListOf(
            (
                "consumer",
                "classic",
                "share",
            )
        ),
    ),
    "group.coordinator.threads": Definition(INT, 4, Range(1)),
    "group.share.max.size": Definition(INT, 200, Range(1, 1000)),
    "group.share.persister.class.name": Definition(
        STRING, "org.apache.kafka.server.share.persister.DefaultStatePersister"
    ),
    "group.share.record.lock.duration.ms": Definition(INT, 30000, Range(1000, 3600000)),
    "log.message.timestamp.after.max.ms": Definition(LONG, 3600000, Range(0)),
    "log.segment.bytes": Definition(INT, 1073741824, Range(1048576)),
    "metric.reporters": Definition(LIST, ("org.apache.kafka.common.metrics.JmxReporter",)),
    "node.id": Definition(INT, REQUIRED, Range(0)),
    "num.recovery.threads.per.data.dir": Definition(INT, 2, Range(1)),
    "process.roles": Definition(
        LIST,
        REQUIRED,
        ListOf(
            (
                "broker",
                "controller",
            )
        ),
    ),
    "remote.list.offsets.request.timeout.ms": Definition(LONG, 30000, Range(1)),
    "remote.log.manager.copier.thread.pool.size": Definition(INT, 10, Range(1)),
    "remote.log.manager.expiration.thread.pool.size": Definition(INT, 10, Range(1)),
    "remote.log.manager.thread.pool.size": Definition(INT, 2, Range(1)),
    "share.coordinator.append.linger.ms": Definition(INT, 10, Range(0)),
    "share.coordinator.load.buffer.size": Definition(INT, 5242880, Range(1)),
    "share.coordinator.snapshot.update.records.per.snapshot": Definition(INT, 500, Range(0)),
    "share.coordinator.state.topic.compression.codec": Definition(INT, 0),
    "share.coordinator.state.topic.min.isr": Definition(SHORT, 2, Range(1)),
    "share.coordinator.state.topic.num.partitions": Definition(INT, 50, Range(1)),
    "share.coordinator.state.topic.prune.interval.ms": Definition(INT, 300000, Range(1)),
    "share.coordinator.state.topic.replication.factor": Definition(SHORT, 3, Range(1)),
    "share.coordinator.state.topic.segment.bytes": Definition(INT, 104857600, Range(1)),
    "share.coordinator.threads": Definition(INT, 1, Range(1)),
    "share.coordinator.write.timeout.ms": Definition(INT, 5000, Range(1)),
    "share.fetch.max.fetch.records": Definition(INT, 2147483647),
    "share.fetch.purgatory.purge.interval.requests": Definition(INT, 1000),
}

REMOVED: Final[tuple[str, ...]] = (
    "auto.include.jmx.reporter",
    "broker.id.generation.enable",
    "control.plane.listener.name",
    "controlled.shutdown.max.retries",
    "controlled.shutdown.retry.backoff.ms",
    "delegation.token.master.key",
    "eligible.leader.replicas.enable",
    "inter.broker.protocol.version",
    "leader.imbalance.per.broker.percentage",
    "log.message.downconversion.enable",
    "log.message.format.version",
    "log.message.timestamp.difference.max.ms",
    "offsets.commit.required.acks",
    "password.encoder.cipher.algorithm",
    "password.encoder.iterations",
    "password.encoder.key.length",
    "password.encoder.keyfactory.algorithm",
    "password.encoder.old.secret",
    "password.encoder.secret",
    "reserved.broker.max.id",
    "zookeeper.clientCnxnSocket",
    "zookeeper.connect",
    "zookeeper.connection.timeout.ms",
    "zookeeper.max.in.flight.requests",
    "zookeeper.metadata.migration.enable",
    "zookeeper.metadata.migration.min.batch.size",
    "zookeeper.session.timeout.ms",
    "zookeeper.set.acl",
    "zookeeper.ssl.cipher.suites",
    "zookeeper.ssl.client.enable",
    "zookeeper.ssl.crl.enable",
    "zookeeper.ssl.enabled.protocols",
    "zookeeper.ssl.endpoint.identification.algorithm",
    "zookeeper.ssl.keystore.location",
    "zookeeper.ssl.keystore.password",
    "zookeeper.ssl.keystore.type",
    "zookeeper.ssl.ocsp.enable",
    "zookeeper.ssl.protocol",
    "zookeeper.ssl.truststore.location",
    "zookeeper.ssl.truststore.password",
    "zookeeper.ssl.truststore.type",
)
