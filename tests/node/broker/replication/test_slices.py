"""A broker with a slow disk applies many changes of its replicas: in slices, while it heartbeats and answers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from replica_cluster import ReplicaCluster
from slow_disk import SlowDisk

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import CreateTopicsRequest, ProduceRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.record import Record
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from node_network import Host

    from falkirk.metadata.image.metadata_image import MetadataImage

pytestmark = pytest.mark.slow

# A slice may need the syncs of a new log and of a leader's epoch; a step, those of the metadata log, too.
SYNCS_IN_A_STEP = 12


def a_cluster(sync_ms: int, brokers: int = 2) -> ReplicaCluster:
    return ReplicaCluster(brokers=brokers, make_disk=partial(SlowDisk, sync_ms))


def begin_create(cluster: ReplicaCluster, topic: str, partitions: int, factor: int = 2) -> None:
    """Create a topic, and wait only until the controller has it."""
    created = CreatableTopic(name=topic, num_partitions=partitions, replication_factor=factor)
    client = cluster.client(cluster.up[0])
    client.send(CreateTopicsRequest([created], 30_000, validate_only=False), 5)
    cluster.run_until(lambda: topic in known(cluster).topics.by_name)


def known(cluster: ReplicaCluster) -> MetadataImage:
    """Return the image of the active controller."""
    active = cluster.network.active
    assert active is not None
    return active.running.image


def topic_ids(cluster: ReplicaCluster, broker: int) -> dict[str, bytes]:
    """Return the ids of the topics that a broker knows."""
    topics = cluster.network.hosts[broker].running.image.topics
    return {topic.name: topic.topic_id for topic in topics}


def are_made(cluster: ReplicaCluster, topic: str, partitions: int) -> bool:
    return all(
        not isinstance(cluster.replicas(broker).log(TopicPartition(topic, index)), ErrorCode)
        for broker in cluster.brokers
        for index in range(partitions)
    )


def are_in_sync(cluster: ReplicaCluster, topic: str, partitions: int, *, end_offset: int) -> bool:
    """Return whether all replicas are in sync, and have as many records."""
    return all(
        len(cluster.state(topic, index).isr) == len(cluster.brokers)
        and all(cluster.log(broker, topic, index).log_end_offset == end_offset for broker in cluster.brokers)
        for index in range(partitions)
    )


class LongestStep:
    """The syncs of the step that needed the most, since it was made."""

    def __init__(self, host: Host) -> None:
        disk = host.disk
        assert isinstance(disk, SlowDisk)
        self.syncs = 0
        step = host.running.step

        def counted(*arguments):
            before = disk.syncs
            effects = step(*arguments)
            self.syncs = max(self.syncs, disk.syncs - before)
            return effects

        host.running.step = counted


@pytest.mark.parametrize(
    ("sync_ms", "partitions"),
    [
        (10, 300),
        (50, 100),
        *(pytest.param(sync_ms, 1_000, marks=pytest.mark.full) for sync_ms in (10, 20, 50)),
    ],
)
def test_brokers_that_create_many_logs_on_slow_disks_are_not_fenced(sync_ms, partitions):
    cluster = a_cluster(sync_ms)
    longest = [LongestStep(cluster.network.hosts[broker]) for broker in cluster.brokers]

    begin_create(cluster, "t", partitions)
    cluster.run_until(lambda: are_made(cluster, "t", partitions), within_ms=300_000)
    cluster.run(10_000)

    # The first records of a leader's epoch: followers write that into a file of each partition.
    assert produce_everywhere(cluster, "t", partitions) == {ErrorCode.NONE}
    # Which may take longer than the 5 s after which a follower is out of sync: it joins again.
    cluster.run_until(lambda: are_in_sync(cluster, "t", partitions, end_offset=1), within_ms=300_000)

    assert cluster.network.facts("broker-fenced") == []
    assert max(each.syncs for each in longest) <= SYNCS_IN_A_STEP
    assert cluster.values(101, "t", partitions - 1) == cluster.values(102, "t", partitions - 1) == [b"one"]


def produce_everywhere(cluster: ReplicaCluster, topic: str, partitions: int) -> set[int]:
    """Produce to all partitions, in one request to each leader; return the error codes."""
    of_leaders: dict[int, list[PartitionProduceData]] = {}
    for index in range(partitions):
        batch = build_batch([Record(0, cluster.network.now_ms, None, b"one")], base_offset=0)
        of_leaders.setdefault(cluster.state(topic, index).leader, []).append(PartitionProduceData(index, batch))
    errors: set[int] = set()
    for leader, data in of_leaders.items():
        client, topics = cluster.client(leader), [TopicProduceData(name=topic, partition_data=data)]
        sent = client.send(ProduceRequest(acks=-1, timeout_ms=300_000, topic_data=topics), 9)
        cluster.run_until(lambda sent=sent, client=client: sent in client.answers, within_ms=300_000)
        (answered,) = client.answers[sent].responses
        errors |= {each.error_code for each in answered.partition_responses}
    return errors


def test_a_leader_that_comes_back_follows_many_partitions_without_being_fenced_again():
    cluster = a_cluster(sync_ms=10)
    cluster.create("t", partitions=200, factor=2)
    cluster.kill(102)
    fencings = len(cluster.network.facts("broker-fenced"))
    cluster.start(102)
    cluster.wait_for_isr("t", 101, 102, index=199)
    longest = LongestStep(cluster.network.hosts[102])

    assert produce_everywhere(cluster, "t", 200) == {ErrorCode.NONE}

    assert longest.syncs <= SYNCS_IN_A_STEP
    assert len(cluster.network.facts("broker-fenced")) == fencings


def test_a_broker_that_was_fenced_while_it_made_files_stays_fenced_until_they_are_there():
    cluster = a_cluster(sync_ms=50)
    begin_create(cluster, "t", 200)
    cluster.run_until(lambda: "t" in topic_ids(cluster, 102))
    broker = cluster.network.hosts[102].running.broker
    assert broker is not None
    # As if a step had taken that long.
    broker._lifecycle._next_ms = cluster.network.now_ms + 5_000
    cluster.run_until(lambda: known(cluster).cluster.brokers[102].fenced)

    cluster.run_until(lambda: not known(cluster).cluster.brokers[102].fenced, within_ms=300_000)

    assert cluster.replicas(102).pending_offset is None
    assert len(cluster.network.facts("broker-fenced")) == 1


def test_what_heartbeats_report_is_what_is_applied_to_files():
    cluster = a_cluster(sync_ms=10)
    begin_create(cluster, "t", 100)
    cluster.run(200)
    broker = cluster.network.hosts[101].running.broker
    assert broker is not None
    pending = broker.replicas.pending_offset
    assert pending is not None
    assert pending < cluster.network.hosts[101].running.image.provenance.end_offset
    assert broker._lifecycle._heartbeat().current_metadata_offset == pending - 1

    cluster.run_until(lambda: are_made(cluster, "t", 100), within_ms=60_000)
    cluster.run(1_000)

    assert broker.replicas.pending_offset is None
    end_offset = cluster.network.hosts[101].running.raft.high_watermark
    assert broker._lifecycle._heartbeat().current_metadata_offset == end_offset - 1


def test_a_partition_is_not_led_before_its_change_is_applied():
    cluster = a_cluster(sync_ms=10, brokers=1)
    begin_create(cluster, "t", 100, factor=1)
    cluster.run_until(lambda: "t" in topic_ids(cluster, 101))

    assert cluster.produce("t", b"early", index=99) == ErrorCode.NOT_LEADER_OR_FOLLOWER

    cluster.run_until(lambda: are_made(cluster, "t", 100), within_ms=60_000)
    assert cluster.produce("t", b"late", index=99) == 0
    assert cluster.values(101, "t", 99) == [b"late"]


def test_a_topic_that_is_deleted_and_made_anew_meanwhile_has_nothing_of_the_old_one():
    cluster = a_cluster(sync_ms=10, brokers=1)
    cluster.create("t", partitions=20, factor=1)
    assert cluster.produce("t", b"old", index=19) == 0
    begin_create(cluster, "slow", 50, factor=1)
    old_id = cluster.partition(101, "t", 19).topic_id

    cluster.delete("t")
    begin_create(cluster, "t", 20, factor=1)
    cluster.run_until(lambda: topic_ids(cluster, 101).get("t", old_id) != old_id)
    hosted = cluster.replicas(101).partitions.online[TopicPartition("t", 19)]
    assert hosted.topic_id == old_id, "it is not deleted yet"
    assert cluster.produce("t", b"early", index=19) == ErrorCode.NOT_LEADER_OR_FOLLOWER

    cluster.run_until(lambda: are_made(cluster, "slow", 50) and are_made(cluster, "t", 20), within_ms=60_000)
    assert cluster.partition(101, "t", 19).topic_id != old_id
    assert cluster.produce("t", b"new", index=19) == 0
    assert cluster.values(101, "t", 19) == [b"new"]


def test_a_broker_is_fenced_until_its_first_image_is_applied():
    cluster = a_cluster(sync_ms=10)
    cluster.create("t", partitions=60, factor=2)
    cluster.network.shut_down(102)
    begin_create(cluster, "more", 60, factor=1)
    cluster.reassign("t", [101], 0)
    cluster.run(1_000)

    cluster.network.start(102)
    cluster.run_until(lambda: not known(cluster).cluster.brokers[102].fenced, within_ms=60_000)

    assert cluster.replicas(102).pending_offset is None
    assert all(isinstance(cluster.partition(102, "t", index).topic_id, bytes) for index in range(1, 60))


def test_a_broker_with_many_partitions_stops_in_order_and_starts_in_short_steps():
    cluster = a_cluster(sync_ms=1)
    cluster.create("t", partitions=300, factor=2)
    for index in range(0, 300, 50):
        assert cluster.produce("t", b"kept", index=index) == 0
    host = cluster.network.hosts[102]
    longest = LongestStep(host)

    cluster.network.shut_down(102)

    assert longest.syncs <= SYNCS_IN_A_STEP
    assert host.stop is not None
    assert host.stop.exit_code == 0
    assert host.disk.exists("/d0/.kafka_cleanshutdown")
    cluster.network.start(102)
    longest = LongestStep(host)
    cluster.run_until(lambda: cluster.is_running(102), within_ms=60_000)
    assert longest.syncs <= SYNCS_IN_A_STEP
    assert cluster.log(102, "t", 50).recovery.scanned_segments == 0
    assert cluster.values(102, "t", 50) == [b"kept"]


def test_topics_with_many_partitions_are_deleted_in_short_steps():
    cluster = a_cluster(sync_ms=1, brokers=1)
    cluster.create("t", partitions=300, factor=1)
    longest = LongestStep(cluster.network.hosts[101])

    cluster.delete("t")
    cluster.run_until(lambda: not cluster.replicas(101).partitions.online, within_ms=60_000)
    # Until the files go, too.
    cluster.run(90_000)

    assert longest.syncs <= SYNCS_IN_A_STEP
    assert not [name for name in cluster.network.hosts[101].disk.list("/d0") if name.startswith("t-")]


def test_old_segments_of_many_partitions_are_deleted_in_short_steps():
    # Later releases have no segments as small as these.
    cluster = ReplicaCluster(brokers=1, release="3.9", make_disk=partial(SlowDisk, 1))
    configs = {"segment_bytes": "1024", "retention_bytes": "1024", "file_delete_delay_ms": "0"}
    cluster.create("t", partitions=20, factor=1, **configs)
    for _ in range(8):
        for index in range(20):
            assert cluster.produce("t", b"x" * 600, index=index) == 0
    assert len(cluster.log(101, "t", 19).segments) == 8
    longest = LongestStep(cluster.network.hosts[101])

    cluster.run(400_000)

    assert len(cluster.log(101, "t", 19).segments) == 2
    assert longest.syncs <= SYNCS_IN_A_STEP
