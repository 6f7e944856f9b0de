"""What becomes of partitions when brokers come, go, and lose directories."""

import pytest
from controllers import Broker, directory, make_controller, run

from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.image.partition import LOST, MIGRATING, UNASSIGNED
from falkirk.protocol.messages import ConfigRecord, PartitionRecord, TopicRecord

A = b"a" * 16
ELR = {"eligible.leader.replicas.version": 1}
BROKERS = [Broker(broker_id=number, directory_count=2) for number in (1, 2, 3)]


def controller_with(*partitions, brokers=BROKERS, configs=(), level=None, features=None, release="4.4"):
    records = [TopicRecord("a", A)]
    for number, fields in enumerate(partitions):
        given = {"replicas": (1, 2, 3), "isr": (1, 2, 3), "leader": 1, "leader_epoch": 0, "partition_epoch": 0}
        records.append(PartitionRecord(partition_id=number, topic_id=A, **given | fields))
    records += [ConfigRecord(2, "a", name, value) for name, value in configs]
    return make_controller(release=release, metadata_version=level, features=features, brokers=brokers, records=records)


def after(controller, method, *arguments):
    """Return [(leader, ISR, eligible replicas)] of all partitions, and how many of them changed."""
    records = getattr(controller.replication, method)(*arguments)
    run(controller, ControllerResult(tuple(records), None, is_atomic=False))
    partitions = controller.state.image.topics.topic("a").partitions
    return [(each.leader, each.isr, each.eligible_leader_replicas) for each in partitions], len(records)


@pytest.mark.parametrize("method", ["broker_fenced", "broker_shutting_down", "broker_unregistered"])
def test_a_broker_that_goes_leaves_isrs_and_leaderships(method):
    controller = controller_with({}, {"leader": 2}, {"isr": (2, 3), "leader": 2}, {"isr": (1,)})
    assert controller.replication.has_leaderships(1)
    assert after(controller, method, 1) == ([
        (2, (2, 3), ()),
        (2, (2, 3), ()),
        (2, (2, 3), ()),
        (-1, (1,), ()),
    ], 3)  # fmt: skip
    assert not controller.replication.has_leaderships(1)


def test_an_unclean_leader_takes_over_where_the_topic_allows_it():
    controller = controller_with({"isr": (1,)}, configs=[("unclean.leader.election.enable", "true")])
    assert after(controller, "broker_fenced", 1)[0] == [(2, (2,), ())]


def test_a_broker_that_comes_leads_what_it_may():
    fenced = [Broker(broker_id=1, fenced=True), *BROKERS[1:]]
    lost = {"isr": (1,), "leader": -1}
    controller = controller_with(lost, {"isr": (2,), "leader": 2}, {"isr": (3,), "leader": -1}, brokers=fenced)
    found, count = after(controller, "broker_unfenced", 1)
    assert found == [(1, (1,), ()), (2, (2,), ()), (3, (3,), ())]
    assert count == 2


@pytest.mark.parametrize(("method", "eligible"), [("broker_fenced", (2, 3)), ("broker_had_unclean_shutdown", (3,))])
def test_with_eligible_replicas_only_an_unclean_shutdown_ends_eligibility(method, eligible):
    fields = {"isr": (1, 2), "eligible_leader_replicas": (3,)}
    controller = controller_with(fields, features=ELR, configs=[("min.insync.replicas", "3")])
    assert after(controller, method, 2)[0] == [(1, (1,), eligible)]


def test_an_unclean_shutdown_ends_eligibility_of_a_broker_out_of_sync():
    fields = {"isr": (1,), "eligible_leader_replicas": (2, 3)}
    controller = controller_with(fields, features=ELR, configs=[("min.insync.replicas", "3")])
    assert after(controller, "broker_had_unclean_shutdown", 2) == ([(1, (1,), (3,))], 1)


def test_without_eligible_replicas_an_unclean_shutdown_is_like_any_other():
    assert after(controller_with({"isr": (1, 2)}), "broker_had_unclean_shutdown", 2)[0] == [(1, (1,), ())]


def test_an_unregistered_broker_stays_eligible():
    fields = {"isr": (1,), "eligible_leader_replicas": (2, 3)}
    controller = controller_with(fields, features=ELR, configs=[("min.insync.replicas", "3")])
    assert after(controller, "broker_unregistered", 2) == ([(1, (1,), (2, 3))], 0)


def test_failed_directories_take_only_their_own_replicas_with_them():
    first, second = directory(1, 0), directory(1, 1)
    controller = controller_with(
        {"directories": (first, UNASSIGNED, UNASSIGNED)},
        {"directories": (second, UNASSIGNED, UNASSIGNED)},
        {"directories": (first, UNASSIGNED, UNASSIGNED), "isr": (2, 3), "leader": 2},
    )
    found, count = after(controller, "directories_offline", 1, frozenset({first}))
    assert found == [(2, (2, 3), ()), (1, (1, 2, 3), ()), (2, (2, 3), ())]
    assert count == 1


@pytest.mark.parametrize(
    ("place", "leader"),
    [(directory(2, 0), 2), (directory(2, 7), 3), (UNASSIGNED, 2), (MIGRATING, 2), (LOST, 3)],
)
def test_a_replica_leads_only_from_a_directory_that_is_online(place, leader):
    controller = controller_with({"directories": (UNASSIGNED, place, UNASSIGNED)})
    assert after(controller, "broker_fenced", 1)[0] == [(leader, (2, 3), ())]


@pytest.mark.parametrize(("place", "leader"), [(directory(2, 7), 2), (LOST, 3)])
def test_a_broker_that_registered_before_directories_were_told_may_lead_from_any_but_a_lost_one(place, leader):
    controller = controller_with({"directories": (MIGRATING, place, MIGRATING)}, level="3.6-IV2", release="3.7")
    assert after(controller, "broker_fenced", 1)[0] == [(leader, (2, 3), ())]
