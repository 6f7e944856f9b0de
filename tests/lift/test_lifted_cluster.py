"""Who has the metadata log, and who does not."""

from dataclasses import replace

import msgspec
import pytest
from lift_fakes import LIMITS, FakeBrokers, FakeQuorum, lifted_cluster

from falkirk.client.quorum_description import QuorumDescription, ReplicaState

NOW_MS = 50_000
LEADER = ReplicaState(
    node_id=1,
    directory_id=bytes(16),
    log_end_offset=1000,
    last_fetch_timestamp=NOW_MS,
    last_caught_up_timestamp=NOW_MS,
)


def a_view(*voters, observers=()):
    return QuorumDescription(
        leader_id=1,
        leader_epoch=3,
        high_watermark=1000,
        voter_states=voters,
        observer_states=observers,
        voter_listeners={},
    )


@pytest.mark.parametrize(
    ("behind", "lag", "fetched_ms_ago", "follows"),
    [(100, 100, 0, True), (101, 100, 0, False), (101, 500, 0, True), (1, 500, 2001, False)],
)
def test_a_replica_follows_that_fetches_and_is_no_further_behind_than_the_limit(behind, lag, fetched_ms_ago, follows):
    follower = replace(LEADER, node_id=2, log_end_offset=1000 - behind, last_fetch_timestamp=NOW_MS - fetched_ms_ago)
    view = a_view(LEADER, follower)
    limits = msgspec.structs.replace(LIMITS, lag=lag)
    cluster = lifted_cluster(FakeQuorum(), FakeBrokers(FakeQuorum()), limits=limits)
    assert cluster.follows(view, 2) is follows
    assert cluster.follows(view, 1)


@pytest.mark.parametrize("in_order", [1, -1])
def test_of_a_broker_that_came_back_as_a_release_without_directory_ids_the_entry_that_fetches_counts(in_order):
    gone = replace(
        LEADER, node_id=11, directory_id=bytes(15) + b"d", log_end_offset=100, last_fetch_timestamp=NOW_MS - 60_000
    )
    there = replace(LEADER, node_id=11)
    view = a_view(LEADER, observers=(gone, there)[::in_order])
    cluster = lifted_cluster(FakeQuorum(), FakeBrokers(FakeQuorum()))
    assert cluster.follows(view, 11)
    assert view.observers == {11: 1000}
