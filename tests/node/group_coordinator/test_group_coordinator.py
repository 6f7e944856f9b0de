"""Brokers of ours coordinate groups: what is committed is kept, whoever leads."""

import pytest
from group_cluster import GroupCluster

from falkirk.protocol.error_codes import ErrorCode
from falkirk.versions.release import CONSUMER_OFFSETS

T0 = ("t", 0)


def a_cluster(**settings):
    cluster = GroupCluster(**settings)
    cluster.create("t", partitions=2)
    return cluster


@pytest.mark.parametrize("release", ["3.7", "3.9", "4.0", "4.3", "4.4"])
def test_committed_offsets_are_in_every_replica_and_are_told(release):
    cluster = a_cluster(release=release)
    assert cluster.commit("g", {T0: 7, ("t", 1): 8}) == {T0: 0, ("t", 1): 0}
    assert cluster.fetch_offsets("g") == {T0: 7, ("t", 1): 8}
    index = cluster.partition_of("g")
    for broker in cluster.brokers:
        assert len(cluster.values(broker, CONSUMER_OFFSETS, index)) == 2
    errors = [fact for host in cluster.network.hosts.values() for fact in host.facts if fact.level == "error"]
    assert errors == []


def test_the_next_leader_loads_what_was_committed():
    cluster = a_cluster()
    cluster.commit("g", {T0: 7})
    old = cluster.coordinator("g")
    new = cluster.move("g")
    assert new != old
    assert cluster.fetch_offsets("g") == {T0: 7}
    assert cluster.commit("g", {T0: 9}) == {T0: 0}
    assert "group-coordinator-loaded" in cluster.facts(new)

    cluster.start(old)
    cluster.wait_for_isr(CONSUMER_OFFSETS, *cluster.brokers, index=cluster.partition_of("g"))
    cluster.move("g")
    assert cluster.fetch_offsets("g") == {T0: 9}


def test_who_does_not_lead_a_groups_partition_says_so():
    cluster = a_cluster()
    leader = cluster.coordinator("g")
    other = next(broker for broker in cluster.brokers if broker != leader)
    assert cluster.commit("g", {T0: 7}, broker=other) == {T0: ErrorCode.NOT_COORDINATOR}
    assert cluster.fetch_offsets("g", broker=other) == ErrorCode.NOT_COORDINATOR
    assert ErrorCode(16) is ErrorCode.NOT_COORDINATOR
