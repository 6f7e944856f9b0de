"""A log directory that is full or fails, on a node that runs: what is in it is offline, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from log_dir_disk import LogDirDisk
from node_network import directory_id
from replica_cluster import ReplicaCluster

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.protocol.uuid import uuid_text
from falkirk.slices import exhaust
from falkirk.storage.clean_shutdown import FILE_NAME as CLEAN_SHUTDOWN

if TYPE_CHECKING:
    from collections.abc import Callable

BROKER = 101
DATA_DIRS = ("/d1", "/d2")


def a_cluster(brokers: int = 1, *, leader: int = BROKER) -> ReplicaCluster:
    """Return a cluster whose brokers have two data directories beside the metadata log's; "t" is in each."""
    cluster = ReplicaCluster(brokers=0)
    for broker in range(BROKER, BROKER + brokers):
        cluster.add_brokers({broker: None}, further_log_dirs=DATA_DIRS, disk=LogDirDisk())
    replicas = sorted(cluster.brokers, key=lambda broker: broker != leader)
    cluster.create("t", replicas=dict.fromkeys(range(3), replicas))
    for index in range(3):
        assert cluster.produce("t", b"before", index=index) == 0
    return cluster


def disk(cluster: ReplicaCluster) -> LogDirDisk:
    found = cluster.network.hosts[BROKER].disk
    assert isinstance(found, LogDirDisk)
    return found


def index_in(cluster: ReplicaCluster, log_dir: str) -> int:
    (index,) = (each for each in range(3) if cluster.log(BROKER, "t", each).directory.startswith(f"{log_dir}/"))
    return index


def fill(cluster: ReplicaCluster, log_dir: str) -> None:
    disk(cluster).full.add(log_dir)


def fail(cluster: ReplicaCluster, log_dir: str) -> None:
    disk(cluster).failed.add(log_dir)


def registered_dirs(cluster: ReplicaCluster) -> set[bytes]:
    return set(cluster.network.active.running.image.cluster.brokers[BROKER].log_dirs)


@pytest.mark.parametrize("how", [fill, fail])
@pytest.mark.parametrize("log_dir", DATA_DIRS)
def test_a_directory_that_can_not_be_written_takes_its_partitions_offline_and_no_others(
    how: Callable[[ReplicaCluster, str], None], log_dir: str
) -> None:
    cluster = a_cluster()
    gone = index_in(cluster, log_dir)

    how(cluster, log_dir)

    assert cluster.produce("t", b"lost", index=gone) == ErrorCode.KAFKA_STORAGE_ERROR
    assert cluster.produce("t", b"lost too", index=gone) == ErrorCode.KAFKA_STORAGE_ERROR
    assert cluster.fetch("t", broker=BROKER, index=gone).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    for index in {0, 1, 2} - {gone}:
        assert cluster.produce("t", b"after", index=index) == 0
        fetched = cluster.fetch("t", broker=BROKER, index=index)
        assert (fetched.error_code, fetched.high_watermark) == (0, 2)
        assert cluster.values(BROKER, "t", index) == [b"before", b"after"]
    # The heartbeats tell the controller, which has no other replica to let lead.
    lost = directory_id(BROKER, int(log_dir[-1]))
    cluster.run_until(lambda: lost not in registered_dirs(cluster))
    assert len(registered_dirs(cluster)) == 2
    cluster.run_until(lambda: cluster.state("t", gone).leader == -1)
    assert cluster.is_running(BROKER)


def test_a_directory_that_can_not_be_read_is_found_by_a_fetch() -> None:
    cluster = a_cluster()
    gone = index_in(cluster, "/d1")
    fail(cluster, "/d1")

    assert cluster.fetch("t", broker=BROKER, index=gone).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert cluster.log_dirs(BROKER) == {"/d0": True, "/d1": False, "/d2": True}


def test_a_full_directory_of_a_follower_costs_it_its_place_in_sync_and_the_leader_goes_on() -> None:
    cluster = a_cluster(2, leader=102)
    gone = index_in(cluster, "/d2")
    fill(cluster, "/d2")

    # Within less than the time after which the follower would be out of sync.
    assert cluster.produce("t", b"after", index=gone, timeout_ms=2_000) == 0
    cluster.wait_for_isr("t", 102, index=gone)
    for index in {0, 1, 2} - {gone}:
        assert cluster.produce("t", b"after", index=index) == 0
        cluster.wait_for_isr("t", 101, 102, index=index)


def test_what_was_acknowledged_is_there_when_a_full_directory_has_room_again() -> None:
    cluster = a_cluster(2)
    gone = index_in(cluster, "/d1")
    fill(cluster, "/d1")
    cluster.begin_produce("t", b"unsure", index=gone, timeout_ms=500)
    cluster.wait_for_leader("t", 102, index=gone)
    assert cluster.produce("t", b"after", index=gone) == 0

    cluster.network.kill(BROKER)
    disk(cluster).full.clear()
    cluster.start(BROKER)

    cluster.wait_for_isr("t", 101, 102, index=gone)
    assert cluster.values(101, "t", gone) == cluster.values(102, "t", gone)
    assert {b"before", b"after"} <= set(cluster.values(101, "t", gone))
    assert len(registered_dirs(cluster)) == 3


def test_no_topic_is_put_into_a_directory_that_is_full() -> None:
    cluster = a_cluster()
    fill(cluster, "/d1")

    cluster.create("later", partitions=4, factor=1)

    for index in range(4):
        assert not cluster.log(BROKER, "later", index).directory.startswith("/d1/")
        assert cluster.produce("later", b"v", index=index) == 0


@pytest.mark.parametrize("how", [fill, fail])
def test_without_the_directory_of_the_metadata_log_the_node_stops_and_says_why(
    how: Callable[[ReplicaCluster, str], None],
) -> None:
    cluster = a_cluster()
    how(cluster, "/d0")

    # The controller shows every half a second that it lives: the replica of the metadata log has something to write.
    cluster.run_until(lambda: cluster.network.hosts[BROKER].stop is not None)

    stop = cluster.network.hosts[BROKER].stop
    assert stop is not None
    assert stop.exit_code == 1
    assert stop.reason is not None
    assert "/d0" in stop.reason
    assert "\n" not in stop.reason


FAILURE_TIMEOUT_MS = 4_000


def a_broker_that_is_cut_off(release: str) -> ReplicaCluster:
    """Return a cluster of that release whose broker loses a directory while it cannot ask the controller."""
    properties = {} if release == "3.7" else {"log.dir.failure.timeout.ms": str(FAILURE_TIMEOUT_MS)}
    cluster = ReplicaCluster(brokers=0, release=release, properties=properties)
    cluster.add_brokers({BROKER: None}, further_log_dirs=DATA_DIRS, disk=LogDirDisk())
    cluster.create("t", replicas={index: [BROKER] for index in range(3)})
    cluster.cut((1, BROKER))
    fail(cluster, "/d1")
    assert cluster.produce("t", b"lost", index=index_in(cluster, "/d1")) == ErrorCode.KAFKA_STORAGE_ERROR
    return cluster


def test_a_broker_that_can_not_tell_of_a_failed_directory_in_time_stops_in_order_and_says_why() -> None:
    cluster = a_broker_that_is_cut_off("4.3")
    host = cluster.network.hosts[BROKER]

    cluster.run(FAILURE_TIMEOUT_MS - 100)
    assert "shutdown-begins" not in cluster.facts(BROKER)
    cluster.run(200)
    assert "shutdown-begins" in cluster.facts(BROKER)
    cluster.run_until(lambda: host.stop is not None)

    assert host.stop is not None
    named = uuid_text(directory_id(BROKER, 1))
    reason = f"Shutting down because couldn't communicate offline log dir {named} with controllers"
    assert (host.stop.exit_code, host.stop.reason) == (1, reason)
    assert disk(cluster).exists(f"/d2/{CLEAN_SHUTDOWN}")
    assert not disk(cluster).exists(f"/d1/{CLEAN_SHUTDOWN}")


@pytest.mark.parametrize("release", ["4.3", "3.7"])
def test_a_broker_goes_on_that_tells_of_a_failed_directory_in_time_or_has_no_limit(release: str) -> None:
    cluster = a_broker_that_is_cut_off(release)
    cluster.run(1_000 if release == "4.3" else 31_000)

    cluster.network.heal()
    cluster.run_until(lambda: directory_id(BROKER, 1) not in registered_dirs(cluster))
    cluster.run(2 * FAILURE_TIMEOUT_MS)

    assert cluster.is_running(BROKER)
    assert "shutdown-begins" not in cluster.facts(BROKER)


@pytest.mark.parametrize(("broken", "left"), [("/d1", "/d2"), ("/d2", "/d1")])
def test_of_two_directories_between_which_a_replica_moves_only_the_broken_one_goes(
    broken: str, left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("falkirk.node.broker.replication.future_replicas.PIECE_BYTES", 1)
    cluster = a_cluster()
    moved = index_in(cluster, "/d1")
    for _ in range(20):
        assert cluster.produce("t", b"v", index=moved) == 0
    key = TopicPartition("t", moved)
    assert exhaust(cluster.replicas(BROKER).alter_replica_log_dirs({key: "/d2"})) == {key: ErrorCode.NONE}

    fail(cluster, broken)
    cluster.run_until(lambda: not cluster.log_dirs(BROKER)[broken])
    cluster.run(2000)

    assert cluster.log_dirs(BROKER) == {"/d0": True, broken: False, left: True}
    error = cluster.produce("t", b"after", index=moved, broker=BROKER)
    assert error == (ErrorCode.KAFKA_STORAGE_ERROR if broken == "/d1" else ErrorCode.NONE)


# --- What a broker finds when it starts


def stop_reason(cluster: ReplicaCluster) -> str:
    """Start the broker, and give why it stops."""
    host = cluster.network.hosts[BROKER]
    cluster.network.start(BROKER)
    cluster.run_until(lambda: host.stop is not None)
    assert host.stop is not None
    assert host.stop.exit_code == 1
    assert host.stop.reason is not None
    return host.stop.reason


def test_two_logs_of_one_partition_stop_a_broker_that_does_not_know_which_is_right() -> None:
    cluster = a_cluster()
    index = index_in(cluster, "/d1")
    cluster.run(2000)
    cluster.network.kill(BROKER)
    # As if someone had put the directories back from two backups, under ids that the controller does not know.
    for name in disk(cluster).list(f"/d1/t-{index}"):
        disk(cluster).make_directory(f"/d0/t-{index}")
        disk(cluster).write(f"/d0/t-{index}/{name}", [disk(cluster).read(f"/d1/t-{index}/{name}")])
        disk(cluster).make_directory(f"/d2/t-{index}")
        disk(cluster).write(f"/d2/t-{index}/{name}", [disk(cluster).read(f"/d1/t-{index}/{name}")])
    disk(cluster).rename(f"/d1/t-{index}", "/d1/elsewhere")

    reason = stop_reason(cluster)

    assert reason.startswith(f"Duplicate log directories for t-{index} are found in both ")
    assert f"/d0/t-{index}" in reason
    assert f"/d2/t-{index}" in reason
    assert "\n" not in reason


@pytest.mark.parametrize("name", ["partition.metadata", "leader-epoch-checkpoint"])
def test_a_small_file_of_a_partition_that_is_damaged_stops_the_broker_and_is_named(name: str) -> None:
    cluster = a_cluster()
    cluster.network.kill(BROKER)
    (partition,) = (each for each in disk(cluster).list("/d1") if each.startswith("t-"))
    disk(cluster).write(f"/d1/{partition}/{name}", [b"nonsense\n"])

    reason = stop_reason(cluster)

    assert reason.startswith(f"/d1/{partition}/{name}: ")
    assert "\n" not in reason
