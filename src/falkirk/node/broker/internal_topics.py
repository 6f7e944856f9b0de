"""Topics as brokers request them: those of Kafka's own coordinators have their own configs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.config.static_configs import static_value
from falkirk.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig
from falkirk.versions.release import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.release import Release

# Suffixes of keys in server.properties; other texts are values.
_KEYS: Final = ("segment.bytes", "min.isr")
_LEFT_TO_THE_CONTROLLER: Final = -1
# Prefix of keys in server.properties, suffix of that for partitions, configs.
_COORDINATOR_TOPICS: Final[Mapping[str, tuple[str, str, Mapping[str, str]]]] = {
    CONSUMER_OFFSETS: (
        "offsets.topic.",
        "num.partitions",
        {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "segment.bytes"},
    ),
    TRANSACTION_STATE: (
        "transaction.state.log.",
        "num.partitions",
        {
            "unclean.leader.election.enable": "false",
            "compression.type": "uncompressed",
            "cleanup.policy": "compact",
            "min.insync.replicas": "min.isr",
            "segment.bytes": "segment.bytes",
        },
    ),
    SHARE_GROUP_STATE: (
        "share.coordinator.state.topic.",
        "num.partitions",
        {
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "segment.bytes": "segment.bytes",
            "min.insync.replicas": "min.isr",
            "retention.ms": "-1",
        },
    ),
}


def creatable_topic(name: str, static_configs: Mapping[str, str], release: Release) -> CreatableTopic:
    """Return a topic with the partitions, replicas and configs of server.properties.

    -1 for what is left to the controller.
    """

    def value(key: str) -> int:
        found = static_value(static_configs, release, key)
        assert isinstance(found, int), f"{key} is a number"
        return found

    def size(key: str) -> int:
        return (
            _LEFT_TO_THE_CONTROLLER if release.asks_for_default_partitions and key not in static_configs else value(key)
        )

    own = _COORDINATOR_TOPICS.get(name) if name in release.internal_topics else None
    if own is None:
        return CreatableTopic(
            name, num_partitions=size("num.partitions"), replication_factor=size("default.replication.factor")
        )
    prefix, partitions, configs = own
    return CreatableTopic(
        name,
        num_partitions=value(prefix + partitions),
        replication_factor=value(f"{prefix}replication.factor"),
        configs=[
            CreatableTopicConfig(config, str(value(prefix + text)) if text.startswith(_KEYS) else text)
            for config, text in configs.items()
        ],
    )
