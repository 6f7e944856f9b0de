"""Leaders that time moves."""

import pytest
from controllers import Broker, brokers, make_controller, run

from falkirk.metadata.controller.partitions import leader_balance
from falkirk.protocol.messages import ConfigRecord, PartitionRecord, TopicRecord

A = b"a" * 16


def controller_with(*partitions, configs=(), **settings):
    records = [TopicRecord("a", A)]
    for number, fields in enumerate(partitions):
        given = {"replicas": (1, 2, 4), "isr": (1, 2), "leader": 1, "leader_epoch": 0, "partition_epoch": 0} | fields
        records.append(PartitionRecord(partition_id=number, topic_id=A, **given))
    records += [ConfigRecord(2, "a", name, value) for name, value in configs]
    return make_controller(brokers=[*brokers(1, 2), Broker(broker_id=4, fenced=True)], records=records, **settings)


def leaders(controller):
    return [partition.leader for partition in controller.state.image.topics.topic("a").partitions]


def replication_due(controller, now_ms):
    """Append and commit what has become due of leaders; return how many there were in each slice that had any."""
    results = []
    for result in controller.replication.due(now_ms):
        run(controller, result)
        if result.records:
            results.append(len(result.records))
    return results


def test_leaders_go_back_to_the_first_replica_when_the_interval_is_over():
    controller = controller_with({"leader": 2}, {}, {"leader": 2, "isr": (2,)})
    assert controller.replication.next_due_ms == 300_000
    assert replication_due(controller, 299_999) == []
    assert leaders(controller) == [2, 1, 2]
    assert replication_due(controller, 300_000) == [1]
    assert leaders(controller) == [1, 1, 2]
    # One could not go back: it is looked at again after the next interval.
    assert controller.replication.next_due_ms == 600_000
    assert replication_due(controller, 600_000) == []


def test_with_nothing_out_of_balance_nothing_is_due():
    controller = controller_with({}, {})
    assert controller.replication.next_due_ms is None
    assert replication_due(controller, 1_000_000) == []


def test_where_the_balance_is_off_leaders_stay():
    controller = controller_with({"leader": 2}, leader_imbalance_check_interval_ms=None)
    assert controller.replication.next_due_ms is None
    assert replication_due(controller, 1_000_000) == []
    assert leaders(controller) == [2]


def test_many_elections_go_out_in_slices(monkeypatch):
    monkeypatch.setattr(leader_balance, "PARTITIONS_PER_SLICE", 2)
    controller = controller_with(*[{"leader": 2}] * 5)
    assert replication_due(controller, 300_000) == [2, 2, 1]
    assert leaders(controller) == [1] * 5


@pytest.mark.parametrize(("enabled", "expected"), [("true", [1, 1]), ("false", [-1, 1])])
def test_partitions_without_a_leader_get_an_unclean_one_only_where_the_topic_allows_it(enabled, expected):
    lost = {"leader": -1, "isr": (4,)}
    controller = controller_with(lost, {}, configs=[("unclean.leader.election.enable", enabled)])
    assert replication_due(controller, 0) == []
    assert controller.replication.next_due_ms == 300_000
    replication_due(controller, 300_000)
    assert leaders(controller) == expected


def test_the_interval_of_unclean_elections_is_configured():
    controller = controller_with(
        {"leader": -1, "isr": (4,)},
        configs=[("unclean.leader.election.enable", "true")],
        static_configs={"unclean.leader.election.interval.ms": "1000"},
    )
    assert replication_due(controller, 0) == []
    assert controller.replication.next_due_ms == 1000
    assert replication_due(controller, 1000) == [1]
    assert leaders(controller) == [1]


def test_time_starts_when_the_controller_does():
    assert controller_with({"leader": 2}, now_ms=5_000).replication.next_due_ms == 305_000
