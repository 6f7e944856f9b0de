"""Random lives of clusters: whatever brokers, leaders and operators do, partitions stay as they must be."""

from random import Random

import pytest
from controllers import Broker, controller_of, directory, make_controller, run, run_due
from hypothesis import given
from hypothesis import strategies as st

from falkirk.metadata.controller.state.controller_indexes import ControllerIndexes
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionRequest,
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    ElectLeadersRequest,
    PartitionChangeRecord,
    PartitionRecord,
)
from falkirk.protocol.messages.alter_partition_reassignments_request import ReassignablePartition, ReassignableTopic
from falkirk.protocol.messages.alter_partition_request import BrokerState, PartitionData, TopicData
from falkirk.protocol.messages.create_partitions_request import CreatePartitionsTopic
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.elect_leaders_request import TopicPartitions
from falkirk.slices import exhaust

BROKERS = range(1, 7)
LEVELS = [
    ("3.7", "3.3-IV3", {}),
    ("3.7", "3.6-IV2", {}),
    ("3.9", "3.9-IV0", {}),
    ("4.4", "4.3-IV0", {}),
    ("4.4", "4.4-IV2", {"eligible.leader.replicas.version": 1}),
]


class Cluster:
    """A controller, and what may happen to it. Every step checks all partitions that it changes."""

    def __init__(self, seed, release, level, features):
        self.random = Random(seed)
        brokers = [Broker(broker_id=broker_id, rack=f"r{broker_id % 3}", directory_count=1 + broker_id % 2)
                   for broker_id in BROKERS]  # fmt: skip
        self.controller = make_controller(
            release=release, metadata_version=level, features=features, brokers=brokers, seed=seed
        )
        self.now_ms = 0
        self.topic_count = 0

    @property
    def state(self):
        return self.controller.state

    def apply(self, result):
        before = self.state.image
        response = run(self.controller, result, now_ms=self.now_ms)
        self.check(before, result.records)
        return response

    def check(self, before, records):
        changes = {}
        for record, _ in records:
            if isinstance(record, PartitionChangeRecord | PartitionRecord):
                key = record.topic_id, record.partition_id
                changes[key] = changes.get(key, 0) + isinstance(record, PartitionChangeRecord)
        elr_enabled = bool(self.state.image.features.finalized.get("eligible.leader.replicas.version"))
        for (topic_id, number), count in changes.items():
            new = self.state.image.topics.topic_by_id(topic_id).partition(number)
            topic = before.topics.topic_by_id(topic_id)
            old = None if topic is None else topic.partition(number)
            check_partition(new, elr_enabled=elr_enabled)
            if old is not None:
                assert new.partition_epoch == old.partition_epoch + count
                assert old.leader_epoch <= new.leader_epoch <= old.leader_epoch + count
                if new.leader != old.leader or not set(old.replicas) <= set(new.replicas):
                    assert new.leader_epoch > old.leader_epoch
                if not self.state.metadata_version.directory_assignment_supported:
                    assert new.directories == (bytes(16),) * len(new.replicas)

    # What may happen.

    def create_topic(self):
        self.topic_count += 1
        topic = CreatableTopic(f"t.{self.topic_count}", self.random.randint(1, 4), self.random.randint(1, 4))
        result = exhaust(self.controller.replication.create_topics([topic], describable=set(), validate_only=False))
        if self.random.random() < 0.5 and result.records:
            unclean = ConfigRecord(2, topic.name, "unclean.leader.election.enable", "true")
            minimum = ConfigRecord(2, topic.name, "min.insync.replicas", "2")
            configs = VersionedRecord(unclean, 0), VersionedRecord(minimum, 0)
            result = ControllerResult((*result.records, *configs), result.response)
        self.apply(result)

    def create_partitions(self):
        topic = self.topic()
        if topic is not None:
            request = CreatePartitionsTopic(topic.name, topic.partition_count + 1, None)
            self.apply(exhaust(self.controller.replication.create_partitions([request], validate_only=False)))

    def delete_topic(self):
        topic = self.topic()
        if topic is not None and self.random.random() < 0.3:
            self.apply(self.controller.replication.delete_topics([topic.topic_id]))

    def fence(self):
        self.change_broker("broker_fenced", fenced=1)

    def unfence(self):
        broker = self.broker()
        if broker.fenced:
            records = self.controller.replication.broker_unfenced(broker.broker_id)
            change = BrokerRegistrationChangeRecord(broker.broker_id, broker.broker_epoch, fenced=-1)
            self.apply(ControllerResult((VersionedRecord(change, 0), *records), None, is_atomic=False))

    def shut_down(self):
        if self.random.random() < 0.2:
            self.change_broker("broker_shutting_down", in_controlled_shutdown=1, version=1)

    def restart_uncleanly(self):
        self.change_broker("broker_had_unclean_shutdown", fenced=1)

    def lose_directory(self):
        broker = self.broker()
        lost = directory(broker.broker_id, 0)
        online = tuple(each for each in broker.log_dirs if each != lost)
        if online and online != broker.log_dirs:
            records = self.controller.replication.directories_offline(broker.broker_id, frozenset({lost}))
            change = BrokerRegistrationChangeRecord(broker.broker_id, broker.broker_epoch, log_dirs=online)
            self.apply(ControllerResult((*records, VersionedRecord(change, 2)), None, is_atomic=False))

    def alter_isr(self):
        topic, number, partition = self.partition()
        if partition is not None and partition.leader >= 0:
            others = [replica for replica in partition.replicas if replica != partition.leader]
            isr = [partition.leader, *self.random.sample(others, self.random.randint(0, len(others)))]
            self.random.shuffle(isr)
            requested = PartitionData(
                partition_index=number,
                leader_epoch=partition.leader_epoch,
                new_isr_with_epochs=[BrokerState(replica, -1) for replica in isr],
                leader_recovery_state=partition.leader_recovery_state * self.random.randint(0, 1),
                partition_epoch=partition.partition_epoch,
            )
            epoch = self.state.image.cluster.brokers[partition.leader].broker_epoch
            request = AlterPartitionRequest(
                partition.leader, epoch, [TopicData(topic_id=topic.topic_id, partitions=[requested])]
            )
            self.apply(exhaust(self.controller.replication.alter_partition(request, 3)))

    def reassign(self):
        topic, number, partition = self.partition()
        if partition is not None:
            target = tuple(self.random.sample(list(BROKERS), self.random.randint(1, 4)))
            replicas = None if self.random.random() < 0.3 else target
            reassignable = ReassignableTopic(topic.name, [ReassignablePartition(number, replicas)])
            request = AlterPartitionReassignmentsRequest(topics=[reassignable])
            self.apply(exhaust(self.controller.replication.alter_partition_reassignments(request, 1)))

    def elect(self):
        topic, number, _ = self.partition()
        if topic is not None:
            named = self.random.choice([None, [TopicPartitions(topic.name, (number,))]])
            request = ElectLeadersRequest(self.random.randint(0, 1), named)
            self.apply(exhaust(self.controller.replication.elect_leaders(request, 2)))

    def wait(self):
        self.now_ms += 301_000
        before = self.state.image
        self.check(before, run_due(self.controller, self.now_ms))

    # By chance.

    def change_broker(self, method, version=0, **change):
        broker = self.broker()
        records = getattr(self.controller.replication, method)(broker.broker_id)
        record = BrokerRegistrationChangeRecord(broker.broker_id, broker.broker_epoch, **change)
        self.apply(ControllerResult((*records, VersionedRecord(record, version)), None, is_atomic=False))
        assert not self.controller.replication.has_leaderships(broker.broker_id)

    def broker(self):
        return self.state.image.cluster.brokers[self.random.choice(BROKERS)]

    def topic(self):
        names = sorted(self.state.image.topics.by_name)
        return self.state.image.topics.topic(self.random.choice(names)) if names else None

    def partition(self):
        topic = self.topic()
        if topic is None:
            return None, 0, None
        number = self.random.randrange(topic.partition_count)
        return topic, number, topic.partition(number)


STEPS = (
    Cluster.create_topic,
    Cluster.create_partitions,
    Cluster.delete_topic,
    Cluster.fence,
    Cluster.unfence,
    Cluster.unfence,
    Cluster.shut_down,
    Cluster.restart_uncleanly,
    Cluster.lose_directory,
    Cluster.alter_isr,
    Cluster.alter_isr,
    Cluster.alter_isr,
    Cluster.reassign,
    Cluster.reassign,
    Cluster.elect,
    Cluster.wait,
)


def check_partition(partition, *, elr_enabled):
    isr, elr = set(partition.isr), set(partition.eligible_leader_replicas)
    assert partition.leader == -1 or partition.leader in isr
    assert len(isr) == len(partition.isr)
    assert isr <= set(partition.replicas)
    assert elr <= set(partition.replicas)
    assert not isr & elr
    assert isr or elr_enabled
    assert len(partition.directories) == len(partition.replicas) == len(set(partition.replicas)) > 0
    assert set(partition.adding_replicas) <= set(partition.replicas)
    assert set(partition.removing_replicas) <= set(partition.replicas)
    if not elr_enabled:
        assert not elr
        assert not partition.last_known_elr


@pytest.mark.slow
@pytest.mark.parametrize(("release", "level", "features"), LEVELS, ids=[level for _, level, _ in LEVELS])
@given(seed=st.integers(0, 2**32), steps=st.lists(st.sampled_from(STEPS), min_size=10, max_size=60))
def test_partitions_stay_as_they_must_whatever_happens(release, level, features, seed, steps):
    cluster = Cluster(seed, release, level, features)
    cluster.create_topic()
    for step in steps:
        step(cluster)
    image = cluster.state.image
    assert cluster.state.indexes == ControllerIndexes.of(image)
    for topic in image.topics:
        assert cluster.state.colliding_names.colliding_with(topic.name) == topic.name


@pytest.mark.parametrize(("release", "level", "features"), LEVELS, ids=[level for _, level, _ in LEVELS])
def test_every_partition_gets_a_leader_back_when_all_brokers_have_come_back(release, level, features):
    cluster = Cluster(5, release, level, features)
    for _ in range(5):
        cluster.create_topic()
    brokers = list(cluster.state.image.cluster.brokers.values())
    for fenced in (True, False):
        for broker in brokers:
            replication = cluster.controller.replication
            records = (replication.broker_fenced if fenced else replication.broker_unfenced)(broker.broker_id)
            change = BrokerRegistrationChangeRecord(broker.broker_id, broker.broker_epoch, 1 if fenced else -1)
            cluster.apply(ControllerResult((*records, VersionedRecord(change, 0)), None, is_atomic=False))
        leaders = {partition.leader for topic in cluster.state.image.topics for _, partition in topic.items()}
        assert (leaders == {-1}) is fenced
        assert cluster.state.partitions.are_some_without_leader is fenced
    assert -1 not in leaders


def test_a_new_controller_decides_as_the_one_before():
    cluster = Cluster(9, *LEVELS[-1])
    for step in STEPS * 3:
        step(cluster)
    successor = controller_of(cluster.state.image)
    for broker_id in BROKERS:
        before = cluster.controller.replication.broker_fenced(broker_id)
        assert successor.replication.broker_fenced(broker_id) == before
