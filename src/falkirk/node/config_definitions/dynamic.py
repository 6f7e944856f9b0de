"""Which keys of server.properties can be changed while a node runs, and which are kept from sight, by release.

Source: `DynamicBrokerConfig.dynamicConfigUpdateModes()` and `KafkaConfig.configDef()` of the real jars.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from falkirk.versions.release import Release, all_releases

if TYPE_CHECKING:
    from collections.abc import Mapping


@functools.cache
def dynamic_configs(release: Release) -> frozenset[str]:
    """Give the keys that a release from 3.7 on lets change while it runs."""
    order = all_releases()
    at = order.index(release)
    known: frozenset[str] = frozenset()
    for word, added in _ADDED.items():
        if order.index(Release.parse(word)) <= at:
            known = (known | set(added)) - set(_REMOVED.get(word, ()))
    return known


@functools.cache
def internal_configs(release: Release) -> frozenset[str]:
    """Give the keys that are described only where server.properties sets them."""
    return _INTERNAL | set(_INTERNAL_ONCE.get(release.word, ()))


# By the release that brought them.
_ADDED: Final[Mapping[str, tuple[str, ...]]] = {
    "3.7": (
        "advertised.listeners",
        "background.threads",
        "compression.type",
        "listener.security.protocol.map",
        "listeners",
        "log.cleaner.backoff.ms",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.delete.retention.ms",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.buffer.size",
        "log.cleaner.io.max.bytes.per.second",
        "log.cleaner.max.compaction.lag.ms",
        "log.cleaner.min.cleanable.ratio",
        "log.cleaner.min.compaction.lag.ms",
        "log.cleaner.threads",
        "log.cleanup.policy",
        "log.flush.interval.messages",
        "log.flush.interval.ms",
        "log.index.interval.bytes",
        "log.index.size.max.bytes",
        "log.local.retention.bytes",
        "log.local.retention.ms",
        "log.message.downconversion.enable",
        "log.message.timestamp.after.max.ms",
        "log.message.timestamp.before.max.ms",
        "log.message.timestamp.difference.max.ms",
        "log.message.timestamp.type",
        "log.preallocate",
        "log.retention.bytes",
        "log.retention.ms",
        "log.roll.jitter.ms",
        "log.roll.ms",
        "log.segment.bytes",
        "log.segment.delete.delay.ms",
        "max.connection.creation.rate",
        "max.connections",
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
        "message.max.bytes",
        "metric.reporters",
        "min.insync.replicas",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
        "principal.builder.class",
        "producer.id.expiration.ms",
        "remote.log.index.file.cache.total.size.bytes",
        "sasl.enabled.mechanisms",
        "sasl.jaas.config",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.principal.to.local.rules",
        "sasl.kerberos.service.name",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.mechanism.inter.broker.protocol",
        "ssl.cipher.suites",
        "ssl.client.auth",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.engine.factory.class",
        "ssl.key.password",
        "ssl.keymanager.algorithm",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
        "transaction.partition.verification.enable",
        "unclean.leader.election.enable",
    ),
    "3.8": (
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.zstd.level",
        "remote.fetch.max.wait.ms",
        "remote.log.manager.copy.max.bytes.per.second",
        "remote.log.manager.fetch.max.bytes.per.second",
    ),
    "4.0": (
        "remote.list.offsets.request.timeout.ms",
        "remote.log.manager.copier.thread.pool.size",
        "remote.log.manager.expiration.thread.pool.size",
        "remote.log.reader.threads",
    ),
    "4.2": (
        "config.providers",
        "remote.log.manager.follower.thread.pool.size",
    ),
    "4.3": (
        "cordoned.log.dirs",
        "follower.fetch.last.tiered.offset.enable",
        "follower.replication.throttled.rate",
        "group.consumer.assignment.interval.ms",
        "group.coordinator.cached.buffer.max.bytes",
        "group.share.assignment.interval.ms",
        "group.streams.assignment.interval.ms",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
        "share.coordinator.cached.buffer.max.bytes",
    ),
    "4.4": (
        "errors.deadletterqueue.auto.create.topics.enable",
        "errors.deadletterqueue.topic.name.prefix",
        "group.consumer.assignor.offload.enable",
        "group.share.assignor.offload.enable",
        "group.streams.assignor.offload.enable",
        "log.remote.copy.lag.bytes",
        "log.remote.copy.lag.ms",
        "max.decompressed.message.bytes",
    ),
}

# By the release that took them away.
_REMOVED: Final[Mapping[str, tuple[str, ...]]] = {
    "4.0": (
        "advertised.listeners",
        "log.message.downconversion.enable",
        "log.message.timestamp.difference.max.ms",
    ),
}

# Internal as long as they are known.
_INTERNAL: Final = frozenset(
    {
        "controller.performance.always.log.threshold.ms",
        "controller.performance.sample.period.ms",
        "group.consumer.assignor.offload.enable",
        "group.consumer.regex.refresh.interval.ms",
        "group.coordinator.new.enable",
        "group.share.assignor.offload.enable",
        "group.share.dlq.manager.class.name",
        "group.share.enable",
        "group.share.initialize.retry.interval.ms",
        "group.share.persister.class.name",
        "group.streams.acceptable.recovery.lag",
        "group.streams.assignor.offload.enable",
        "group.streams.max.warmup.replicas",
        "group.streams.min.task.offset.interval.ms",
        "group.streams.num.warmup.replicas",
        "group.streams.task.offset.interval.ms",
        "internal.metadata.delete.delay.millis",
        "internal.metadata.log.segment.bytes",
        "internal.metadata.max.batch.size.in.bytes",
        "internal.metadata.max.fetch.size.in.bytes",
        "log.initial.task.delay.ms",
        "metadata.log.segment.min.bytes",
        "producer.id.expiration.check.interval.ms",
        "remote.log.index.file.cache.ttl.ms",
        "remote.log.manager.task.retry.backoff.max.ms",
        "remote.log.manager.task.retry.backoff.ms",
        "remote.log.manager.task.retry.jitter",
        "server.max.startup.time.ms",
        "share.coordinator.cold.partition.snapshot.interval.ms",
        "share.coordinator.state.topic.prune.interval.ms",
        "share.fetch.max.fetch.records",
        "unclean.leader.election.interval.ms",
        "unstable.api.versions.enable",
        "unstable.feature.versions.enable",
        "unstable.metadata.versions.enable",
        "zookeeper.metadata.migration.min.batch.size",
    }
)

# Internal in one release, and not in those after it.
_INTERNAL_ONCE: Final[Mapping[str, tuple[str, ...]]] = {
    "3.8": (
        "controller.quorum.bootstrap.servers",
        "remote.log.manager.copier.thread.pool.size",
        "remote.log.manager.expiration.thread.pool.size",
    ),
    "3.9": ("group.consumer.migration.policy",),
}
