"""Elections that operators ask for."""

import pytest
from controllers import Broker, brokers, make_controller, run

from falkirk import slices
from falkirk.metadata.controller.partitions import elect_leaders
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ElectLeadersRequest, PartitionRecord, TopicRecord
from falkirk.protocol.messages.elect_leaders_request import TopicPartitions
from falkirk.slices import exhaust

A, B = b"a" * 16, b"b" * 16
PREFERRED, UNCLEAN = 0, 1


def partition(number, topic_id=A, **fields):
    fields = {"replicas": (1, 2, 4), "isr": (1, 2), "leader": 1, "leader_epoch": 0, "partition_epoch": 0} | fields
    return PartitionRecord(partition_id=number, topic_id=topic_id, **fields)


@pytest.fixture
def controller():
    return make_controller(
        brokers=[*brokers(1, 2), Broker(broker_id=4, fenced=True)],
        records=[
            TopicRecord("a", A),
            TopicRecord("b", B),
            partition(0),
            partition(1, leader=2),
            partition(2, leader=2, isr=(2,)),
            partition(3, leader=-1, isr=(4,)),
            partition(0, B, leader=2),
            partition(1, B, replicas=(4,), leader=-1, isr=(4,)),
        ],
    )


def elect(controller, election_type, *, version=2, **topics):
    """Return {topic: {partition: error code}}; without topics, all are asked for."""
    named = [TopicPartitions(name, partitions) for name, partitions in topics.items()] or None
    request = ElectLeadersRequest(election_type, named)
    response = run(controller, exhaust(controller.replication.elect_leaders(request, version)))
    assert response.error_code == 0
    return {
        result.topic: {each.partition_id: each.error_code for each in result.partition_result}
        for result in response.replica_election_results
    }


def leaders(controller, name):
    return [partition.leader for partition in controller.state.image.topics.topic(name).partitions]


def test_preferred_leaders_are_elected_where_they_are_in_sync(controller):
    assert elect(controller, PREFERRED, a=(0, 1, 2, 9), c=(0,)) == {
        "a": {
            0: ErrorCode.ELECTION_NOT_NEEDED,
            1: ErrorCode.NONE,
            2: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        },
        "c": {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
    }
    assert leaders(controller, "a") == [1, 1, 2, -1]


def test_unclean_leaders_are_elected_where_there_is_none(controller):
    assert elect(controller, UNCLEAN, a=(0, 3), b=(1,)) == {
        "a": {0: ErrorCode.ELECTION_NOT_NEEDED, 3: ErrorCode.NONE},
        "b": {1: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE},
    }
    elected = controller.state.image.topics.partition("a", 3)
    assert (elected.leader, elected.isr, elected.leader_recovery_state) == (1, (1,), 1)


def test_of_all_partitions_those_with_the_right_leader_are_left_out(controller):
    not_available = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    found = elect(controller, PREFERRED)
    assert found == {"a": {1: 0, 2: not_available, 3: not_available}, "b": {0: 0, 1: not_available}}
    assert elect(controller, UNCLEAN) == {"a": {3: 0}, "b": {1: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE}}


def test_an_unknown_kind_of_election_is_refused_as_a_whole(controller):
    request = ElectLeadersRequest(7, [TopicPartitions("a", (0,))])
    result = exhaust(controller.replication.elect_leaders(request, 2))
    assert not result.records
    assert result.response.error_code == ErrorCode.INVALID_REQUEST
    assert result.response.replica_election_results[0].partition_result[0].error_message == "Unknown election type 7"


def test_more_elections_than_one_batch_holds_are_refused_as_a_whole(controller, monkeypatch):
    monkeypatch.setattr(elect_leaders, "is_too_large", lambda records: len(records) > 1)
    result = exhaust(controller.replication.elect_leaders(ElectLeadersRequest(PREFERRED, None), 2))
    assert not result.records
    assert result.response.error_code == ErrorCode.POLICY_VIOLATION
    assert not exhaust(controller.replication.elect_leaders(ElectLeadersRequest(UNCLEAN, None), 2)).is_atomic


def test_the_partitions_without_the_right_leader_are_found_in_slices(controller, monkeypatch):
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 1)
    monkeypatch.setattr(elect_leaders, "is_too_large", lambda _records: True)
    request = ElectLeadersRequest(PREFERRED, None)
    # Five are found; of the first topic's three a leader is decided on, then it is too much.
    assert sum(1 for _ in controller.replication.elect_leaders(request, 2)) == 5 + 3


def test_topics_without_partitions_are_passed_in_slices(controller, monkeypatch):
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 1)
    request = ElectLeadersRequest(PREFERRED, [TopicPartitions("unknown")] * 3)
    assert sum(1 for _ in controller.replication.elect_leaders(request, 2)) == 3
