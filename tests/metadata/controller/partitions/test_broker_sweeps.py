"""What follows a broker's change goes on in slices, through crashes of the controller, until all of it is done."""

import pytest
from broker_requests import heartbeat, register, registration_request
from controllers import Broker, controller_of, directory, make_controller, run, run_due

from falkirk.metadata.controller.partitions import broker_sweeps, leader_balance
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import PartitionChangeRecord, PartitionRecord, RegisterBrokerRecord, TopicRecord

A = b"a" * 16
COUNT = 7
ELR = {"eligible.leader.replicas.version": 1}


@pytest.fixture(autouse=True)
def slices_of_two(monkeypatch):
    monkeypatch.setattr(broker_sweeps, "PARTITIONS_PER_SLICE", 2)


def a_controller(*, fenced=(), features=None, **fields):
    """Make a controller of brokers 1 to 3 and seven partitions that broker 1 leads."""
    given = {"replicas": (1, 2, 3), "isr": (1, 2, 3), "leader": 1, "leader_epoch": 0, "partition_epoch": 0} | fields
    records = [TopicRecord("a", A), *(PartitionRecord(number, A, **given) for number in range(COUNT))]
    brokers = [Broker(broker_id=number, directory_count=2, fenced=number in fenced) for number in (1, 2, 3)]
    controller = make_controller(brokers=brokers, features=features, records=records)
    run_due(controller, 0)
    return controller


def partitions(controller):
    return controller.state.image.topics.topic("a").partitions


def leaders(controller):
    return [partition.leader for partition in partitions(controller)]


def is_fenced(controller, broker_id):
    return controller.state.image.cluster.brokers[broker_id].fenced


def beat(controller, broker_id, **wants):
    """Process a heartbeat of a broker that has read all of the log."""
    offset = controller.state.next_offset - 1
    return run(controller, heartbeat(controller, broker_id, offset=offset, **wants))


def one_slice(controller):
    return run(controller, next(controller.replication.due(0)))


def test_a_broker_is_fenced_at_once_and_its_partitions_follow():
    controller = a_controller()
    assert beat(controller, 1, want_fence=True).is_fenced
    assert is_fenced(controller, 1)
    assert leaders(controller) == [2, 2, 1, 1, 1, 1, 1]
    assert controller.next_due_ms == 0
    run_due(controller, 0)
    assert leaders(controller) == [2] * COUNT
    assert all(partition.isr == (2, 3) for partition in partitions(controller))
    assert controller.next_due_ms != 0


@pytest.mark.parametrize("slices", range(4))
def test_a_new_controller_finishes_what_the_one_before_it_had_begun(slices):
    controller = a_controller()
    beat(controller, 1, want_fence=True)
    for _ in range(slices):
        one_slice(controller)
    following = controller_of(controller.state.image)
    run_due(following, 0)
    assert leaders(following) == [2] * COUNT
    assert not following.replication.has_leaderships(1)


@pytest.mark.parametrize("slices", range(4))
def test_a_broker_that_came_back_leads_what_it_may_whoever_is_the_controller(slices):
    controller = a_controller(fenced=(1,), isr=(1,), leader=-1)
    assert not beat(controller, 1).is_fenced
    for _ in range(slices):
        one_slice(controller)
    following = controller_of(controller.state.image)
    run_due(following, 0)
    assert leaders(following) == [1] * COUNT


def test_a_new_controller_elects_no_leader_that_may_lack_records():
    controller = a_controller(fenced=(1,), isr=(1,), leader=-1)
    assert leaders(controller) == [-1] * COUNT


def test_an_unregistered_broker_is_gone_at_once_and_so_after_a_crash():
    controller = a_controller()
    run(controller, controller.cluster.unregister_broker(1))
    assert 1 not in controller.state.image.cluster.brokers
    assert leaders(controller) == [2, 2, 1, 1, 1, 1, 1]
    following = controller_of(controller.state.image)
    run_due(following, 0)
    assert leaders(following) == [2] * COUNT


def test_a_broker_is_not_unfenced_before_it_has_left_its_partitions():
    controller = a_controller()
    beat(controller, 1, want_fence=True)
    assert beat(controller, 1).is_fenced
    run_due(controller, 0)
    assert not beat(controller, 1).is_fenced


def test_a_broker_may_not_go_before_its_last_leadership_has_moved_and_all_know():
    controller = a_controller()
    assert not beat(controller, 1, want_shut_down=True).should_shut_down
    for broker_id in (2, 3):
        beat(controller, broker_id)
    assert not beat(controller, 1, want_shut_down=True).should_shut_down
    run_due(controller, 0)
    assert leaders(controller) == [2] * COUNT
    # The others know of the first slices only.
    assert not beat(controller, 1, want_shut_down=True).should_shut_down
    for broker_id in (2, 3):
        beat(controller, broker_id)
    assert beat(controller, 1, want_shut_down=True).should_shut_down


def test_a_sweep_ends_where_its_broker_is_no_longer_what_it_is_about():
    controller = a_controller(fenced=(1,), isr=(1,), leader=-1)
    beat(controller, 1)
    assert leaders(controller) == [1, 1, -1, -1, -1, -1, -1]
    beat(controller, 1, want_fence=True)
    run_due(controller, 0)
    assert leaders(controller) == [-1] * COUNT


def test_partitions_that_are_deleted_meanwhile_are_left_out():
    controller = a_controller()
    beat(controller, 1, want_fence=True)
    run(controller, controller.replication.delete_topics([A]))
    run_due(controller, 0)
    assert controller.next_due_ms != 0


def test_after_an_unclean_shutdown_a_broker_registers_when_nobody_counts_on_it():
    controller = a_controller(fenced=(1,), features=ELR, isr=(2,), leader=2, eligible_leader_replicas=(1,))
    request = registration_request(1, start=1, previous_broker_epoch=-1)
    refused = register(controller, request)
    assert isinstance(refused, ApiError)
    assert refused.error_code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    one_slice(controller)
    assert isinstance(register(controller, request), ApiError), "it goes on"
    run_due(controller, 0)
    assert all(partition.eligible_leader_replicas == () for partition in partitions(controller))
    result = register(controller, request)
    assert isinstance(result, ControllerResult)
    (record,) = [versioned.record for versioned in result.records]
    assert isinstance(record, RegisterBrokerRecord)


def test_directories_are_lost_when_no_partition_counts_on_them():
    controller = a_controller(directories=(directory(1, 1), directory(2), directory(3)))
    failed = {"offline_log_dirs": (directory(1, 1),)}
    for _ in range(2):
        beat(controller, 1, **failed)
        assert controller.state.image.cluster.brokers[1].log_dirs == (directory(1), directory(1, 1))
    run_due(controller, 0)
    assert leaders(controller) == [2] * COUNT
    beat(controller, 1, **failed)
    assert controller.state.image.cluster.brokers[1].log_dirs == (directory(1),)
    assert not is_fenced(controller, 1)


@pytest.mark.parametrize(
    ("features", "alone"),
    [(None, {"isr": (1,)}), (ELR, {"isr": (), "eligible_leader_replicas": (1,)})],
)
def test_a_fenced_broker_that_others_wait_for_comes_back_without_its_failed_directory(features, alone):
    places = (directory(1), directory(2), directory(3))
    controller = a_controller(fenced=(1,), features=features, leader=-1, directories=places, **alone)
    assert beat(controller, 1, offline_log_dirs=(directory(1, 1),)).is_fenced
    run_due(controller, 0)
    assert controller.state.image.cluster.brokers[1].log_dirs == (directory(1),)
    assert not beat(controller, 1, offline_log_dirs=(directory(1, 1),)).is_fenced
    run_due(controller, 0)
    assert leaders(controller) == [1] * COUNT


def test_a_directory_that_fails_again_in_the_next_life_of_its_broker_is_left_again():
    controller = a_controller(features=ELR, directories=(directory(1, 1), directory(2), directory(3)))
    failed = {"offline_log_dirs": (directory(1, 1),)}
    beat(controller, 1, **failed)
    run_due(controller, 0)
    # Before it tells so again it is gone, and comes back with a new disk.
    both = (directory(1), directory(1, 1))
    run(controller, register(controller, registration_request(1, start=1, log_dirs=both), now_ms=60_000))
    assert not beat(controller, 1).is_fenced
    leads_again = [
        VersionedRecord(PartitionChangeRecord(number, A, isr=(1, 2, 3), leader=1), 1) for number in range(COUNT)
    ]
    run(controller, ControllerResult(tuple(leads_again), None))
    beat(controller, 1, **failed)
    run_due(controller, 0)
    beat(controller, 1, **failed)
    assert controller.state.image.cluster.brokers[1].log_dirs == (directory(1),)
    assert leaders(controller) == [2] * COUNT


def test_what_follows_a_broker_goes_before_leaders_that_move_back(monkeypatch):
    monkeypatch.setattr(leader_balance, "PARTITIONS_PER_SLICE", 2)
    controller = a_controller(replicas=(3, 1, 2), isr=(1, 2, 3))
    due = controller.due(300_000)
    for broker_id in (1, 2, 3):
        beat(controller, broker_id, now_ms=300_000)
    run(controller, next(due))
    assert leaders(controller) == [3, 3, 1, 1, 1, 1, 1]
    beat(controller, 1, now_ms=300_000, want_fence=True)
    for _ in range(3):
        run(controller, next(due))
    assert all(1 not in partition.isr for partition in partitions(controller))
