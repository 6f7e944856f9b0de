"""A metadata log of a preview release, without a record of metadata.version: as real nodes take it (KIP-778)."""

import pytest
from falkirk_node import OurCluster
from kafka_cluster import Clusters, KafkaCluster
from kafka_node import KafkaNodeError
from kafka_tools import FEATURES, run_tools

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import ConfigRecord
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.protocol.record import Record

pytestmark = pytest.mark.interop


def preview(cluster: KafkaCluster) -> KafkaCluster:
    """Format a cluster of one node, and leave a log that says something, but no level."""
    cluster.format()
    [log_dir] = cluster.nodes[1].layout.log_dirs
    for file in log_dir.glob("*.checkpoint"):
        file.unlink()
    directory = log_dir / "__cluster_metadata-0"
    directory.mkdir(exist_ok=True)
    for file in directory.glob("*.checkpoint"):
        file.unlink()
    value = encode_metadata_record(ConfigRecord(4, "1", "log.cleaner.threads", "1"), 0)
    data = build_batch([Record(0, 1000, None, value)], base_offset=0, leader_epoch=1)
    (directory / "00000000000000000000.log").write_bytes(data)
    return cluster


def levels(cluster: KafkaCluster) -> tuple[int, str]:
    """Return the exit status of `kafka-features describe`, and its line of metadata.version without the epoch."""
    [ended] = run_tools(
        [FEATURES, "--bootstrap-server", cluster.bootstrap_servers, "describe"], release=cluster.release
    )
    lines = [line.rpartition("Epoch")[0].split() for line in ended.output.splitlines() if "metadata.version" in line]
    return ended.status, " ".join(lines[0]) if lines else ended.output


@pytest.mark.parametrize("release", ["3.7.2", pytest.param("3.9.1", marks=pytest.mark.full)])
def test_a_log_without_a_level_is_at_level_1_as_on_real_nodes(clusters: Clusters, release: str, tmp_path) -> None:
    found = {}
    for name, cluster in (
        ("kafka", clusters.new(release)),
        ("ours", clusters.adopt(OurCluster.new(release, tmp_path))),
    ):
        with preview(cluster).running():
            described = levels(cluster)
            [raised] = run_tools(
                [FEATURES, "--bootstrap-server", cluster.bootstrap_servers, "upgrade", "--metadata", "3.7-IV4"],
                release=release,
            )
            found[name] = described, raised.status, raised.output, levels(cluster)
    assert found["ours"] == found["kafka"]
    assert "FinalizedVersionLevel: 3.0-IV1" in found["kafka"][0][1]


@pytest.mark.full
def test_a_release_that_does_not_know_level_1_ends_as_real_4_3_does(clusters: Clusters, tmp_path) -> None:
    for cluster in (clusters.new("4.3.1"), clusters.adopt(OurCluster.new("4.3.1", tmp_path))):
        with pytest.raises(KafkaNodeError, match="ended while starting, exit status 1"):
            preview(cluster).start()
