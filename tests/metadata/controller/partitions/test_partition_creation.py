"""More partitions for topics that there are."""

import pytest
from controllers import Broker, brokers, make_controller, run

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import PartitionRecord, TopicRecord
from falkirk.protocol.messages.create_partitions_request import CreatePartitionsAssignment, CreatePartitionsTopic
from falkirk.slices import exhaust

A = b"a" * 16
BROKERS = [*brokers(1, 2, 3), Broker(broker_id=4, fenced=True)]


def controller_with_topic(replicas=(1, 2)):
    partition = PartitionRecord(0, A, replicas, replicas, leader=1, leader_epoch=3, partition_epoch=4)
    return make_controller(brokers=BROKERS, records=[TopicRecord("t", A), partition])


def add(count, assignments=None, name="t"):
    given = None if assignments is None else [CreatePartitionsAssignment(replicas) for replicas in assignments]
    return CreatePartitionsTopic(name, count, given)


def create(controller, *topics, validate_only=False):
    return run(
        controller, exhaust(controller.replication.create_partitions(topics, validate_only=validate_only))
    ).results


def test_new_partitions_have_as_many_replicas_as_the_first():
    controller = controller_with_topic()
    (answer,) = create(controller, add(4))
    assert (answer.name, answer.error_code, answer.error_message) == ("t", 0, None)
    new = controller.state.image.topics.topic("t").partitions[1:]
    assert [len(partition.replicas) for partition in new] == [2, 2, 2]
    assert all(partition.leader == partition.replicas[0] for partition in new)


def test_new_partitions_are_assigned_by_hand():
    controller = controller_with_topic()
    create(controller, add(3, [(3, 1), (4, 2)]))
    _, second, third = controller.state.image.topics.topic("t").partitions
    assert (second.replicas, second.isr, second.leader) == ((3, 1), (3, 1), 3)
    assert (third.replicas, third.isr, third.leader) == ((4, 2), (2,), 2)


def test_a_dry_run_changes_nothing():
    controller = controller_with_topic()
    assert create(controller, add(2), validate_only=True)[0].error_code == 0
    assert controller.state.image.topics.topic("t").partition_count == 1


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        (add(2, name="u"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "does not host this topic-partition"),
        (add(1), ErrorCode.INVALID_PARTITIONS, "Topic already has 1 partition(s)."),
        (add(0), ErrorCode.INVALID_PARTITIONS, "The topic t currently has 1 partition(s); 0 would not be an increase."),
        (
            add(3, [(1, 2)]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Attempted to add 2 additional partition(s), but only 1",
        ),
        (add(2, [(1, 2, 3)]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "which have 2 replica(s)"),
        (add(2, [(1, 9)]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "includes broker 9, but no such broker"),
        (add(10_002), ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request."),
    ],
)
def test_what_cannot_be_added_is_refused_with_the_reason(given, code, message):
    controller = controller_with_topic()
    (answer,) = create(controller, given)
    assert answer.error_code == code
    assert message in answer.error_message
    assert controller.state.image.topics.topic("t").partition_count == 1


def test_replicas_on_fenced_brokers_alone_are_refused():
    (answer,) = create(controller_with_topic(replicas=(1,)), add(2, [(4,)]))
    assert answer.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "partition 1 are fenced or in controlled shutdown" in answer.error_message


def test_more_replicas_than_brokers_are_refused():
    controller = controller_with_topic(replicas=(1, 2, 3, 7, 8))
    (answer,) = create(controller, add(2))
    assert answer.error_code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_topic_without_partitions_is_told():
    controller = make_controller(brokers=BROKERS, records=[TopicRecord("t", A)])
    assert create(controller, add(2))[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
