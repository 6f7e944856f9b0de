"""The group coordinator of a broker (Kafka's GroupCoordinatorService and CoordinatorRuntime).

groups.schedule("my-group", lambda shard, token: shard.heartbeat(client, request, token), done)
groups.complete()        # before the step ends: append what was decided
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.patterns.topic_matchers import TopicMatchers
from falkirk.coordinator.records.loader_rules import CoordinatorKind, configured_coordinator
from falkirk.coordinator.records.record_type import GroupType
from falkirk.coordinator.runtime.context import ShardContext
from falkirk.coordinator.runtime.counters import GroupCounters
from falkirk.coordinator.runtime.outcome import Outcome, Reply
from falkirk.coordinator.shard.group_coordinator_shard import GroupCoordinatorShard
from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.node.broker.group_coordinator.group_settings import group_settings
from falkirk.node.broker.group_coordinator.hosted_shard import HostContext, HostedShard, HostState
from falkirk.node.broker.group_coordinator.image_group_configs import ImageGroupConfigs
from falkirk.node.broker.group_coordinator.image_topics import ImageTopics
from falkirk.node.broker.group_coordinator.record_batches import RecordEncoder
from falkirk.node.config.static_configs import static_value
from falkirk.protocol.compression import Compression
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.java_hash_map import java_string_hash
from falkirk.protocol.messages import ListGroupsResponse
from falkirk.protocol.topic_partition import TopicIdPartition
from falkirk.timers import Timers
from falkirk.versions.features import GROUP_VERSION
from falkirk.versions.release import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from falkirk.coordinator.runtime.outcome import Producer, Token
    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topics import TopicsDelta
    from falkirk.node.broker.group_coordinator.hosted_shard import Done, Operation
    from falkirk.node.broker.replication.replica_manager import ReplicaManager
    from falkirk.node.effects import Effect
    from falkirk.node.sliced_work import Slices
    from falkirk.node.step import Step
    from falkirk.protocol.schema import WireStruct

TIMERS_MAX: Final = 200
"""The timers of all shards that run in one step."""
_INT32_MIN: Final = -(1 << 31)


class GroupCoordinator:
    """`done` of an operation gets the response, or the error: NOT_COORDINATOR, or that of the log.

    `is_consumer_protocol_enabled`: the consumer protocol is configured and, from 4.0 on, `group.version` allows it.
    """

    def __init__(
        self,
        step: Step,
        replicas: ReplicaManager,
        effects: Callable[[Effect], None],
        make_shard: Callable[[ShardContext], GroupCoordinatorShard] = GroupCoordinatorShard,
    ) -> None:
        config = step.config
        self.kind = configured_coordinator(config.release, config.properties)
        self.settings = group_settings(config.properties, config.release)
        self.counters = GroupCounters()
        self.topic_matchers = TopicMatchers()
        self._step = step
        self._make_shard = make_shard
        protocols = static_value(config.properties, config.release, "group.coordinator.rebalance.protocols")
        assert isinstance(protocols, tuple), "a list"
        self._is_consumer_protocol_configured = self.kind is not CoordinatorKind.OLD and GroupType.CONSUMER in protocols
        codec = static_value(config.properties, config.release, "offsets.topic.compression.codec")
        assert isinstance(codec, int), "a number"
        self._context = HostContext(
            step=step,
            replicas=replicas,
            effects=effects,
            make_shard=self._new_shard,
            enter=self._enter,
            touch=self._touch,
            encoder=RecordEncoder(config.release),
            compression=Compression(codec),
            commit_timeout_ms=self.settings.offsets_commit_timeout_ms,
        )
        self._hosts: dict[int, HostedShard] = {}
        # Shards that were used in this step.
        self._touched: dict[int, HostedShard] = {}
        # Partitions that this broker leads in the image, and whose replica is not applied yet.
        self._elected: dict[int, tuple[TopicIdPartition, Partition]] = {}
        # When each partition's next timer is due.
        self._wakeups: Timers[int, int] = Timers()
        self._is_started = False
        self._partition_count: int | None = None
        self._group_configs = ImageGroupConfigs(EMPTY.configs)
        self.is_consumer_protocol_enabled = False
        self._apply_image(EMPTY)

    # --- Life

    def start(self, image: MetadataImage) -> None:
        """Begin to coordinate, after the logs are opened."""
        self._is_started = True
        self._apply_image(image)
        topic = image.topics.topic(CONSUMER_OFFSETS)
        if topic is not None:
            for number, partition in topic.items():
                self._follow(TopicIdPartition(topic.topic_id, topic.name, number), partition)
        self._step.wake()

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Load or unload shards as leaderships change, and pass changes of topics to shards."""
        if not self._is_started:
            return
        self._apply_image(image)
        if delta.topics is None:
            return
        changed = [
            topic.name
            for topic in delta.topics.changed.values()
            if topic.before is None or any(topic.before.partition(number) is None for number in topic.partitions)
        ]
        gone = [topic for each in delta.topics.deleted if (topic := delta.topics.image.topic_by_id(each)) is not None]
        deleted = [(topic.name, number) for topic in gone for number, _ in topic.items()]
        changed += [topic.name for topic in gone]
        if changed:
            for host in self._hosts.values():
                host.topics_changed(changed, deleted)
                self._touch(host)
        self._elect(delta.topics)
        self._step.wake()

    def tick(self) -> None:
        """Run timers that are due."""
        for key, partition in list(self._elected.values()):
            self._follow(key, partition)
        left = TIMERS_MAX
        while left > 0 and (number := self._wakeups.pop_due(self._step.now_ms)) is not None:
            host = self._hosts.get(number)
            if host is not None:
                left -= host.run_timers(left)
                self._touch(host)

    def complete(self) -> None:
        """Append what the step has decided."""
        while self._touched:
            touched, self._touched = self._touched, {}
            for number, host in touched.items():
                host.end_step()
                if self._hosts.get(number) is host:
                    self._set_wakeup(number, host.next_due_ms)

    def close(self) -> None:
        """Unload all shards."""
        self._is_started = False
        hosts, self._hosts = self._hosts, {}
        self._touched.clear()
        self._elected.clear()
        for host in hosts.values():
            host.close()

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        if self._touched:
            return self._step.now_ms
        return self._wakeups.next_due_ms

    # --- Requests

    def partition_for(self, group_id: str) -> int:
        """Return the partition of `__consumer_offsets` that a group belongs to."""
        return abs_hash(group_id) % self.partition_count

    @property
    def partition_count(self) -> int:
        """The number of partitions of the topic; the configured number until it exists."""
        if self._partition_count is not None:
            return self._partition_count
        config = self._step.config
        count = static_value(config.properties, config.release, "offsets.topic.num.partitions")
        assert isinstance(count, int), "a number"
        return count

    def schedule(self, group_id: str, operation: Operation, done: Done) -> None:
        """Run an operation on the shard of a group; `done` is called now or later."""
        if not self._is_started:
            done(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        host = self._hosts.get(self.partition_for(group_id))
        if host is None:
            done(ErrorCode.NOT_COORDINATOR)
            return
        host.schedule(operation, done)
        self._touch(host)

    def start_work(self, name: str, slices: Slices) -> None:
        """Schedule operations over many steps; `slices` schedules some of them each time."""
        self._step.works.start(name, slices)

    def list_groups(self, states: Sequence[str], types: Sequence[str], done: Done) -> None:
        """Pass `done` a ListGroupsResponse of all shards; COORDINATOR_LOAD_IN_PROGRESS while one loads."""
        if not self._is_started:
            done(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        response = ListGroupsResponse(groups=[])
        hosts = [host for _, host in sorted(self._hosts.items()) if host.state is not HostState.FAILED]
        errors: list[ErrorCode] = []
        left = len(hosts)

        def answered(part: WireStruct | ErrorCode) -> None:
            nonlocal left
            left -= 1
            if isinstance(part, ListGroupsResponse):
                response.groups.extend(part.groups)
            elif isinstance(part, ErrorCode) and part is not ErrorCode.NOT_COORDINATOR:
                errors.append(part)
            if not left:
                done(errors[0] if errors else response)

        def operation(shard: GroupCoordinatorShard, token: Token) -> Outcome:
            return Outcome(replies=[Reply(token, ListGroupsResponse(groups=shard.list_groups(states, types)))])

        if not hosts:
            done(response)
        for host in hosts:
            host.schedule(operation, answered)
            self._touch(host)

    def end_transaction(
        self,
        number: int,
        producer: Producer,
        coordinator_epoch: int,
        done: Callable[[ErrorCode], None],
        *,
        is_commit: bool,
    ) -> None:
        """Append a transaction marker to a partition of `__consumer_offsets`."""
        host = self._hosts.get(number)
        if host is None:
            done(ErrorCode.NOT_COORDINATOR)
            return
        host.end_transaction(producer, coordinator_epoch, done, is_commit=is_commit)
        self._touch(host)

    @property
    def hosts(self) -> Mapping[int, HostedShard]:
        """The partitions that this broker leads, by number."""
        return self._hosts

    # --- Inside

    def _apply_image(self, image: MetadataImage) -> None:
        self._topics = ImageTopics(image)
        self._feature_levels = image.features.levels()
        self.is_consumer_protocol_enabled = self._is_consumer_protocol_configured and (
            GROUP_VERSION not in self._step.config.release.features or self._feature_levels.get(GROUP_VERSION, 0) >= 1
        )
        # Shards cache what they derive from this object, by its identity.
        if image.configs is not self._group_configs.image:
            self._group_configs = ImageGroupConfigs(image.configs)
        topic = image.topics.topic(CONSUMER_OFFSETS)
        # As in Kafka partitions that are added later are not used: groups would hash to other partitions.
        if topic is None or self._partition_count is None:
            self._partition_count = None if topic is None else topic.partition_count

    def _elect(self, delta: TopicsDelta) -> None:
        if CONSUMER_OFFSETS in delta.deleted.values():
            self._elected.clear()
            for number in list(self._hosts):
                self._resign(number)
        for topic in delta.changed.values():
            if topic.name == CONSUMER_OFFSETS:
                for number, partition in sorted(topic.partitions.items()):
                    self._follow(TopicIdPartition(topic.topic_id, topic.name, number), partition)

    def _follow(self, key: TopicIdPartition, partition: Partition) -> None:
        """Load or unload a partition's shard as its leader changes."""
        number = key.partition
        self._elected.pop(number, None)
        if partition.leader != self._step.config.node_id:
            self._resign(number)
            return
        host = self._hosts.get(number)
        if host is not None and host.state is not HostState.FAILED:
            # A larger step means that another broker has led it meanwhile.
            if partition.leader_epoch <= host.leader_epoch + 1:
                host.leader_epoch = partition.leader_epoch
                return
        elif host is not None and partition.leader_epoch == host.leader_epoch:
            return
        self._resign(number)
        if self._context.replicas.is_pending(key):
            self._elected[number] = key, partition
            return
        self._hosts[number] = HostedShard(key, partition.leader_epoch, self._context)

    def _resign(self, number: int) -> None:
        host = self._hosts.pop(number, None)
        if host is not None:
            self._wakeups.cancel(number)
            host.close()

    def _set_wakeup(self, number: int, due_ms: int | None) -> None:
        if due_ms is None:
            self._wakeups.cancel(number)
        else:
            self._wakeups.schedule(number, due_ms, number)

    def _touch(self, host: HostedShard) -> None:
        self._touched[host.key.partition] = host

    def _new_shard(self) -> GroupCoordinatorShard:
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

    def _enter(self, shard: GroupCoordinatorShard) -> None:
        context = shard.context
        context.now_ms = self._step.now_ms
        context.topics = self._topics
        context.feature_levels = self._feature_levels
        context.group_configs = self._group_configs


# Needed for each request, and linear in the name's length.
@lru_cache(maxsize=1 << 11)
def abs_hash(group_id: str) -> int:
    """Return the absolute value of Java's `String.hashCode`; 0 for the least one (Kafka's Utils.abs)."""
    code = java_string_hash(group_id)
    return 0 if code == _INT32_MIN else abs(code)
