"""Brokers of ours replicate: acknowledgements, high watermarks, failures, elections, truncation."""

from __future__ import annotations

import pytest
from replica_cluster import ReplicaCluster

from falkirk.protocol.error_codes import ErrorCode

RELEASES = ("3.7", "3.9", "4.0", "4.3", "4.4")


@pytest.mark.parametrize("release", RELEASES)
def test_what_is_acknowledged_by_all_is_in_every_log(release):
    cluster = ReplicaCluster(release=release)
    cluster.create("t")

    assert cluster.produce("t", b"one", b"two") == 0

    for broker in cluster.brokers:
        assert cluster.values(broker, "t") == [b"one", b"two"]
    assert cluster.log(cluster.state("t").leader, "t").high_watermark == 2


def test_followers_learn_the_high_watermark_with_their_next_fetch():
    cluster = ReplicaCluster()
    cluster.create("t")

    cluster.produce("t", b"one")

    cluster.run_until(lambda: all(cluster.log(broker, "t").high_watermark == 1 for broker in cluster.brokers))


def test_a_leader_waits_for_a_follower_in_sync_until_it_has_left():
    cluster = ReplicaCluster()
    cluster.create("t", replicas={0: [101, 102, 103]})
    cluster.cut((103, 101), (103, 102))

    produced = cluster.begin_produce("t", b"one")
    cluster.run(4_000)
    assert produced.error is None
    assert cluster.log(101, "t").high_watermark == 0

    cluster.wait_for_isr("t", 101, 102)
    cluster.run_until(lambda: produced.error is not None)
    assert produced.error == 0
    assert cluster.log(101, "t").high_watermark == 1


def test_a_follower_that_is_back_catches_up_and_joins_again():
    cluster = ReplicaCluster()
    cluster.create("t", replicas={0: [101, 102, 103]})
    cluster.kill(103)
    cluster.wait_for_isr("t", 101, 102)
    for number in range(20):
        assert cluster.produce("t", b"%d" % number) == 0

    cluster.start(103)

    cluster.wait_for_isr("t", 101, 102, 103)
    assert cluster.values(103, "t") == [b"%d" % number for number in range(20)]


def test_nothing_acknowledged_is_lost_when_the_leader_is_killed():
    cluster = ReplicaCluster()
    cluster.create("t", replicas={0: [101, 102, 103]})
    assert cluster.produce("t", b"one") == 0

    cluster.kill(101)

    cluster.wait_for_leader("t", 102, 103)
    assert cluster.produce("t", b"two") == 0
    cluster.start(101)
    cluster.wait_for_isr("t", 101, 102, 103)
    for broker in cluster.brokers:
        assert cluster.values(broker, "t") == [b"one", b"two"]


def test_what_only_the_old_leader_had_is_cut_off_when_it_follows():
    cluster = ReplicaCluster()
    cluster.create("t", replicas={0: [101, 102, 103]})
    assert cluster.produce("t", b"kept") == 0
    cluster.network.isolate(101)
    lost = cluster.begin_produce("t", b"lost", b"lost, too", broker=101)
    cluster.run_until(lambda: len(cluster.values(101, "t")) == 3)

    cluster.wait_for_leader("t", 102, 103)
    assert cluster.produce("t", b"new", broker=cluster.state("t").leader) == 0
    cluster.network.heal()

    cluster.wait_for_isr("t", 101, 102, 103)
    for broker in cluster.brokers:
        assert cluster.values(broker, "t") == [b"kept", b"new"]
    cluster.run_until(lambda: lost.error is not None)
    assert lost.error == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_follower_that_had_too_much_learns_the_high_watermark_though_nothing_more_is_written():
    cluster = ReplicaCluster()
    cluster.create("t", replicas={0: [101, 102, 103]})
    assert cluster.produce("t", b"kept") == 0
    cluster.network.isolate(101)
    cluster.begin_produce("t", b"lost", broker=101)
    cluster.wait_for_leader("t", 102, 103)

    cluster.network.heal()

    cluster.wait_for_isr("t", 101, 102, 103)
    cluster.run_until(lambda: cluster.log(101, "t").high_watermark == cluster.log(101, "t").log_end_offset == 1)


def test_too_few_in_sync_refuse_writes_to_all_and_take_others():
    cluster = ReplicaCluster()
    cluster.create("t", replicas={0: [101, 102, 103]}, min_insync_replicas="2")
    cluster.kill(102)
    cluster.kill(103)
    cluster.wait_for_isr("t", 101)

    assert cluster.produce("t", b"refused") == ErrorCode.NOT_ENOUGH_REPLICAS
    assert cluster.produce("t", b"taken", acks=1) == 0

    assert cluster.values(101, "t") == [b"taken"]
    # Nobody may read what could be lost (KIP-966).
    assert cluster.log(101, "t").high_watermark == 0
    cluster.start(102)
    cluster.wait_for_isr("t", 101, 102)
    cluster.run_until(lambda: cluster.log(101, "t").high_watermark == 1)


def test_an_append_that_loses_its_replicas_meanwhile_says_so():
    cluster = ReplicaCluster(properties={"replica.lag.time.max.ms": "2000"})
    cluster.create("t", replicas={0: [101, 102]}, min_insync_replicas="2")
    cluster.cut((101, 102))

    produced = cluster.begin_produce("t", b"one", timeout_ms=60_000)

    cluster.wait_for_isr("t", 101)
    cluster.run(3_000)
    # The high watermark stands still, so it is not acknowledged before the follower is back.
    assert produced.error is None
    cluster.network.heal()
    cluster.run_until(lambda: produced.error is not None)
    assert produced.error == 0


def test_a_write_that_is_not_replicated_in_time_is_told_so():
    cluster = ReplicaCluster(properties={"replica.lag.time.max.ms": "60000"})
    cluster.create("t", replicas={0: [101, 102]})
    cluster.cut((101, 102))

    assert cluster.produce("t", b"one", timeout_ms=1_000) == ErrorCode.REQUEST_TIMED_OUT


def test_a_waiting_consumer_gets_records_when_they_are_replicated():
    cluster = ReplicaCluster()
    cluster.create("t", replicas={0: [101, 102, 103]})
    waiting = []
    began_ms = cluster.network.now_ms
    cluster.begin_produce("t", b"one")

    answer = cluster.fetch("t", broker=101, max_wait_ms=20_000)

    waiting.append(answer)
    assert answer.error_code == 0
    assert answer.records
    assert answer.high_watermark == 1
    assert cluster.network.now_ms - began_ms < 20_000


def test_a_consumer_waits_for_as_much_as_it_wants_or_its_time():
    cluster = ReplicaCluster(brokers=1)
    cluster.create("t", factor=1)
    cluster.produce("t", b"x" * 100)
    began_ms = cluster.network.now_ms

    answer = cluster.fetch("t", broker=101, max_wait_ms=700, min_bytes=1_000)

    assert cluster.network.now_ms - began_ms == 700
    assert len(answer.records) > 100


def test_enough_for_a_consumer_ends_its_wait():
    cluster = ReplicaCluster(brokers=1)
    cluster.create("t", factor=1)
    cluster.produce("t", b"x" * 100)
    began_ms = cluster.network.now_ms
    for _ in range(10):
        cluster.begin_produce("t", b"x" * 100)

    answer = cluster.fetch("t", broker=101, max_wait_ms=60_000, min_bytes=1_000)

    assert cluster.network.now_ms - began_ms < 60_000
    assert len(answer.records) >= 1_000


def test_a_partition_may_be_moved_to_other_brokers():
    cluster = ReplicaCluster(brokers=5)
    cluster.create("t", replicas={0: [101, 102]})
    for number in range(5):
        cluster.produce("t", b"%d" % number)

    cluster.reassign("t", [104, 105])

    cluster.run_until(lambda: cluster.state("t").replicas == (104, 105), within_ms=60_000)
    cluster.wait_for_isr("t", 104, 105)
    cluster.run(2_000)
    assert cluster.produce("t", b"after") == 0
    assert cluster.values(104, "t") == cluster.values(105, "t") == [b"0", b"1", b"2", b"3", b"4", b"after"]
    assert cluster.replicas(101).partitions.online == {}
    assert [name for name in cluster.network.hosts[101].disk.list("/d0") if name == "t-0"] == []


def test_a_deleted_topic_may_be_made_anew_under_its_name():
    cluster = ReplicaCluster()
    cluster.create("t")
    cluster.produce("t", b"old")

    cluster.delete("t")
    cluster.run_until(lambda: all(not cluster.replicas(broker).partitions.online for broker in cluster.brokers))
    cluster.create("t")

    assert cluster.produce("t", b"new") == 0
    for broker in cluster.brokers:
        assert cluster.values(broker, "t") == [b"new"]


def test_brokers_that_stop_in_order_lose_nothing_and_are_not_missed():
    cluster = ReplicaCluster()
    cluster.create("t", replicas={0: [101, 102, 103]})
    for broker in cluster.brokers:
        assert cluster.produce("t", b"before %d" % broker) == 0
        cluster.network.shut_down(broker)
        cluster.wait_for_leader("t", *cluster.up)
        assert cluster.produce("t", b"without %d" % broker) == 0
        cluster.start(broker)
        cluster.wait_for_isr("t", 101, 102, 103)

    for broker in cluster.brokers:
        assert len(cluster.values(broker, "t")) == 6
        assert cluster.values(broker, "t") == cluster.values(101, "t")


def test_a_follower_whose_offsets_the_leader_no_longer_has_begins_anew():
    cluster = ReplicaCluster()
    cluster.create("t", replicas={0: [101, 102]}, segment_bytes="1048576")
    cluster.produce("t", b"one")
    cluster.kill(102)
    cluster.wait_for_isr("t", 101)
    for number in range(5):
        cluster.produce("t", b"%d" % number)
    cluster.log(101, "t").increment_log_start_offset(4)

    cluster.start(102)

    cluster.wait_for_isr("t", 101, 102)
    assert cluster.log(102, "t").log_start_offset == 4
    assert cluster.values(102, "t") == [b"3", b"4"]


def test_a_consumer_is_sent_to_the_replica_in_its_rack():
    cluster = ReplicaCluster(
        brokers=0,
        properties={"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"},
    )
    cluster.add_brokers({101: "a", 102: "b", 103: "c"})
    cluster.create("t", replicas={0: [101, 102, 103]})
    cluster.produce("t", b"one")
    cluster.run_until(lambda: cluster.log(102, "t").high_watermark == 1)

    assert cluster.fetch("t", broker=101, rack="b").preferred_read_replica == 102
    assert cluster.fetch("t", broker=101, rack="a").preferred_read_replica == -1
    assert cluster.fetch("t", broker=101, rack="z").preferred_read_replica == -1
    assert cluster.fetch("t", broker=102, rack="b").records
