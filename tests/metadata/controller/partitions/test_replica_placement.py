"""Where replicas of new partitions go."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from falkirk.metadata.controller.partitions.replica_placement import ReplicaPlacer, UsableBroker
from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.slices import exhaust


def place(partitions, replication_factor, brokers, seed=0):
    placer = ReplicaPlacer(Random(seed), knows_cordoned=False)
    return exhaust(placer.place(partitions, replication_factor, brokers))


def unfenced(*broker_ids, rack=None):
    return [UsableBroker(broker_id, rack, is_fenced=False) for broker_id in broker_ids]


def fenced(*broker_ids, rack=None):
    return [UsableBroker(broker_id, rack, is_fenced=True) for broker_id in broker_ids]


@st.composite
def clusters(draw):
    racks = st.sampled_from((None, "", "a", "b", "c"))
    found = [
        UsableBroker(broker_id, draw(racks), is_fenced=draw(st.booleans()))
        for broker_id in range(draw(st.integers(0, 9)))
    ]
    return [UsableBroker(100, draw(racks), is_fenced=False), *found]


@pytest.mark.parametrize(
    ("replication_factor", "brokers", "message"),
    [
        (0, unfenced(1), "Invalid replication factor 0: the replication factor must be positive."),
        (-1, [], "Invalid replication factor -1: the replication factor must be positive."),
        (1, [], "All brokers are currently fenced."),
        (1, fenced(1, 2), "All brokers are currently fenced."),
        (3, fenced(1, 2), "All brokers are currently fenced."),
        (
            3,
            [*unfenced(1), *fenced(2)],
            "The target replication factor of 3 cannot be reached because only 2 broker(s) are registered.",
        ),
    ],
)
def test_what_cannot_be_placed_is_an_error_in_kafkas_words(replication_factor, brokers, message):
    assert place(1, replication_factor, brokers) == ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, message)


@settings(max_examples=40)
@given(clusters(), st.data())
def test_replicas_differ_are_as_many_as_asked_for_and_no_fenced_broker_leads(brokers, data):
    replication_factor = data.draw(st.integers(1, len(brokers)))
    placed = place(data.draw(st.integers(0, 40)), replication_factor, brokers, data.draw(st.integers(0, 99)))

    is_fenced = {broker.broker_id: broker.is_fenced for broker in brokers}
    for replicas in placed:
        assert len(set(replicas)) == len(replicas) == replication_factor
        assert not is_fenced[replicas[0]]
        assert set(replicas) <= set(is_fenced)


@settings(max_examples=40)
@given(clusters(), st.data())
def test_no_two_replicas_share_a_rack_while_there_are_others(brokers, data):
    rack = {broker.broker_id: broker.rack for broker in brokers}
    racks = set(rack.values())
    for replicas in place(20, data.draw(st.integers(1, len(brokers))), brokers, data.draw(st.integers(0, 99))):
        assert len({rack[replica] for replica in replicas[: len(racks)]}) == min(len(replicas), len(racks))


@settings(max_examples=40)
@given(clusters(), st.data())
def test_in_a_rack_fenced_brokers_come_last(brokers, data):
    by_id = {broker.broker_id: broker for broker in brokers}
    for replicas in place(20, data.draw(st.integers(1, len(brokers))), brokers, data.draw(st.integers(0, 99))):
        for replica in replicas:
            if by_id[replica].is_fenced:
                rack = by_id[replica].rack
                left_out = [broker for broker in brokers if broker.rack == rack and broker.broker_id not in replicas]
                assert all(broker.is_fenced for broker in left_out)


@pytest.mark.parametrize("seed", range(5))
def test_every_broker_leads_as_often_as_every_other(seed):
    placed = place(60, 3, [*unfenced(0, 1, rack="a"), *unfenced(2, 3, rack="b"), *unfenced(4, 5, rack="c")], seed)

    leaders = Counter(replicas[0] for replicas in placed)
    assert leaders == dict.fromkeys(range(6), 10)


@pytest.mark.parametrize("seed", range(5))
def test_single_replicas_go_to_every_broker_as_often_as_to_every_other(seed):
    placed = place(60, 1, [*unfenced(0, rack="a"), *unfenced(1, rack="b"), *unfenced(2, rack="c")], seed)

    assert Counter(placed) == {(0,): 20, (1,): 20, (2,): 20}


def test_partitions_one_after_the_other_start_on_other_racks_and_other_brokers():
    brokers = [*unfenced(0, 1, rack="a"), *unfenced(2, 3, rack="b"), *unfenced(4, 5, rack="c")]
    placed = place(3, 3, brokers)

    assert len({replicas[0] // 2 for replicas in placed}) == 3
    assert len(set(placed)) == 3


def test_one_unfenced_broker_leads_everything():
    placed = place(7, 2, [*unfenced(1), *fenced(2, 3)])

    assert {replicas[0] for replicas in placed} == {1}
    assert {replicas[1] for replicas in placed} == {2, 3}


def test_the_same_chance_places_alike_and_another_one_does_not():
    brokers = unfenced(*range(8))

    assert place(20, 3, brokers, seed=1) == place(20, 3, brokers, seed=1)
    assert place(20, 3, brokers, seed=1) != place(20, 3, brokers, seed=2)
