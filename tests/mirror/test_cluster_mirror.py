"""A running cluster of ours, fetched, gives the rows that its files give."""

from __future__ import annotations

from pathlib import Path

import pytest
from coordinator_logs import OFFSETS_TOPIC
from ingested_rows import ingested_rows
from recorded_groups import group_records, produce
from running_cluster import Running, up

from falkirk.client.config import parse_servers
from falkirk.logdir.cluster import read_cluster
from falkirk.logdir.downgrade import downgrade
from falkirk.logdir.errors import LiveDirectoryError
from falkirk.logdir.group_records import GroupPlan
from falkirk.logdir.locate import find_nodes
from falkirk.logdir.plan import make_plan
from falkirk.logdir.target import parse_target
from falkirk.mirror.cluster_mirror import ClusterMirror, LiveSource
from falkirk.mirror.errors import MirrorError
from falkirk.protocol.messages import CreateTopicsRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.storage.batch_borders import iter_borders
from falkirk.storage.posix_disk import PosixDisk
from falkirk.storage.quorum_state import QuorumState, parse_quorum_state

PARTITIONS = 3


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A node with topics, and with the offsets topic of a real cluster."""
    data = tmp_path_factory.mktemp("live") / "data"
    with up("--nodes", "1", "--single-process", "--release", "4.3", "--data", data) as cluster:
        created = cluster.ask(
            CreateTopicsRequest([CreatableTopic(OFFSETS_TOPIC, PARTITIONS, 1), CreatableTopic("orders", 2, 1)])
        )
        assert [topic.error_code for topic in created.topics] == [0, 0]
        produce(cluster, group_records(PARTITIONS))
        yield cluster


def source_of(cluster: Running) -> LiveSource:
    return LiveSource(brokers=parse_servers(cluster.document["bootstrap_servers"]))


def own_files(cluster: Running) -> Path:
    return Path(cluster.document["data"]) / "node-1" / "data"


def metadata_end(directory: Path) -> int:
    from falkirk.mirror.partition_mirror import PartitionMirror

    return PartitionMirror(directory / "__cluster_metadata-0").end_offset


@pytest.mark.slow
def test_what_is_fetched_is_what_stands_in_the_nodes_files_byte_by_byte(running, tmp_path):
    directory = ClusterMirror(tmp_path, source_of(running)).refresh()

    partitions = [f"{OFFSETS_TOPIC}-{index}" for index in range(PARTITIONS)]
    assert sorted(path.name for path in directory.iterdir() if path.is_dir()) == ["__cluster_metadata-0", *partitions]
    for name in ("__cluster_metadata-0", *partitions):
        [fetched] = (directory / name).glob("*.log")
        data = fetched.read_bytes()
        own = (own_files(running) / name / fetched.name).read_bytes()
        assert len(data) > 100
        assert own.startswith(data)
        assert name == "__cluster_metadata-0" or own == data


@pytest.mark.slow
def test_what_is_fetched_makes_the_rows_that_the_nodes_files_make(running, tmp_path):
    directory = ClusterMirror(tmp_path / "live", source_of(running)).refresh()
    as_of = metadata_end(directory)

    live = ingested_rows([directory], tmp_path / "from-live", as_of=as_of)
    files = ingested_rows([own_files(running)], tmp_path / "from-files", as_of=as_of)

    assert live["groups"]
    assert live["committed_offsets"]
    assert [row for row in live["topics"] if '"orders"' in row]
    # The node goes on writing; what is behind `as_of` stands in its files alone.
    own_records = [row for row in files["metadata_records"] if row in set(live["metadata_records"])]
    assert live == files | {"metadata_records": own_records}


@pytest.mark.slow
def test_the_next_time_only_what_is_new_is_fetched_and_a_new_process_goes_on(running, tmp_path):
    mirror = ClusterMirror(tmp_path, source_of(running))
    directory = mirror.refresh()
    before = {path: path.stat() for path in directory.rglob("*.log")}
    created = running.ask(CreateTopicsRequest([CreatableTopic(f"new-{tmp_path.name}", 1, 1)]))
    assert created.topics[0].error_code == 0

    for again in (mirror, ClusterMirror(tmp_path, source_of(running))):
        assert again.refresh() == directory
        for path, was in before.items():
            now = path.stat()
            is_metadata = path.parent.name == "__cluster_metadata-0"
            assert now.st_size > was.st_size if is_metadata else now.st_size == was.st_size
        [segment] = (directory / "__cluster_metadata-0").glob("*.log")
        borders = [*iter_borders(PosixDisk(), str(segment), 0, segment.stat().st_size)]
        assert borders[-1] == segment.stat().st_size
    assert f'"new-{tmp_path.name}"' in "".join(ingested_rows([directory], tmp_path / "w")["topics"])


@pytest.mark.slow
def test_controllers_alone_give_the_metadata_alone(running, tmp_path):
    controllers = parse_servers(running.document["controllers"])
    directory = ClusterMirror(tmp_path, LiveSource(controllers=controllers)).refresh()
    assert [path.name for path in directory.iterdir() if path.is_dir()] == ["__cluster_metadata-0"]


@pytest.mark.slow
def test_brokers_and_controllers_of_two_clusters_are_refused(running, tmp_path):
    with up("--nodes", "1", "--single-process") as other:
        source = LiveSource(
            brokers=parse_servers(running.document["bootstrap_servers"]),
            controllers=parse_servers(other.document["controllers"]),
        )
        with pytest.raises(
            MirrorError, match=f"{other.document['cluster_id']}, the brokers of {running.document['cluster_id']}"
        ):
            ClusterMirror(tmp_path, source).refresh()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_what_was_fetched_of_one_of_three_voters_counts_as_committed(tmp_path):
    with up("--nodes", "3", "--single-process", "--release", "3.9") as cluster:
        directory = ClusterMirror(tmp_path / "live", source_of(cluster)).refresh()
    rows = ingested_rows([directory], tmp_path / "w")
    assert '"has_majority": true' in rows["clusters"][0]
    assert "problems" not in rows
    read = read_cluster(PosixDisk(), find_nodes([directory]))
    assert read.voters.ids == {1, 2, 3}
    made = make_plan(read, parse_target("3.7"), GroupPlan())
    assert made.warnings == made.blockers == ()
    with pytest.raises(LiveDirectoryError, match="was fetched from a running cluster"):
        downgrade(PosixDisk(), made, tmp_path / "out")


@pytest.mark.slow
def test_after_a_change_of_the_leader_it_goes_on_with_the_next_one(tmp_path):
    with up("--nodes", "3", "--release", "4.3", "--data", tmp_path / "data") as cluster:
        mirror = ClusterMirror(tmp_path / "live", source_of(cluster))
        directory = mirror.refresh()
        first, before = quorum_of(directory), metadata_log(directory)
        cluster.kill(first.leader_id)
        assert cluster.ask(CreateTopicsRequest([CreatableTopic("new", 1, 1)])).topics[0].error_code == 0
        assert mirror.refresh() == directory
        next_one, after = quorum_of(directory), metadata_log(directory)
        # An orderly end takes the last of three voters its whole timeout.
        for node_id in {1, 2, 3} - {first.leader_id}:
            cluster.kill(node_id)

    assert next_one.leader_id != first.leader_id
    assert next_one.leader_epoch > first.leader_epoch
    assert after.startswith(before)
    assert metadata_log(tmp_path / "data" / f"node-{next_one.leader_id}" / "data").startswith(after)
    assert '"new"' in "".join(ingested_rows([directory], tmp_path / "w")["topics"])


def quorum_of(directory: Path) -> QuorumState:
    file = directory / "__cluster_metadata-0" / "quorum-state"
    return parse_quorum_state(file.read_bytes(), file=str(file))


def metadata_log(directory: Path) -> bytes:
    [segment] = (directory / "__cluster_metadata-0").glob("*.log")
    return segment.read_bytes()
