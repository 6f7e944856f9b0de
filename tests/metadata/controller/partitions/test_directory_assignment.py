"""Brokers tell where their replicas lie. Who may: test_broker_handlers."""

import pytest
from controllers import Broker, directory, make_controller, run

from falkirk import slices
from falkirk.metadata.image.partition import LOST, UNASSIGNED
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import AssignReplicasToDirsRequest, PartitionRecord, TopicRecord
from falkirk.protocol.messages.assign_replicas_to_dirs_request import DirectoryData, PartitionData, TopicData
from falkirk.slices import exhaust

A = b"a" * 16
BROKERS = [Broker(broker_id=number, broker_epoch=100 + number, directory_count=2) for number in (1, 2, 3)]


def controller_at(level=None):
    fields = {"replicas": (1, 2), "isr": (1, 2), "leader": 1, "leader_epoch": 0, "partition_epoch": 0}
    given = {} if level else {"directories": (UNASSIGNED, UNASSIGNED)}
    return make_controller(
        release="4.4",
        metadata_version=level,
        brokers=BROKERS,
        records=[TopicRecord("a", A), *(PartitionRecord(number, A, **fields, **given) for number in range(2))],
    )


def assign(controller, assigned, *, broker_id=1, broker_epoch=101):
    """Return the whole's error code, or {(topic id, partition): error code}."""
    request = AssignReplicasToDirsRequest(
        broker_id,
        broker_epoch,
        [DirectoryData(place, [TopicData(topic_id, [PartitionData(index)])]) for place, topic_id, index in assigned],
    )
    response = run(controller, exhaust(controller.replication.assign_replicas_to_directories(request)))
    return response.error_code or {
        (topic.topic_id, partition.partition_index): partition.error_code
        for place in response.directories
        for topic in place.topics
        for partition in topic.partitions
    }


def test_replicas_lie_where_their_broker_says():
    controller = controller_at()
    first, second = directory(1, 0), directory(1, 1)
    assert assign(controller, [(first, A, 0), (second, A, 1)]) == {(A, 0): 0, (A, 1): 0}
    partitions = controller.state.image.topics.topic("a").partitions
    assert [each.directories for each in partitions] == [(first, UNASSIGNED), (second, UNASSIGNED)]
    assert [(each.leader, each.isr, each.partition_epoch) for each in partitions] == [(1, (1, 2), 1)] * 2
    # Said again, it is no change.
    assign(controller, [(first, A, 0)])
    assert controller.state.image.topics.partition("a", 0).partition_epoch == 1


def test_a_replica_in_a_failed_directory_leaves_the_isr():
    controller = controller_at()
    failed = directory(1, 9)
    assert assign(controller, [(failed, A, 0)]) == {(A, 0): 0}
    partition = controller.state.image.topics.partition("a", 0)
    assert (partition.directories, partition.leader, partition.isr) == ((failed, UNASSIGNED), 2, (2,))


@pytest.mark.parametrize(
    ("broker_id", "topic_id", "index", "code"),
    [
        (1, b"b" * 16, 0, ErrorCode.UNKNOWN_TOPIC_ID),
        (1, A, 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (3, A, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_replicas_that_the_broker_does_not_have_are_refused(broker_id, topic_id, index, code):
    assigned = [(directory(broker_id), topic_id, index)]
    found = assign(controller_at(), assigned, broker_id=broker_id, broker_epoch=100 + broker_id)
    assert found == {(topic_id, index): code}


def test_a_broker_of_another_epoch_is_refused():
    assert assign(controller_at(), [(directory(1), A, 0)], broker_epoch=7) == ErrorCode.STALE_BROKER_EPOCH


def test_below_3_7_iv2_there_are_no_directories():
    assert assign(controller_at("3.7-IV1"), [(directory(1), A, 0)]) == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize(("place", "isr"), [(UNASSIGNED, (1, 2)), (LOST, (2,))])
def test_a_replica_that_lies_nowhere_yet_is_in_no_failed_directory(place, isr):
    controller = controller_at()
    assign(controller, [(place, A, 0)])
    assert controller.state.image.topics.partition("a", 0).isr == isr


def test_replicas_are_assigned_in_slices_and_those_in_failed_directories_leave_in_slices(monkeypatch):
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 1)
    topics = [TopicData(A, [PartitionData(0), PartitionData(1)]), TopicData(b"b" * 16, [])]
    request = AssignReplicasToDirsRequest(1, 101, [DirectoryData(directory(1, 9), topics)])
    # Two replicas, two topics, and the two replicas once more.
    assert sum(1 for _ in controller_at().replication.assign_replicas_to_directories(request)) == 2 + 2 + 2
