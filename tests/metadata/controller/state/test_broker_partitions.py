"""The index by broker. That it follows every change: test_replication_control."""

from controllers import make_image

from falkirk.metadata.controller.state.broker_partitions import BrokerPartitions
from falkirk.metadata.controller.state.controller_indexes import ControllerIndexes
from falkirk.metadata.controller.state.partition_set import PartitionKey
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.protocol.messages import PartitionChangeRecord, PartitionRecord, RemoveTopicRecord, TopicRecord

A, B = b"a" * 16, b"b" * 16


def partition(number, topic_id=A, **fields):
    fields = {"replicas": (1, 2, 3), "isr": (1, 2), "leader": 1, "leader_epoch": 0, "partition_epoch": 0} | fields
    return PartitionRecord(partition_id=number, topic_id=topic_id, **fields)


RECORDS = [
    TopicRecord("a", A),
    TopicRecord("b", B),
    partition(0),
    partition(1, leader=2),
    partition(2, leader=-1, isr=(), eligible_leader_replicas=(2, 3)),
    partition(0, B, adding_replicas=(3,)),
]


def changed(*records):
    image = make_image(records=RECORDS)
    delta = MetadataDelta(image)
    for record in records:
        delta.replay(record)
    after = delta.apply(image.provenance)
    indexes = ControllerIndexes.of(image).changed_by(delta)
    assert indexes == ControllerIndexes.of(after)
    return indexes.partitions


def test_it_knows_who_leads_who_is_in_sync_who_is_eligible_and_what_wants_a_leader():
    index = ControllerIndexes.of(make_image(records=RECORDS)).partitions
    assert list(index.in_sync(1)) == [PartitionKey(A, 0), PartitionKey(A, 1), PartitionKey(B, 0)]
    assert list(index.in_sync(3)) == []
    assert list(index.eligible(3)) == [PartitionKey(A, 2)]
    assert [index.leaderships(broker_id) for broker_id in (1, 2, 3)] == [2, 1, 0]
    assert list(index.without_leader()) == [PartitionKey(A, 2)]
    assert list(index.imbalanced()) == [PartitionKey(A, 1), PartitionKey(A, 2)]
    assert list(index.reassigning()) == [PartitionKey(B, 0)]
    assert index.are_some_imbalanced
    assert index.are_some_without_leader


def test_a_leader_that_is_found_takes_the_partition_from_those_without():
    index = changed(PartitionChangeRecord(2, A, isr=(3,), leader=3, eligible_leader_replicas=(2,)))
    assert not index.are_some_without_leader
    assert index.leaderships(3) == 1
    assert list(index.eligible(3)) == []
    assert list(index.imbalanced()) == [PartitionKey(A, 1), PartitionKey(A, 2)]


def test_a_removed_topic_leaves_nothing():
    index = changed(RemoveTopicRecord(A), RemoveTopicRecord(B))
    assert index == BrokerPartitions()


def test_a_topic_that_is_created_again_is_another_one():
    index = changed(RemoveTopicRecord(A), TopicRecord("a", b"c" * 16), partition(0, b"c" * 16))
    assert list(index.in_sync(2)) == [PartitionKey(B, 0), PartitionKey(b"c" * 16, 0)]


def test_a_change_of_anything_else_gives_the_same_index():
    image = make_image(records=RECORDS)
    indexes = ControllerIndexes.of(image)
    assert indexes.changed_by(MetadataDelta(image)) is indexes


def test_a_partition_without_replicas_does_not_stop_a_controller():
    index = changed(partition(3, replicas=(), isr=(), leader=-1))
    assert PartitionKey(A, 3) in index.without_leader()
