"""ISRs as leaders tell them."""

import pytest
from controllers import Broker, make_controller, run

from falkirk import slices
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import AlterPartitionRequest, PartitionRecord, TopicRecord
from falkirk.protocol.messages.alter_partition_request import BrokerState, PartitionData, TopicData
from falkirk.slices import exhaust

A = b"a" * 16
BROKERS = [
    Broker(broker_id=1, broker_epoch=101),
    Broker(broker_id=2, broker_epoch=102),
    Broker(broker_id=3, broker_epoch=103),
    Broker(broker_id=4, broker_epoch=104, fenced=True),
    Broker(broker_id=5, broker_epoch=105, in_controlled_shutdown=True),
]


def controller_with(level=None, release="4.4", **fields):
    given = {"replicas": (1, 2, 3), "isr": (1, 2), "leader": 1, "leader_epoch": 5, "partition_epoch": 9} | fields
    return make_controller(
        release=release,
        metadata_version=level,
        brokers=BROKERS,
        records=[TopicRecord("t", A), PartitionRecord(0, A, **given)],
    )


def request(isr, *, broker_id=1, broker_epoch=101, topic_id=A, name="t", index=0, epochs=None, recovery=0, **fields):
    partition = PartitionData(
        partition_index=index,
        leader_epoch=fields.get("leader_epoch", 5),
        new_isr=tuple(isr),
        new_isr_with_epochs=[BrokerState(broker, (epochs or {}).get(broker, -1)) for broker in isr],
        leader_recovery_state=recovery,
        partition_epoch=fields.get("partition_epoch", 9),
    )
    return AlterPartitionRequest(broker_id, broker_epoch, [TopicData(name, topic_id, [partition])])


def alter(controller, given, version=3):
    """Return the whole's error code, or the answer for the one partition."""
    if version < 3:
        given.topics[0].partitions[0].new_isr_with_epochs = []
    else:
        given.topics[0].partitions[0].new_isr = ()
    response = run(controller, exhaust(controller.replication.alter_partition(given, version)))
    return response.error_code or response.topics[0].partitions[0]


def partition_of(controller):
    return controller.state.image.topics.partition("t", 0)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_leader_takes_a_follower_into_the_isr(version):
    controller = controller_with()
    answer = alter(controller, request([1, 2, 3]), version)
    assert (answer.error_code, answer.leader_id, answer.leader_epoch) == (0, 1, 5)
    assert (answer.isr, answer.partition_epoch, answer.leader_recovery_state) == ((1, 2, 3), 10, 0)
    assert partition_of(controller).isr == (1, 2, 3)


@pytest.mark.parametrize(("level", "leader_epoch"), [("3.5-IV2", 6), ("3.6-IV0", 5)])
def test_a_smaller_isr_is_answered_with_the_epochs_that_hold_then(level, leader_epoch):
    controller = controller_with(level, release="3.7")
    answer = alter(controller, request([1]))
    assert (answer.error_code, answer.isr, answer.leader_epoch, answer.partition_epoch) == (0, (1,), leader_epoch, 10)


def test_an_isr_that_is_the_same_already_changes_nothing():
    controller = controller_with()
    assert alter(controller, request([1, 2])).partition_epoch == 9
    assert partition_of(controller).partition_epoch == 9


def test_a_leader_that_was_elected_uncleanly_recovers():
    controller = controller_with(isr=(1,), leader_recovery_state=1)
    assert alter(controller, request([1], recovery=1)).partition_epoch == 9
    assert alter(controller, request([1, 2])).leader_recovery_state == 0
    assert partition_of(controller).leader_recovery_state == 0


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"broker_epoch": 100}, ErrorCode.STALE_BROKER_EPOCH),
        ({"broker_id": 9}, ErrorCode.STALE_BROKER_EPOCH),
    ],
)
def test_a_broker_of_another_epoch_is_refused_as_a_whole(changes, code):
    assert alter(controller_with(), request([1], **changes)) == code


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"topic_id": b"b" * 16}, ErrorCode.UNKNOWN_TOPIC_ID),
        ({"topic_id": bytes(16)}, ErrorCode.UNKNOWN_TOPIC_ID),
        ({"index": 1}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"leader_epoch": 6}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 10}, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": 4}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"broker_id": 2, "broker_epoch": 102}, ErrorCode.INVALID_REQUEST),
        ({"partition_epoch": 8}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"isr": [2, 3]}, ErrorCode.INVALID_REQUEST),
        ({"isr": []}, ErrorCode.INVALID_REQUEST),
        ({"isr": [1, 7]}, ErrorCode.INVALID_REQUEST),
        ({"isr": [1, 2, 2]}, ErrorCode.INVALID_REQUEST),
        ({"isr": [1], "recovery": 1}, ErrorCode.INVALID_REQUEST),
        ({"isr": [1], "recovery": 7}, ErrorCode.INVALID_REQUEST),
        ({"isr": [1, 2], "epochs": {1: 101, 2: 100}}, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_what_does_not_fit_the_partition_is_refused(changes, code):
    controller = controller_with()
    given = {"isr": [1, 2]} | changes
    assert alter(controller, request(given.pop("isr"), **given)).error_code == code
    assert partition_of(controller).partition_epoch == 9


def test_an_isr_repeated_in_an_old_request_is_refused():
    assert alter(controller_with(), request([1, 1]), 2).error_code == ErrorCode.INVALID_REQUEST


def test_nobody_is_in_sync_with_a_leader_that_recovers():
    controller = controller_with(isr=(1,), leader_recovery_state=1)
    assert alter(controller, request([1, 2], recovery=1)).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("version", "code"),
    [(1, ErrorCode.OPERATION_NOT_ATTEMPTED), (2, ErrorCode.INELIGIBLE_REPLICA), (3, ErrorCode.INELIGIBLE_REPLICA)],
)
@pytest.mark.parametrize("broker_id", [4, 5])
def test_a_broker_that_is_fenced_or_shuts_down_does_not_get_into_an_isr(version, code, broker_id):
    controller = controller_with(replicas=(1, 2, broker_id))
    assert alter(controller, request([1, 2, broker_id]), version).error_code == code


@pytest.mark.parametrize(("version", "code"), [(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (2, 0)])
def test_topics_are_known_by_name_before_v2(version, code):
    assert alter(controller_with(), request([1], name="elsewhere"), version).error_code == code


@pytest.mark.parametrize(("version", "code"), [(1, ErrorCode.FENCED_LEADER_EPOCH), (2, ErrorCode.NEW_LEADER_ELECTED)])
def test_a_change_that_ends_a_reassignment_may_take_the_leadership_away(version, code):
    controller = controller_with(replicas=(2, 3, 1), adding_replicas=(3,), removing_replicas=(1,))
    assert alter(controller, request([1, 2, 3]), version).error_code == code
    partition = partition_of(controller)
    assert (partition.replicas, partition.isr, partition.leader) == ((2, 3), (2, 3), 2)
    assert (partition.adding_replicas, partition.removing_replicas) == ((), ())
    assert (partition.leader_epoch, partition.partition_epoch) == (6, 10)


def test_changes_of_many_partitions_need_not_take_effect_together():
    controller = controller_with()
    assert not exhaust(controller.replication.alter_partition(request([1]), 3)).is_atomic


def test_topics_without_partitions_are_passed_in_slices(monkeypatch):
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 1)
    asked = AlterPartitionRequest(1, 101, [TopicData(topic_id=A)] * 3)
    assert sum(1 for _ in controller_with().replication.alter_partition(asked, 3)) == 3
