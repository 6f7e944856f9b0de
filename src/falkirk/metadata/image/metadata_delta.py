"""The delta between two images: records are replayed into it, one delta for each area that they touch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from falkirk.metadata.image.acls import AclsDelta
from falkirk.metadata.image.client_quotas import ClientQuotasDelta
from falkirk.metadata.image.cluster import ClusterDelta
from falkirk.metadata.image.configs import ConfigsDelta
from falkirk.metadata.image.delegation_tokens import DelegationTokensDelta
from falkirk.metadata.image.features import FeaturesDelta
from falkirk.metadata.image.metadata_image import MetadataImage, Provenance
from falkirk.metadata.image.producer_ids import ProducerIdsDelta
from falkirk.metadata.image.scram import ScramDelta
from falkirk.metadata.image.topics import TopicsDelta
from falkirk.metadata.image.unknown_tags import UnknownTagsDelta, has_unknown_tags
from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.protocol import messages
from falkirk.slices import exhaust

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topic import Topic
    from falkirk.protocol.messages import ClearElrRecord
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices

# Any: the deltas have `apply` and `between` in common, with images of their own.
_DELTAS: Final[dict[str, Any]] = {
    "features": FeaturesDelta,
    "cluster": ClusterDelta,
    "topics": TopicsDelta,
    "configs": ConfigsDelta,
    "client_quotas": ClientQuotasDelta,
    "producer_ids": ProducerIdsDelta,
    "acls": AclsDelta,
    "scram": ScramDelta,
    "delegation_tokens": DelegationTokensDelta,
    "unknown_tags": UnknownTagsDelta,
}


class MetadataDelta:
    """Pending changes by area; an area that no record has touched is None.

    The loader handles transactions: a transaction marker raises here, NoOpRecord does nothing.
    """

    __slots__ = (
        "acls",
        "client_quotas",
        "cluster",
        "configs",
        "delegation_tokens",
        "features",
        "image",
        "producer_ids",
        "scram",
        "topics",
        "unknown_tags",
    )

    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        self.features: FeaturesDelta | None = None
        self.cluster: ClusterDelta | None = None
        self.topics: TopicsDelta | None = None
        self.configs: ConfigsDelta | None = None
        self.client_quotas: ClientQuotasDelta | None = None
        self.producer_ids: ProducerIdsDelta | None = None
        self.acls: AclsDelta | None = None
        self.scram: ScramDelta | None = None
        self.delegation_tokens: DelegationTokensDelta | None = None
        self.unknown_tags: UnknownTagsDelta | None = (
            UnknownTagsDelta(image.unknown_tags) if image.unknown_tags.tags else None
        )

    def replay(self, record: WireMessage) -> None:
        """Replay a record. Raises InconsistentRecordError; the delta must not be used after that."""
        entry = _REPLAY.get(type(record))
        if entry is None:
            raise InconsistentRecordError(type(record).__name__, "cannot be replayed outside of a log")
        area, replay = entry
        topic_name = None
        if area:
            delta = getattr(self, area)
            if delta is None:
                delta = _DELTAS[area](getattr(self.image, area))
                setattr(self, area, delta)
            topic_name = replay(delta, record)
            if topic_name is not None:
                self._remove_topic_configs(topic_name)
        if self.unknown_tags is not None or has_unknown_tags(record):
            self.add_unknown_tags(record, topic_name)

    def set_partitions(self, after: Topic, partitions: dict[int, Partition]) -> None:
        """Set partitions of an existing topic, as their PartitionRecords would; the topic is then `after`."""
        if self.topics is None:
            self.topics = TopicsDelta(self.image.topics)
        self.topics.set_partitions(after, partitions)

    def clear_elr_slices(self, record: ClearElrRecord) -> Slices[None]:
        """Replay a record that clears the eligible leader replicas of all topics, in slices of bounded size."""
        if self.topics is None:
            self.topics = TopicsDelta(self.image.topics)
        yield from self.topics.clear_elr_slices()
        self.add_unknown_tags(record)

    def clear_unknown_tags(self) -> None:
        """Remove all unknown tagged fields, also those of this delta."""
        if self.unknown_tags is not None:
            self.unknown_tags.clear()

    def add_unknown_tags(self, record: WireMessage, topic_name: str | None = None) -> None:
        """Add a record's unknown tagged fields; `topic_name` is that of a topic that it removes."""
        if self.unknown_tags is None:
            if not has_unknown_tags(record):
                return
            self.unknown_tags = UnknownTagsDelta(self.image.unknown_tags)
        self.unknown_tags.replay(record, topic_name)

    def apply(self, provenance: Provenance) -> MetadataImage:
        """Return the next image. Raises nothing: inconsistent records have failed in `replay`."""
        return exhaust(self.apply_slices(provenance))

    def apply_slices(self, provenance: Provenance) -> Slices[MetadataImage]:
        """Do what `apply` does in slices of bounded size where topics change; nothing may be replayed meanwhile."""
        image = self.image
        topics = image.topics if self.topics is None else (yield from self.topics.apply_slices())
        return MetadataImage(
            provenance=provenance,
            features=image.features if self.features is None else self.features.apply(),
            cluster=image.cluster if self.cluster is None else self.cluster.apply(),
            topics=topics,
            configs=image.configs if self.configs is None else self.configs.apply(),
            client_quotas=image.client_quotas if self.client_quotas is None else self.client_quotas.apply(),
            producer_ids=image.producer_ids if self.producer_ids is None else self.producer_ids.apply(),
            acls=image.acls if self.acls is None else self.acls.apply(),
            scram=image.scram if self.scram is None else self.scram.apply(),
            delegation_tokens=(
                image.delegation_tokens if self.delegation_tokens is None else self.delegation_tokens.apply()
            ),
            unknown_tags=image.unknown_tags if self.unknown_tags is None else self.unknown_tags.apply(),
        )

    @classmethod
    def between(cls, before: MetadataImage, after: MetadataImage) -> MetadataDelta:
        """Return the delta that leads from one image to the other, as when a snapshot replaces an image.

        It holds what differs and nothing else (KIP-1155 asks for that).
        """
        return exhaust(cls.between_slices(before, after))

    @classmethod
    def between_slices(cls, before: MetadataImage, after: MetadataImage) -> Slices[MetadataDelta]:
        """Do what `between` does, in slices of bounded size where topics are compared."""
        delta = cls(before)
        for area, delta_class in _DELTAS.items():
            old, new = getattr(before, area), getattr(after, area)
            if area == "topics":
                topics = yield from TopicsDelta.between_slices(old, new)
                delta.topics = topics if topics.changed or topics.deleted else None
            elif old is not new and old != new:
                setattr(delta, area, delta_class.between(old, new))
        return delta

    def _remove_topic_configs(self, name: str) -> None:
        if self.configs is None:
            self.configs = ConfigsDelta(self.image.configs)
        self.configs.remove_topic(name)


def _nothing(_delta: object, _record: object) -> None:
    """Replay a record without effect."""


# Area of each record, and the method that replays it, which returns the name of a topic that it removes.
# Any: each method accepts the class beside it.
_REPLAY: Final[dict[type[WireMessage], tuple[str, Callable[[Any, Any], str | None]]]] = {
    messages.RegisterBrokerRecord: ("cluster", ClusterDelta.replay_register_broker),
    messages.UnregisterBrokerRecord: ("cluster", ClusterDelta.replay_unregister_broker),
    messages.TopicRecord: ("topics", TopicsDelta.replay_topic),
    messages.PartitionRecord: ("topics", TopicsDelta.replay_partition),
    messages.ConfigRecord: ("configs", ConfigsDelta.replay_config),
    messages.PartitionChangeRecord: ("topics", TopicsDelta.replay_partition_change),
    messages.FenceBrokerRecord: ("cluster", ClusterDelta.replay_fence),
    messages.UnfenceBrokerRecord: ("cluster", ClusterDelta.replay_unfence),
    messages.RemoveTopicRecord: ("topics", TopicsDelta.replay_remove),
    messages.DelegationTokenRecord: ("delegation_tokens", DelegationTokensDelta.replay_token),
    messages.UserScramCredentialRecord: ("scram", ScramDelta.replay_credential),
    messages.FeatureLevelRecord: ("features", FeaturesDelta.replay_feature_level),
    messages.ClientQuotaRecord: ("client_quotas", ClientQuotasDelta.replay_client_quota),
    messages.ProducerIdsRecord: ("producer_ids", ProducerIdsDelta.replay_producer_ids),
    messages.BrokerRegistrationChangeRecord: ("cluster", ClusterDelta.replay_registration_change),
    messages.AccessControlEntryRecord: ("acls", AclsDelta.replay_acl),
    messages.RemoveAccessControlEntryRecord: ("acls", AclsDelta.replay_remove),
    messages.NoOpRecord: ("", _nothing),
    messages.ZkMigrationStateRecord: ("features", FeaturesDelta.replay_zk_migration_state),
    messages.RemoveUserScramCredentialRecord: ("scram", ScramDelta.replay_remove),
    messages.RemoveDelegationTokenRecord: ("delegation_tokens", DelegationTokensDelta.replay_remove),
    messages.RegisterControllerRecord: ("cluster", ClusterDelta.replay_register_controller),
    messages.ClearElrRecord: ("topics", TopicsDelta.replay_clear_elr),
    messages.UnregisterControllerRecord: ("cluster", ClusterDelta.replay_unregister_controller),
}
