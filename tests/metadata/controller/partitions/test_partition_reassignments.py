"""Reassignments that operators start, call off and list."""

import pytest
from controllers import Broker, brokers, make_controller, run

from falkirk.metadata.controller.partitions import partition_reassignments
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    ConfigRecord,
    PartitionRecord,
    TopicRecord,
)
from falkirk.protocol.messages.alter_partition_reassignments_request import ReassignablePartition, ReassignableTopic
from falkirk.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsTopics
from falkirk.slices import exhaust

A, B = b"a" * 16, b"b" * 16


def controller_with(*partitions, configs=()):
    records = [TopicRecord("a", A), TopicRecord("b", B)]
    for number, fields in enumerate(partitions or ({},)):
        given = {"replicas": (1, 2, 3), "isr": (1, 2, 3), "leader": 1, "leader_epoch": 0, "partition_epoch": 0} | fields
        records.append(PartitionRecord(partition_id=number, topic_id=A, **given))
    records += [ConfigRecord(2, "a", name, value) for name, value in configs]
    return make_controller(brokers=[*brokers(1, 2, 3, 4), Broker(broker_id=5, fenced=True)], records=records)


def alter(controller, replicas, *, topic="a", index=0, allow=True):
    """Return (error code, message) for the one partition."""
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=allow,
        topics=[ReassignableTopic(topic, [ReassignablePartition(index, replicas)])],
    )
    result = exhaust(controller.replication.alter_partition_reassignments(request, 1))
    assert result.is_atomic
    response = run(controller, result)
    assert (response.error_code, response.error_message) == (0, None)
    assert response.allow_replication_factor_change is allow
    (answer,) = response.responses[0].partitions
    return answer.error_code, answer.error_message


def partition_of(controller):
    return controller.state.image.topics.partition("a", 0)


def listed(controller, topics=None):
    response = exhaust(controller.replication.list_partition_reassignments(topics)).response
    return {
        topic.name: {
            each.partition_index: (each.replicas, each.adding_replicas, each.removing_replicas)
            for each in topic.partitions
        }
        for topic in response.topics
    }


def test_a_reassignment_starts_and_is_listed_and_called_off():
    controller = controller_with({}, {})
    assert listed(controller) == {}
    assert alter(controller, (4, 1, 2)) == (0, None)
    assert partition_of(controller).replicas == (4, 1, 2, 3)
    assert listed(controller) == {"a": {0: ((4, 1, 2, 3), (4,), (3,))}}
    assert listed(controller, [ListPartitionReassignmentsTopics("a", (0, 1, 7))]) == listed(controller)
    assert listed(controller, [ListPartitionReassignmentsTopics("a", (1,))]) == {}
    assert listed(controller, [ListPartitionReassignmentsTopics("nowhere", (0,))]) == {}
    assert alter(controller, None) == (0, None)
    assert partition_of(controller).replicas == (1, 2, 3)
    assert listed(controller) == {}


def test_another_order_of_the_same_replicas_takes_effect_at_once():
    controller = controller_with()
    alter(controller, (3, 2, 1))
    partition = partition_of(controller)
    assert (partition.replicas, partition.leader, partition.leader_epoch) == ((3, 2, 1), 1, 0)
    assert listed(controller) == {}


def test_a_leader_that_is_removed_hands_over():
    controller = controller_with()
    alter(controller, (2, 3))
    partition = partition_of(controller)
    assert (partition.replicas, partition.isr, partition.leader, partition.leader_epoch) == ((2, 3), (2, 3), 2, 1)


def test_calling_off_where_only_new_replicas_are_in_sync_needs_an_unclean_election():
    moving = {"replicas": (4, 1, 2), "isr": (4,), "leader": 4, "adding_replicas": (4,)}
    code, message = alter(controller_with(moving), None)
    assert code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert message == (
        "Unable to revert partition assignment for a:0 because it would require an unclean leader election."
    )
    unclean = controller_with(moving, configs=[("unclean.leader.election.enable", "true")])
    assert alter(unclean, None) == (0, None)
    assert (partition_of(unclean).replicas, partition_of(unclean).leader) == ((1, 2), 1)


@pytest.mark.parametrize(
    ("replicas", "where", "code", "message"),
    [
        ((1,), {"topic": "x"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find a topic named x."),
        ((1,), {"index": 4}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find partition a:4."),
        ((), {}, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "includes an empty replica list"),
        ((1, 9), {}, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "includes broker 9, but no such broker is registered"),
        ((1, 1), {}, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "the broker 1 more than once"),
    ],
)
def test_what_cannot_be_reassigned_is_refused_with_the_reason(replicas, where, code, message):
    found_code, found_message = alter(controller_with(), replicas, **where)
    assert found_code == code
    assert message in found_message


def test_what_is_not_under_way_cannot_be_cancelled():
    assert alter(controller_with(), None) == (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None)


def test_a_client_can_forbid_another_number_of_replicas():
    changed = (ErrorCode.INVALID_REPLICATION_FACTOR, "The replication factor is changed from 3 to 2")
    controller = controller_with()
    assert alter(controller, (1, 2), allow=False) == changed
    assert alter(controller, (1, 2, 4), allow=False) == (0, None)
    # On its way there are four; three is what it comes to.
    assert alter(controller, (1, 4), allow=False) == changed
    assert alter(controller, (1, 2, 3), allow=False) == (0, None)


def test_what_another_reassignment_removes_goes_on_if_this_one_removes_nothing():
    moving = {"replicas": (1, 2, 4, 3), "isr": (1, 2, 3), "adding_replicas": (4,), "removing_replicas": (3,)}
    controller = controller_with(moving)
    assert alter(controller, (1, 2, 4, 3)) == (0, None)
    assert listed(controller) == {"a": {0: ((1, 2, 4, 3), (4,), (3,))}}
    # Back to where it came from: now the new one is removed, and all that stay are in sync.
    assert alter(controller, (1, 2, 3)) == (0, None)
    assert partition_of(controller).replicas == (1, 2, 3)
    assert listed(controller) == {}


def test_a_replica_on_a_fenced_broker_may_be_added_and_waits():
    controller = controller_with()
    alter(controller, (1, 2, 5))
    assert listed(controller) == {"a": {0: ((1, 2, 5, 3), (5,), (3,))}}


def test_more_than_one_batch_holds_is_refused_as_a_whole(monkeypatch):
    monkeypatch.setattr(partition_reassignments, "is_too_large", lambda records: len(records) > 0)
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic("a", [ReassignablePartition(0, (4,))])])
    result = exhaust(controller_with().replication.alter_partition_reassignments(request, 1))
    assert not result.records
    assert result.response.error_code == ErrorCode.POLICY_VIOLATION


def test_a_partition_that_was_nothing_but_new_replicas_cannot_go_back():
    controller = controller_with({"replicas": (1, 2), "isr": (1,), "adding_replicas": (1, 2)})
    code, _ = alter(controller, None)
    assert code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
