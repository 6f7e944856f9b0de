"""The harness itself: a real 4.3.1 node is formatted, started, seeded and asked, and answers can differ."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ingested_rows import ingested_rows
from kafka_answers import differences, facts
from kafka_cluster import Clusters, KafkaCluster
from kafka_java import KafkaProgramError, answers, load_snapshot, seed
from kafka_node import KafkaNodeError

from falkirk.client.config import parse_servers
from falkirk.mirror.cluster_mirror import ClusterMirror, LiveSource

pytestmark = pytest.mark.interop
RELEASE = "4.3.1"
BOOT_USER = "SCRAM-SHA-512=[name=boot,password=secret-boot]"


@pytest.fixture(scope="module")
def seeded(module_clusters: Clusters) -> KafkaCluster:
    """A running node with two log dirs and everything that can be seeded."""
    cluster = module_clusters.new(RELEASE, log_dirs=2, dynamic=True)
    cluster.format(scram=[BOOT_USER])
    cluster.start()
    made = seed(cluster.bootstrap_servers)
    assert made["left_out"] == {}
    return cluster


def ask(cluster: KafkaCluster) -> dict[str, Any]:
    return answers(cluster.bootstrap_servers, "--scram", cluster.scram_servers)


@pytest.mark.full
def test_answers_are_equal_after_a_clean_restart_and_tell_every_kind_of_state(seeded: KafkaCluster) -> None:
    before = ask(seeded)
    seeded.stop()
    seeded.start()
    after = ask(seeded)
    assert differences(before, after) == []
    assert facts(before) > 600
    assert before["features"]["metadata.version"] == 30
    assert {acl.split()[0] for acl in before["acls"]} == {
        "CLUSTER",
        "DELEGATION_TOKEN",
        "GROUP",
        "TOPIC",
        "TRANSACTIONAL_ID",
        "USER",
    }
    assert {name.partition(":")[0] for name in before["configs"]} == {"broker", "client_metrics", "group", "topic"}
    groups = before["groups"]["groups"].values()
    assert {(group["type"], group["state"]) for group in groups} == {
        (kind, state) for kind in ("Classic", "Consumer", "Share", "Streams") for state in ("Empty", "Stable")
    }
    assert set(before["groups"]["coordinators"].values()) == {"loaded"}
    assert before["scram"]["boot"]["SCRAM-SHA-512"]["login"] is True
    assert any(
        partition["read_committed"]["count"] < partition["read_uncommitted"]["count"]
        for partition in before["messages"].values()
    )
    assert any(partition["earliest"] > 0 for partition in before["offsets"].values())


def test_what_is_fetched_of_a_running_node_makes_the_rows_that_its_files_make(
    seeded: KafkaCluster, tmp_path: Path
) -> None:
    """The fleet pipeline's live source, with everything that can be seeded."""
    live = ClusterMirror(tmp_path / "live", LiveSource(brokers=parse_servers(seeded.bootstrap_servers))).refresh()
    copies = [tmp_path / "files" / path.name for path in seeded.layouts[0].log_dirs]
    for path, copy in zip(seeded.layouts[0].log_dirs, copies, strict=True):
        shutil.copytree(path, copy)
    # The node has gone on writing, and its metadata log has records before its start, which nobody is given.
    sizes = {}
    for fetched in live.rglob("*.log"):
        data = fetched.read_bytes()
        [own] = [copy / fetched.parent.name for copy in copies if (copy / fetched.parent.name).exists()]
        segments = sorted(own.glob("*.log"))
        assert data in b"".join(segment.read_bytes() for segment in segments)
        for segment in segments:
            segment.unlink()
        (own / fetched.name).write_bytes(data)
        sizes[own.name] = len(data)

    rows = ingested_rows([live], tmp_path / "from-live")
    assert rows == ingested_rows(copies, tmp_path / "from-files")

    # A snapshot that the node has just written may hold most of it.
    assert sizes["__cluster_metadata-0"] > 0
    assert sum(name.startswith("__consumer_offsets-") for name in sizes) > 1
    for table in ("groups", "committed_offsets", "transactions", "acls", "scram_credentials", "partitions"):
        assert rows[table], table


@pytest.mark.full
def test_a_change_shows_as_differences_of_its_kind_alone(seeded: KafkaCluster) -> None:
    before = ask(seeded)
    seed(seeded.bootstrap_servers, "--seed", "2", "--steps", "scram")
    found = differences(before, ask(seeded))
    assert {difference.path[0] for difference in found} == {"scram"}
    assert len(found) == 3


def test_kafka_loads_its_own_snapshot_and_an_older_release_says_why_it_cannot(
    seeded: KafkaCluster, newest_checkpoint: Callable[[KafkaCluster], Path], tmp_path: Path
) -> None:
    checkpoint = newest_checkpoint(seeded)
    lines = load_snapshot(checkpoint, RELEASE)
    assert {line["control"] for line in lines if "control" in line} == {
        "SnapshotHeaderRecord",
        "KRaftVersionRecord",
        "VotersRecord",
        "SnapshotFooterRecord",
    }
    levels = {line["data"]["name"]: line["data"]["featureLevel"] for line in lines if is_record(line, "FEATURE_LEVEL")}
    assert levels["metadata.version"] == 30
    lowered = load_snapshot(checkpoint, RELEASE, "--at", "4.0-IV0")
    assert [line["data"]["featureLevel"] for line in lowered if is_metadata_version(line)] == [22]
    with pytest.raises(KafkaProgramError, match="UnsupportedVersion"):
        load_snapshot(checkpoint, "3.9.1")
    damaged = tmp_path / checkpoint.name
    damaged.write_bytes(checkpoint.read_bytes()[:-9] + b"\0" * 9)
    with pytest.raises(KafkaProgramError, match="CorruptRecordException"):
        load_snapshot(damaged, RELEASE)


def is_record(line: dict[str, Any], kind: str) -> bool:
    return bool(line.get("type") == f"{kind}_RECORD")


def is_metadata_version(line: dict[str, Any]) -> bool:
    return is_record(line, "FEATURE_LEVEL") and bool(line["data"]["name"] == "metadata.version")


def test_a_node_that_cannot_start_shows_the_end_of_its_log(clusters: Clusters) -> None:
    cluster = clusters.new(RELEASE)
    with pytest.raises(KafkaNodeError, match=r"(?s)ended while starting, exit status 1.*No readable meta.properties"):
        cluster.start()
    assert cluster.nodes[1].pid is None
