"""Directories that falkirk formats, and metadata logs that it writes, against real Kafka."""

import shutil
from pathlib import Path

import pytest
from falkirk_program import falkirk
from formatted_files import masked_files
from kafka_cluster import Clusters, KafkaCluster
from kafka_java import run_main

from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.raft.output import ElectionState
from falkirk.storage.level_changes import level_of
from falkirk.storage.metadata_log import MetadataLog, MetadataLogRecovery, MetadataLogSettings
from falkirk.storage.partition_directory import METADATA_DIRECTORY
from falkirk.storage.posix_disk import PosixDisk
from falkirk.storage.snapshot_file import parse_snapshot_name

pytestmark = pytest.mark.interop

CLUSTER_ID = "XtA9bWsOSbmDd2j0xdCbJA"
DIRECTORY_IDS = ("JEXY6aqzQY-32P5TStzaFg", "MvDxzVmcRsaTz33bUuRU6A", "07R5amHmR32VDA6jHkGbTA", "Bp56NR9qQSJcbT4yl__fiA")
SCRAM = ["--add-scram", "SCRAM-SHA-256=[name=alice,password=alice-secret,salt=MTIzNDU2Nzg5MGFi,iterations=8192]"]
HOSTS = ("[::1]", "127.0.0.1", "c.example", "")
# In an order that a hash table of Java changes, twice.
VOTERS = ",".join(
    f"{node_id}@{host}:9093:{directory_id}"
    for node_id, host, directory_id in zip((17, 1, 9, 8), HOSTS, DIRECTORY_IDS, strict=True)
)
STATIC_RELEASES = ["3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0"]


def properties(home: Path, *, dynamic: bool) -> Path:
    quorum = "controller.quorum.bootstrap.servers=127.0.0.1:9093"
    lines = [
        "process.roles=broker,controller",
        "node.id=1",
        "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
        "controller.listener.names=CONTROLLER",
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        f"log.dirs={home}/d0,{home}/d1",
        quorum if dynamic else "controller.quorum.voters=1@127.0.0.1:9093",
    ]
    home.mkdir()
    path = home / "server.properties"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def formatted(home: Path) -> dict[str, str]:
    files = {path.relative_to(home).as_posix(): path for path in home.rglob("*") if path.is_file()}
    del files["server.properties"]
    return masked_files({name: path.read_bytes() for name, path in sorted(files.items())})


def check_equal_files(tmp_path: Path, release: str, options: list[str], *, dynamic: bool) -> dict[str, str]:
    for who in ("kafka", "falkirk"):
        config = properties(tmp_path / who, dynamic=dynamic)
        words = ["format", "--cluster-id", CLUSTER_ID, "--config", str(config), *options]
        if who == "kafka":
            run_main(release, "kafka.tools.StorageTool", words)
        else:
            ended = falkirk("storage", *words, "--release", release)
            assert (ended.status, ended.stderr) == (0, "")
    files = formatted(tmp_path / "falkirk")
    assert files == formatted(tmp_path / "kafka")
    return files


@pytest.mark.parametrize("release", STATIC_RELEASES)
def test_a_static_quorum_is_formatted_file_by_file_as_the_releases_tool_does(tmp_path, release):
    files = check_equal_files(tmp_path, release, ["--release-version", "3.7", *SCRAM], dynamic=False)
    assert ("d0/bootstrap.checkpoint" in files) == (release != "4.4.0")


@pytest.mark.parametrize("release", STATIC_RELEASES[1:])
def test_a_dynamic_quorum_is_formatted_file_by_file_as_the_releases_tool_does(tmp_path, release):
    files = check_equal_files(tmp_path, release, ["--initial-controllers", VOTERS, *SCRAM], dynamic=True)
    assert f"d0/{METADATA_DIRECTORY}/00000000000000000000-0000000000.checkpoint" in files


def test_a_real_node_boots_from_what_falkirk_formatted_and_from_a_metadata_log_that_falkirk_wrote(clusters):
    boot_twice(clusters, "4.3.1")


@pytest.mark.full
@pytest.mark.parametrize("release", STATIC_RELEASES)
def test_nodes_of_all_releases_boot_so(clusters, release):
    boot_twice(clusters, release)


def boot_twice(clusters: Clusters, release: str) -> None:
    settings = {"metadata.log.max.record.bytes.between.snapshots": "100"}
    cluster = clusters.new(release, dynamic=release != "3.7.2", settings=settings)
    format_by_falkirk(cluster)
    with cluster.running():
        pass
    [log_dir] = cluster.layouts[0].log_dirs
    before, end_offset = rewrite_metadata_log(log_dir)
    with cluster.running():
        pass
    after = MetadataLog(PosixDisk(), str(log_dir))
    assert after.recovery == MetadataLogRecovery()
    assert after.end_offset > end_offset
    assert after.last_epoch > before.last_epoch
    kept = after.start_offset
    assert kept < end_offset
    assert [bytes(batch.data) for batch in after.batches(kept, end_offset)] == [
        bytes(batch.data) for batch in before.batches(kept, end_offset)
    ]


def format_by_falkirk(cluster: KafkaCluster) -> None:
    [node] = cluster.nodes.values()
    node.write_properties()
    words = ["--cluster-id", cluster.cluster_id, "--config", node.properties_file, "--release", cluster.release]
    voters = ["--standalone"] if cluster.dynamic else []
    ended = falkirk("storage", "format", *words, *voters)
    assert (ended.status, ended.stderr) == (0, "")


def rewrite_metadata_log(log_dir: Path) -> tuple[MetadataLog, int]:
    """Rewrite a stopped node's metadata partition with a snapshot and many segments; return the old log."""
    kept = log_dir.with_name("before")
    kept.mkdir()
    shutil.move(log_dir / METADATA_DIRECTORY, kept / METADATA_DIRECTORY)
    old = MetadataLog(PosixDisk(), str(kept))
    assert old.recovery == MetadataLogRecovery()
    new = MetadataLog(PosixDisk(), str(log_dir), MetadataLogSettings(segment_bytes=150, tail_bytes=500))
    if (first := old.earliest_snapshot) == OffsetAndEpoch(0, 0):
        new.write_snapshot_chunk(first, 0, old.read_snapshot(first, 0, 1 << 20).data)
        new.install_snapshot(first)
    for batch in old.batches(0, old.end_offset):
        new.append(bytes(batch.data))
    names = [parse_snapshot_name(path.name) for path in (kept / METADATA_DIRECTORY).glob("*.checkpoint")]
    ids = [OffsetAndEpoch(name.id.end_offset, name.id.epoch) for name in names if name is not None]
    snapshot = min(known for known in ids if known.offset > 0)
    contents = old.load_snapshot(snapshot)
    creation = new.begin_snapshot(
        snapshot,
        [value for batch in contents.data_batches for value in batch.values()],
        level=level_of(contents),
        kraft_version=contents.kraft_version or 0,
        voters=contents.voters,
        last_contained_log_timestamp=contents.last_contained_log_timestamp,
        clock=lambda: contents.last_contained_log_timestamp,
    )
    assert creation is not None
    while not creation.step():
        pass
    new.delete_before(snapshot)
    assert new.start_offset == snapshot.offset
    state = old.quorum_state
    assert state is not None
    new.write_election_state(
        ElectionState(
            epoch=state.leader_epoch,
            leader_id=state.leader_id,
            kraft_version=state.data_version,
            voters=state.current_voters or (),
        )
    )
    assert len(list((log_dir / METADATA_DIRECTORY).glob("*.log"))) > 1
    return old, old.end_offset
