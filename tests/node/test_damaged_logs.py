"""Logs that were damaged while a broker was down: nothing is cut off or set aside in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from node_network import directory_id
from replica_cluster import ReplicaCluster

from falkirk.protocol.uuid import uuid_text

if TYPE_CHECKING:
    from falkirk.node.effects import Fact

BROKER = 101


def a_cluster(brokers: int = 1) -> ReplicaCluster:
    cluster = ReplicaCluster(brokers=brokers)
    cluster.create("t", replicas={0: list(cluster.brokers)})
    for at in range(5):
        assert cluster.produce("t", b"%d" % at) == 0
    return cluster


def fact(cluster: ReplicaCluster, event: str, broker: int = BROKER) -> Fact:
    (found,) = (fact for fact in cluster.network.hosts[broker].facts if fact.event == event)
    return found


def start_after(cluster: ReplicaCluster, path: str, change, broker: int = BROKER) -> None:
    """Kill a broker, change a file of it, and start it again."""
    cluster.network.kill(broker)
    disk = cluster.network.hosts[broker].disk
    data = bytearray(disk.read(path))
    disk.write(path, [bytes(change(data))])
    cluster.network.hosts[broker].facts.clear()
    cluster.start(broker)


def flip_in_the_second_batch(data: bytearray) -> bytearray:
    data[len(data) // 5 * 2 - 2] ^= 1
    return data


def test_what_is_cut_off_in_the_middle_of_a_log_is_named_counted_and_kept() -> None:
    cluster = a_cluster()
    path = f"{cluster.log(BROKER, 't').directory}/{0:020d}.log"
    size = cluster.log(BROKER, "t").size

    start_after(cluster, path, flip_in_the_second_batch)

    assert cluster.values(BROKER, "t") == [b"0"]
    cut = fact(cluster, "log-cut-off")
    assert cut.level == "error"
    assert cut.fields == {
        "partition": "t-0",
        "file": path,
        "byte": size // 5,
        "reason": cut.fields["reason"],
        "log_end_offset": 1,
        "cut_bytes": size // 5 * 4,
        "valid_batches": 3,
        "valid_records": 3,
        "last_valid_offset": 4,
        "kept": (f"{path}.{size // 5}.cut",),
        "in_sync_elsewhere": [],
    }
    assert "CRC" in cut.fields["reason"]
    assert cluster.network.hosts[BROKER].disk.size(f"{path}.{size // 5}.cut") == size // 5 * 4


def test_a_replica_that_was_cut_is_mended_from_the_others() -> None:
    cluster = a_cluster(2)
    cluster.wait_for_isr("t", 101, 102)
    path = f"{cluster.log(BROKER, 't').directory}/{0:020d}.log"

    start_after(cluster, path, flip_in_the_second_batch)

    cut = fact(cluster, "log-cut-off")
    assert (cut.level, cut.fields["in_sync_elsewhere"]) == ("warning", [102])
    cluster.wait_for_isr("t", 101, 102)
    assert cluster.values(101, "t") == cluster.values(102, "t") == [b"0", b"1", b"2", b"3", b"4"]


def test_an_unfinished_write_is_named_and_not_kept() -> None:
    cluster = a_cluster()
    path = f"{cluster.log(BROKER, 't').directory}/{0:020d}.log"

    start_after(cluster, path, lambda data: data[:-3])

    cut = fact(cluster, "log-cut-off")
    assert (cut.level, cut.fields["kept"], cut.fields["valid_batches"]) == ("warning", (), 0)


def test_a_log_whose_topic_id_is_not_the_topics_is_named_as_a_stray() -> None:
    cluster = a_cluster()
    log = cluster.log(BROKER, "t")
    topic_id, other = uuid_text(log.topic_id), uuid_text(b"\7" * 16)

    start_after(
        cluster, f"{log.directory}/partition.metadata", lambda data: data.replace(topic_id.encode(), other.encode())
    )

    stray = fact(cluster, "stray-log")
    assert (stray.level, stray.fields["log"], stray.fields["topic_id"]) == ("error", log.directory, other)
    assert stray.fields["reason"] == f"the topic has the id {topic_id}"
    assert cluster.network.hosts[BROKER].disk.exists(stray.fields["renamed_to"])


def test_a_directory_with_another_id_than_the_metadata_has_is_named_and_its_partitions_get_a_leader() -> None:
    cluster = a_cluster()
    old, new = uuid_text(directory_id(BROKER)), uuid_text(b"\7" * 16)

    start_after(cluster, "/d0/meta.properties", lambda data: data.replace(old.encode(), new.encode()))

    fields = fact(cluster, "directory-id-differs").fields
    assert (fields["log_dir"], fields["directory_id"], fields["directory_id_in_metadata"]) == ("/d0", new, old)
    assert (fields["partitions"], fields["first"]) == (1, "t-0")
    cluster.wait_for_leader("t", BROKER)
