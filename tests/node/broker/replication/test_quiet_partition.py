"""Partitions of a fetch session that stay as they were are not read again, and nothing is missed for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from replica_cluster import ReplicaCluster

from falkirk.node.broker.replication import fetches

if TYPE_CHECKING:
    from falkirk.protocol.topic_partition import TopicPartition


pytestmark = pytest.mark.source


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[TopicPartition]:
    """Return the partitions that are read for fetches, as they are."""
    found: list[TopicPartition] = []
    original = fetches.read_partition

    def counted(partition, *arguments, **fields):
        found.append(partition.topic_partition)
        return original(partition, *arguments, **fields)

    monkeypatch.setattr(fetches, "read_partition", counted)
    return found


def a_cluster() -> ReplicaCluster:
    cluster = ReplicaCluster(brokers=2)
    cluster.create("t", partitions=20, factor=2)
    for index in range(20):
        assert cluster.produce("t", b"one", index=index) == 0
    cluster.run(3_000)
    return cluster


def test_followers_of_idle_partitions_read_nothing_and_stay_in_sync(read):
    cluster = a_cluster()
    read.clear()
    cluster.run(20_000)
    assert read == []
    # The first record after a long time: nobody is late for it.
    cluster.cut((101, 102))
    leader = cluster.state("t").leader
    cluster.begin_produce("t", b"two")
    cluster.run(1_000)
    assert cluster.partition(leader, "t").isr.committed == {101, 102}


def test_only_partitions_with_records_are_read(read):
    cluster = a_cluster()
    read.clear()
    assert cluster.produce("t", b"two", index=7) == 0
    cluster.run(5_000)
    assert {partition.partition for partition in read} == {7}
    assert cluster.values(101, "t", 7) == cluster.values(102, "t", 7) == [b"one", b"two"]
    logs = [cluster.log(broker, "t", 7) for broker in cluster.brokers]
    assert [log.high_watermark for log in logs] == [2, 2]


def test_a_follower_that_is_not_in_sync_is_read_for_until_it_is(read):
    cluster = a_cluster()
    cluster.kill(102)
    cluster.start(102)
    for index in range(20):
        cluster.wait_for_isr("t", 101, 102, index=index)
    cluster.run(3_000)
    read.clear()
    cluster.run(5_000)
    assert read == []


def test_a_topic_that_is_made_anew_is_not_taken_for_the_old_one(read):
    cluster = a_cluster()
    cluster.delete("t")
    cluster.run(2_000)
    cluster.create("t", partitions=20, factor=2)
    assert cluster.produce("t", b"new", index=3) == 0
    cluster.run(2_000)
    assert cluster.values(101, "t", 3) == cluster.values(102, "t", 3) == [b"new"]
