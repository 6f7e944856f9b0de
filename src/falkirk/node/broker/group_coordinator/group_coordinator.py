"""The group coordinator of a broker (Kafka's GroupCoordinatorService)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy_extensions import mypyc_attr

from falkirk.coordinator.loader.partition_loader import PartitionLoader
from falkirk.coordinator.patterns.topic_matchers import TopicMatchers
from falkirk.coordinator.records.loader_rules import CoordinatorKind, configured_coordinator
from falkirk.coordinator.records.record_type import GroupType
from falkirk.coordinator.runtime.context import ShardContext
from falkirk.coordinator.runtime.counters import GroupCounters
from falkirk.coordinator.runtime.outcome import Outcome, Reply
from falkirk.coordinator.shard.group_coordinator_shard import GroupCoordinatorShard
from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.node.broker.coordinator_runtime.coordinator_runtime import CoordinatorRuntime
from falkirk.node.broker.coordinator_runtime.record_batches import end_marker
from falkirk.node.broker.group_coordinator.group_settings import group_settings, with_dynamic_configs
from falkirk.node.broker.group_coordinator.image_group_configs import ImageGroupConfigs
from falkirk.node.broker.group_coordinator.image_topics import ImageTopics
from falkirk.node.config.static_configs import static_value
from falkirk.protocol.compression import Compression
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ListGroupsResponse
from falkirk.versions.features import GROUP_VERSION
from falkirk.versions.release import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.coordinator.runtime.outcome import Producer, Token
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.topics import TopicDelta, TopicsDelta
    from falkirk.node.broker.coordinator_runtime.hosted_shard import Done
    from falkirk.node.broker.replication.replica_manager import ReplicaManager
    from falkirk.node.effects import Effect
    from falkirk.node.step import Step
    from falkirk.protocol.schema import WireStruct


@mypyc_attr(allow_interpreted_subclasses=True)
class GroupCoordinator(CoordinatorRuntime[GroupCoordinatorShard]):
    """`is_consumer_protocol_enabled`: it is configured and, from 4.0 on, `group.version` allows it."""

    def __init__(
        self,
        step: Step,
        replicas: ReplicaManager,
        effects: Callable[[Effect], None],
        make_shard: Callable[[ShardContext], GroupCoordinatorShard] = GroupCoordinatorShard,
    ) -> None:
        config = step.config
        self.kind = configured_coordinator(config.release, config.properties)
        self.settings = self._static_settings = group_settings(config.properties, config.release)
        self.counters = GroupCounters()
        self.topic_matchers = TopicMatchers()
        self._make_shard = make_shard
        protocols = static_value(config.properties, config.release, "group.coordinator.rebalance.protocols")
        assert isinstance(protocols, tuple), "a list"
        self._is_consumer_protocol_configured = self.kind is not CoordinatorKind.OLD and GroupType.CONSUMER in protocols
        codec = static_value(config.properties, config.release, "offsets.topic.compression.codec")
        assert isinstance(codec, int), "a number"
        super().__init__(
            step,
            replicas,
            effects,
            name="group-coordinator",
            topic=CONSUMER_OFFSETS,
            partitions_key="offsets.topic.num.partitions",
            compression=Compression(codec),
            commit_timeout_ms=self.settings.offsets_commit_timeout_ms,
        )
        self._group_configs = ImageGroupConfigs(EMPTY.configs)
        self.is_consumer_protocol_enabled = False
        self.apply_image(EMPTY)

    # --- Requests

    def list_groups(self, states: Sequence[str], types: Sequence[str], done: Done) -> None:
        """Pass `done` a ListGroupsResponse of all shards; COORDINATOR_LOAD_IN_PROGRESS while one loads."""

        def answered(parts: Sequence[WireStruct] | ErrorCode) -> None:
            if isinstance(parts, ErrorCode):
                done(parts)
                return
            groups = [group for part in parts if isinstance(part, ListGroupsResponse) for group in part.groups]
            done(ListGroupsResponse(groups=groups))

        def operation(shard: GroupCoordinatorShard, token: Token) -> Outcome:
            return Outcome(replies=[Reply(token, ListGroupsResponse(groups=shard.list_groups(states, types)))])

        self.schedule_all(operation, answered)

    def end_transaction(
        self,
        number: int,
        producer: Producer,
        coordinator_epoch: int,
        done: Callable[[ErrorCode], None],
        *,
        is_commit: bool,
        transaction_version: int,
    ) -> None:
        """Append a transaction marker to a partition of `__consumer_offsets`, and complete the pending offsets."""
        marker = end_marker(producer, coordinator_epoch, self._step.now_ms, is_commit=is_commit)
        self.append_marker(
            number,
            marker,
            lambda shard: shard.end_transaction(producer.producer_id, is_commit=is_commit),
            done,
            transaction_version=transaction_version,
        )

    # --- Shards

    def make_shard(self, leader_epoch: int) -> GroupCoordinatorShard:  # noqa: ARG002 - groups have no use for it
        """Return an empty shard."""
        config = self._step.config
        context = ShardContext(
            release=config.release,
            kind=self.kind,
            topics=self._topics,
            random=self._step.random,
            now_ms=self._step.now_ms,
            settings=self.settings,
            feature_levels=self._feature_levels,
            group_configs=self._group_configs,
            is_tolerant=config.tolerant_group_coordinator,
            counters=self.counters,
            topic_matchers=self.topic_matchers,
        )
        return self._make_shard(context)

    def make_loader(self, shard: GroupCoordinatorShard) -> PartitionLoader:
        """Return what reads a log into an empty shard."""
        return PartitionLoader(shard)

    def enter(self, shard: GroupCoordinatorShard) -> None:
        """Bring a shard's context up to the time of the step and the newest metadata."""
        context = shard.context
        context.now_ms = self._step.now_ms
        context.topics = self._topics
        context.feature_levels = self._feature_levels
        context.group_configs = self._group_configs
        context.settings = self.settings

    def apply_image(self, image: MetadataImage) -> None:
        """Keep topics, feature levels and configs of groups."""
        self._topics = ImageTopics(image)
        self._feature_levels = image.features.levels()
        self.is_consumer_protocol_enabled = self._is_consumer_protocol_configured and (
            GROUP_VERSION not in self._step.config.release.features or self._feature_levels.get(GROUP_VERSION, 0) >= 1
        )
        # Shards cache what they derive from this object, by its identity.
        if image.configs is not self._group_configs.image:
            self._group_configs = ImageGroupConfigs(image.configs)
            config = self._step.config
            self.settings = with_dynamic_configs(self._static_settings, image.configs, config.node_id, config.release)

    def topics_changed(self, delta: TopicsDelta) -> None:
        """Pass topics that were created, deleted, moved, or got partitions to the shards, and deleted partitions."""
        changed = [topic.name for topic in delta.changed.values() if _is_other(topic)]
        gone = [topic for each in delta.deleted if (topic := delta.image.topic_by_id(each)) is not None]
        deleted = [(topic.name, number) for topic in gone for number, _ in topic.items()]
        changed += [topic.name for topic in gone]
        if deleted:
            self.run_all(lambda shard: shard.partitions_deleted(deleted))
        if changed:
            self.run_all(lambda shard: shard.topics_changed(shard.context.topics, changed))


def _is_other(topic: TopicDelta) -> bool:
    """Return whether a topic has other partitions than before, or replicas on other brokers: racks count, too."""
    if topic.before is None:
        return True
    for number, partition in topic.partitions.items():
        before = topic.before.partition(number)
        if before is None or before.replicas != partition.replicas:
            return True
    return False
