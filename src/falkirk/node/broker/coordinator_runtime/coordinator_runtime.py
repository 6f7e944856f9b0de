"""The coordinators of one kind on a broker: a shard for each partition of their topic (Kafka's CoordinatorRuntime).

coordinator.schedule("my-key", lambda shard, token: shard.heartbeat(client, request, token), done)
coordinator.complete()        # before the step ends: append what was decided
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Generic

from mypy_extensions import mypyc_attr

from falkirk.node.broker.coordinator_runtime.coordinator_shard import S
from falkirk.node.broker.coordinator_runtime.hosted_shard import HostContext, HostedShard, HostState
from falkirk.node.broker.coordinator_runtime.record_batches import RecordEncoder
from falkirk.node.config.static_configs import static_value
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.java_hash_map import java_string_hash
from falkirk.protocol.topic_partition import TopicIdPartition
from falkirk.timers import Timers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from falkirk.coordinator.runtime.outcome import Outcome, Token
    from falkirk.coordinator.runtime.transaction_markers import TransactionMarkers
    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topics import TopicsDelta
    from falkirk.node.broker.coordinator_runtime.hosted_shard import Done
    from falkirk.node.broker.coordinator_runtime.shard_load import ShardLoader
    from falkirk.node.broker.replication.replica_manager import ReplicaManager
    from falkirk.node.effects import Effect
    from falkirk.node.sliced_work import Slices
    from falkirk.node.step import Step
    from falkirk.protocol.compression import Compression
    from falkirk.protocol.schema import WireStruct

TIMERS_MAX: Final = 200
"""The timers of all shards that run in one step."""
_INT32_MIN: Final = -(1 << 31)


@mypyc_attr(allow_interpreted_subclasses=True)
class CoordinatorRuntime(ABC, Generic[S]):
    """`done` of an operation gets the response, or the error: NOT_COORDINATOR, or that of the log.

    `name` begins the names of facts. `partitions_key`: of server.properties, the number of partitions of `topic` until
    it exists.
    """

    def __init__(
        self,
        step: Step,
        replicas: ReplicaManager,
        effects: Callable[[Effect], None],
        *,
        name: str,
        topic: str,
        partitions_key: str,
        compression: Compression,
        commit_timeout_ms: int,
    ) -> None:
        config = step.config
        self.topic = topic
        self._step = step
        self._partitions_key = partitions_key
        self._context: HostContext[S] = HostContext(
            name=name,
            step=step,
            replicas=replicas,
            effects=effects,
            make_shard=self.make_shard,
            make_loader=self.make_loader,
            enter=self.enter,
            touch=self._touch,
            send_markers=self.send_markers,
            encoder=RecordEncoder(config.release),
            compression=compression,
            commit_timeout_ms=commit_timeout_ms,
        )
        self._hosts: dict[int, HostedShard[S]] = {}
        # Shards that were used in this step.
        self._touched: dict[int, HostedShard[S]] = {}
        # Partitions that this broker leads in the image, and whose replica is not applied yet.
        self._elected: dict[int, tuple[TopicIdPartition, Partition]] = {}
        # When each partition's next timer is due.
        self._wakeups: Timers[int, int] = Timers()
        self._is_started = False
        self._partition_count: int | None = None

    # --- What differs

    @abstractmethod
    def make_shard(self, leader_epoch: int) -> S:
        """Return an empty shard."""

    @abstractmethod
    def make_loader(self, shard: S) -> ShardLoader:
        """Return what reads a log into an empty shard."""

    @abstractmethod
    def enter(self, shard: S) -> None:
        """Bring a shard's context up to the time of the step and the newest metadata."""

    @abstractmethod
    def apply_image(self, image: MetadataImage) -> None:
        """Keep what shards need of the metadata; before any shard is made or used."""

    def send_markers(self, host: HostedShard[S], shard: S, markers: Sequence[TransactionMarkers]) -> None:
        """Send transaction markers whose decision is committed."""

    def topics_changed(self, delta: TopicsDelta) -> None:
        """Pass changes of topics to the shards, before leaderships change."""

    # --- Life

    def start(self, image: MetadataImage) -> None:
        """Begin to coordinate, after the logs are opened."""
        self._is_started = True
        self._apply_image(image)
        topic = image.topics.topic(self.topic)
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
        self.topics_changed(delta.topics)
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

    def partition_for(self, key: str) -> int:
        """Return the partition of the topic that a group or a transactional id belongs to."""
        return abs_hash(key) % self.partition_count

    @property
    def partition_count(self) -> int:
        """The number of partitions of the topic; the configured number until it exists."""
        if self._partition_count is not None:
            return self._partition_count
        config = self._step.config
        count = static_value(config.properties, config.release, self._partitions_key)
        assert isinstance(count, int), "a number"
        return count

    def schedule(self, key: str, operation: Callable[[S, Token], Outcome], done: Done) -> None:
        """Run an operation on the shard of a key; `done` is called now or later."""
        if not self._is_started:
            done(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        host = self._hosts.get(self.partition_for(key))
        if host is None:
            done(ErrorCode.NOT_COORDINATOR)
            return
        host.schedule(operation, done)
        self._touch(host)

    def schedule_all(
        self, operation: Callable[[S, Token], Outcome], done: Callable[[Sequence[WireStruct] | ErrorCode], None]
    ) -> None:
        """Run an operation on all shards; `done` gets their responses, without those of shards that failed.

        COORDINATOR_LOAD_IN_PROGRESS while one loads.
        """
        if not self._is_started:
            done(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        hosts = [host for _, host in sorted(self._hosts.items()) if host.state is not HostState.FAILED]
        parts: list[WireStruct] = []
        errors: list[ErrorCode] = []
        left = len(hosts)

        def answered(part: WireStruct | ErrorCode) -> None:
            nonlocal left
            left -= 1
            if not isinstance(part, ErrorCode):
                parts.append(part)
            elif part is not ErrorCode.NOT_COORDINATOR:
                errors.append(part)
            if not left:
                done(errors[0] if errors else parts)

        if not hosts:
            done(parts)
        for host in hosts:
            host.schedule(operation, answered)
            self._touch(host)

    def start_work(self, name: str, slices: Slices) -> None:
        """Schedule operations over many steps; `slices` schedules some of them each time."""
        self._step.works.start(name, slices)

    def append_marker(
        self,
        number: int,
        marker: bytes,
        apply: Callable[[S], None],
        done: Callable[[ErrorCode], None],
        *,
        transaction_version: int,
    ) -> None:
        """Append a batch that ends a transaction to a partition of the topic, and apply it to the shard.

        `transaction_version`: that of the coordinator which sent the marker.
        """
        host = self._hosts.get(number)
        if host is None:
            done(ErrorCode.NOT_COORDINATOR)
            return
        host.append_marker(marker, apply, done, transaction_version=transaction_version)
        self._touch(host)

    @property
    def hosts(self) -> Mapping[int, HostedShard[S]]:
        """The partitions that this broker leads, by number."""
        return self._hosts

    # --- Inside

    def run_all(self, action: Callable[[S], Outcome]) -> None:
        """Run what no client has requested on all shards, when they are loaded."""
        for host in self._hosts.values():
            host.run(action)
            self._touch(host)

    def _apply_image(self, image: MetadataImage) -> None:
        self.apply_image(image)
        topic = image.topics.topic(self.topic)
        # As in Kafka partitions that are added later are not used: keys would hash to other partitions.
        if topic is None or self._partition_count is None:
            self._partition_count = None if topic is None else topic.partition_count

    def _elect(self, delta: TopicsDelta) -> None:
        if self.topic in delta.deleted.values():
            self._elected.clear()
            for number in list(self._hosts):
                self._resign(number)
        for topic in delta.changed.values():
            if topic.name == self.topic:
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

    def _touch(self, host: HostedShard[S]) -> None:
        self._touched[host.key.partition] = host


# Needed for each request, and linear in the name's length.
@lru_cache(maxsize=1 << 11)
def abs_hash(key: str) -> int:
    """Return the absolute value of Java's `String.hashCode`; 0 for the least one (Kafka's Utils.abs)."""
    code = java_string_hash(key)
    return 0 if code == _INT32_MIN else abs(code)
