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


@pytest.mark.parametrize(
    ("behind", "lag", "fetched_ms_ago", "follows"),
    [(100, 100, 0, True), (101, 100, 0, False), (101, 500, 0, True), (1, 500, 2001, False)],
)
def test_a_replica_follows_that_fetches_and_is_no_further_behind_than_the_limit(behind, lag, fetched_ms_ago, follows):
    follower = replace(LEADER, node_id=2, log_end_offset=1000 - behind, last_fetch_timestamp=NOW_MS - fetched_ms_ago)
    view = QuorumDescription(
        leader_id=1,
        leader_epoch=3,
        high_watermark=1000,
        voter_states=(LEADER, follower),
        observer_states=(),
        voter_listeners={},
    )
    limits = msgspec.structs.replace(LIMITS, lag=lag)
    cluster = lifted_cluster(FakeQuorum(), FakeBrokers(FakeQuorum()), limits=limits)
    assert cluster.follows(view, 2) is follows
    assert cluster.follows(view, 1)
