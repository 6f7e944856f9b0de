"""Names of topic and group configs that came after 3.7: which of them a release does not know yet.

Source: `LogConfig.configNames()` and `GroupConfig.configNames()` of the real jars, 3.7.2 to 4.4.0. Configs of groups
came with 4.0; the names that it has are not listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.versions.release import Release, all_releases

if TYPE_CHECKING:
    from collections.abc import Mapping

TOPIC_CONFIGS: Final[Mapping[str, tuple[str, ...]]] = {
    "3.8": ("compression.gzip.level", "compression.lz4.level", "compression.zstd.level"),
    "3.9": ("remote.log.copy.disable", "remote.log.delete.on.disable"),
    "4.1": ("internal.segment.bytes",),
    "4.4": (
        "errors.deadletterqueue.group.enable",
        "max.decompressed.message.bytes",
        "remote.copy.lag.bytes",
        "remote.copy.lag.ms",
    ),
}
"""By the release that brought them."""

GROUP_CONFIGS: Final[Mapping[str, tuple[str, ...]]] = {
    "4.1": (
        "share.isolation.level",
        "streams.heartbeat.interval.ms",
        "streams.num.standby.replicas",
        "streams.session.timeout.ms",
    ),
    "4.2": ("streams.initial.rebalance.delay.ms",),
    "4.3": (
        "consumer.assignment.interval.ms",
        "share.assignment.interval.ms",
        "share.delivery.count.limit",
        "share.partition.max.record.locks",
        "share.renew.acknowledge.enable",
        "streams.assignment.interval.ms",
    ),
    "4.4": (
        "consumer.assignor.offload.enable",
        "errors.deadletterqueue.copy.record.enable",
        "errors.deadletterqueue.topic.name",
        "share.assignor.offload.enable",
        "streams.acceptable.recovery.lag",
        "streams.assignor.name",
        "streams.assignor.offload.enable",
        "streams.num.warmup.replicas",
        "streams.rack.aware.assignment.tags",
        "streams.task.offset.interval.ms",
    ),
}
"""By the release that brought them."""


def unknown_topic_configs(release: Release) -> frozenset[str]:
    """Give the names that only later releases know."""
    return _later(release, TOPIC_CONFIGS)


def unknown_group_configs(release: Release) -> frozenset[str]:
    """Give the names that only later releases know; from 4.0 on."""
    return _later(release, GROUP_CONFIGS)


def _later(release: Release, names: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    order = all_releases()
    at = order.index(release)
    later = (configs for word, configs in names.items() if order.index(Release.parse(word)) > at)
    return frozenset().union(*later)
