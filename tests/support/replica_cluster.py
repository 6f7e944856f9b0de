"""A cluster of ours that stores records: brokers 101, 102, ...

cluster = ReplicaCluster(brokers=3)
cluster.create("t", factor=3)
cluster.produce("t", b"one", b"two")          # acks=all, at the leader of partition 0
cluster.values(102, "t") == [b"one", b"two"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from node_network import BROKER, BROKER_LISTENER, NodeNetwork, controller_endpoint

from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    FetchRequest,
    ProduceRequest,
)
from falkirk.protocol.messages import alter_partition_reassignments_request as reassignments
from falkirk.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import read_batches
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.storage.log.read import FetchIsolation
from falkirk.storage.log.unified_log import UnifiedLog
from falkirk.storage.memory_disk import MemoryDisk

if TYPE_CHECKING:
    from collections.abc import Callable

    from node_network import Client

    from falkirk.metadata.image.partition import Partition as PartitionState
    from falkirk.node.broker.replication.hosted_partition import HostedPartition
    from falkirk.node.broker.replication.replica_manager import ReplicaManager


class ReplicaCluster:
    """One controller (or more) and some running brokers."""

    def __init__(
        self,
        *,
        brokers: int = 3,
        controllers: int = 1,
        release: str = "4.3",
        properties: dict[str, str] | None = None,
        seed: int = 1,
        make_disk: Callable[[], MemoryDisk] = MemoryDisk,
        **settings: Any,
    ) -> None:
        self._make_disk = make_disk
        self.network = NodeNetwork(release=release, seed=seed)
        self.network.add_controllers(controllers, broker_session_timeout_ms=3_000)
        self.properties = {"replica.lag.time.max.ms": "5000", **(properties or {})}
        self.voters = {node_id: controller_endpoint(node_id) for node_id in range(1, controllers + 1)}
        self.brokers: tuple[int, ...] = ()
        self.add_brokers(dict.fromkeys(range(101, 101 + brokers)), **settings)

    def add_brokers(self, racks: dict[int, str | None], **settings: Any) -> None:
        """Add brokers, each with a rack or none, and wait until they run."""
        for broker, rack in racks.items():
            self.brokers = (*self.brokers, broker)
            self.network.add(
                broker,
                roles={BROKER},
                quorum_voters=self.voters,
                rack=rack,
                properties=self.properties,
                broker_heartbeat_interval_ms=500,
                **{"disk": self._make_disk(), **settings},
            )
            self.network.start(broker)
        self.run_until(lambda: all(self.is_running(broker) for broker in self.brokers))

    # --- Time

    def run_until(self, condition: Callable[[], bool], within_ms: int = 30_000) -> None:
        """Run until a condition holds."""
        self.network.run_until(condition, within_ms=within_ms)

    def run(self, duration_ms: int) -> None:
        """Run for a duration."""
        end_ms = self.network.now_ms + duration_ms
        self.run_until(lambda: self.network.now_ms >= end_ms, within_ms=duration_ms + 1)

    # --- Looking at it

    def is_running(self, broker: int) -> bool:
        """True if a broker is registered and unfenced."""
        node = self.network.hosts[broker].node
        return node is not None and node.broker is not None and node.broker.state is BrokerState.RUNNING

    def replicas(self, broker: int) -> ReplicaManager:
        """Return a broker's replica manager."""
        role = self.network.hosts[broker].running.broker
        assert role is not None
        return role.replicas

    def log_dirs(self, broker: int) -> dict[str, bool]:
        """Return whether each directory of a broker works."""
        return {log_dir: not state.error for log_dir, state in self.replicas(broker).log_dirs().items()}

    def partition(self, broker: int, topic: str, index: int = 0) -> HostedPartition:
        """Return a broker's view of a partition."""
        found = self.replicas(broker).partition(TopicPartition(topic, index))
        assert not isinstance(found, ErrorCode), found
        return found

    def log(self, broker: int, topic: str, index: int = 0) -> UnifiedLog:
        """Return a broker's log."""
        log = self.partition(broker, topic, index).log
        assert log is not None
        return log

    def state(self, topic: str, index: int = 0) -> PartitionState:
        """Return the controller's view of a partition."""
        active = self.network.active
        assert active is not None
        partition = active.running.image.topics.partition(topic, index)
        assert partition is not None
        return partition

    def values(self, broker: int, topic: str, index: int = 0) -> list[bytes | None]:
        """Return the values of all records in a broker's replica."""
        log = self.log(broker, topic, index)
        data = log.read(log.log_start_offset, 2**30, FetchIsolation.LOG_END, is_one_batch_needed=True).records
        return [record.value for batch in read_batches(data) for record in batch.records()]

    def facts(self, broker: int) -> list[str]:
        """Return the names of the facts that a broker reported."""
        return [fact.event for fact in self.network.hosts[broker].facts]

    # --- Asking

    def client(self, broker: int) -> Client:
        """Connect to a broker."""
        return self.network.client(broker, BROKER_LISTENER)

    def create(
        self,
        topic: str,
        *,
        partitions: int = 1,
        factor: int = 3,
        replicas: dict[int, list[int]] | None = None,
        **configs: str,
    ) -> None:
        """Create a topic, and wait until all its replicas exist. Underscores in config names stand for dots."""
        created = CreatableTopic(
            name=topic,
            num_partitions=-1 if replicas else partitions,
            replication_factor=-1 if replicas else factor,
            configs=[CreatableTopicConfig(name.replace("_", "."), value) for name, value in configs.items()],
        )
        if replicas:
            from falkirk.protocol.messages.create_topics_request import CreatableReplicaAssignment

            created.assignments = [CreatableReplicaAssignment(index, tuple(ids)) for index, ids in replicas.items()]
        answer = self.client(self.up[0]).ask(CreateTopicsRequest([created], 30_000, validate_only=False), 5)
        assert answer.topics[0].error_code == 0, answer
        count = len(replicas) if replicas else partitions
        self.run_until(lambda: all(self._is_made(topic, index) for index in range(count)))

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        answer = self.client(self.up[0]).ask(DeleteTopicsRequest(topic_names=(topic,), timeout_ms=30_000), 5)
        assert answer.responses[0].error_code == 0, answer

    def reassign(self, topic: str, replicas: list[int], index: int = 0) -> None:
        """Reassign a partition to other replicas."""
        wanted = reassignments.ReassignablePartition(index, tuple(replicas))
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=30_000, topics=[reassignments.ReassignableTopic(topic, [wanted])]
        )
        answer = self.client(self.up[0]).ask(request, 0)
        assert answer.error_code == answer.responses[0].partitions[0].error_code == 0, answer

    @property
    def up(self) -> list[int]:
        """The running brokers."""
        return [broker for broker in self.brokers if self.is_running(broker)]

    def begin_produce(
        self,
        topic: str,
        *values: bytes,
        index: int = 0,
        acks: int = -1,
        timeout_ms: int = 30_000,
        broker: int | None = None,
    ) -> Produced:
        """Send records to the leader (or another broker), without waiting for the response."""
        records = [Record(place, self.network.now_ms, None, value, ()) for place, value in enumerate(values)]
        data = PartitionProduceData(index, build_batch(records, base_offset=0))
        request = ProduceRequest(
            acks=acks, timeout_ms=timeout_ms, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
        )
        client = self.client(self.state(topic, index).leader if broker is None else broker)
        return Produced(client, client.send(request, 9))

    def produce(self, topic: str, *values: bytes, **how: Any) -> int:
        """Send records and return the response's error code."""
        produced = self.begin_produce(topic, *values, **how)
        self.run_until(lambda: produced.error is not None)
        assert produced.error is not None
        return produced.error

    def fetch(
        self,
        topic: str,
        *,
        broker: int,
        offset: int = 0,
        index: int = 0,
        rack: str = "",
        max_wait_ms: int = 0,
        min_bytes: int = 1,
    ) -> Any:
        """Fetch as a consumer; return the partition's response."""
        topic_id = self.network.hosts[broker].running.image.topics.by_name[topic].topic_id
        wanted = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=2**20)
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            topics=[FetchTopic(topic, topic_id, [wanted])],
            rack_id=rack,
        )
        return self.client(broker).ask(request, 13).responses[0].partitions[0]

    # --- Breaking it

    def kill(self, broker: int) -> None:
        """Cut a broker's power, and wait until the controller has noticed."""
        self.network.kill(broker)
        self.run_until(lambda: self._is_fenced(broker))

    def start(self, broker: int) -> None:
        """Start a broker, and wait until it runs."""
        self.network.start(broker)
        self.run_until(lambda: self.is_running(broker))

    def cut(self, *pairs: tuple[int, int]) -> None:
        """Partition these nodes from each other."""
        for one, other in pairs:
            self.network.cut.add(frozenset((one, other)))
            self.network.unlink(one, other)

    def wait_for_leader(self, topic: str, *brokers: int, index: int = 0) -> int:
        """Wait until one of these leads and knows it; return its id."""

        def leads() -> bool:
            leader = self.state(topic, index).leader
            return leader in brokers and self.is_running(leader) and self.partition(leader, topic, index).is_leader

        self.run_until(leads)
        return self.state(topic, index).leader

    def wait_for_isr(self, topic: str, *brokers: int, index: int = 0) -> None:
        """Wait until these are the ISR, at the controller and the leader."""

        def are_in_sync() -> bool:
            state = self.state(topic, index)
            if set(state.isr) != set(brokers) or not self.is_running(state.leader):
                return False
            return self.partition(state.leader, topic, index).isr.committed == frozenset(brokers)

        self.run_until(are_in_sync, within_ms=60_000)

    # --- Inside

    def _is_made(self, topic: str, index: int) -> bool:
        active = self.network.active
        assert active is not None
        state = active.running.image.topics.partition(topic, index)
        if state is None:
            return False
        key = TopicPartition(topic, index)
        here = [broker for broker in state.replicas if self.is_running(broker)]
        return all(isinstance(self.replicas(broker).log(key), UnifiedLog) for broker in here)

    def _is_fenced(self, broker: int) -> bool:
        active = self.network.active
        return active is not None and active.running.image.cluster.brokers[broker].fenced


class Produced:
    """A produce request in flight."""

    def __init__(self, client: Client, correlation_id: int) -> None:
        self._client = client
        self._correlation_id = correlation_id

    @property
    def error(self) -> int | None:
        """The response's error code; None while there is no response."""
        answer: Any = self._client.answers.get(self._correlation_id)
        return None if answer is None else answer.responses[0].partition_responses[0].error_code
