"""The rescue of docs/runbooks/rescue.md: older binaries were started on directories whose level they do not know."""

import re

import pytest
from falkirk_program import falkirk, log_dirs
from kafka_cluster import Clusters
from kafka_java import seed
from kafka_node import KafkaNodeError
from kafka_tools import FEATURES, TOPICS, outputs
from topic_state import all_topics

pytestmark = pytest.mark.interop


def test_binaries_that_were_started_too_early_are_rescued_both_ways(clusters: Clusters, tmp_path):
    newer = clusters.new("4.3.1", dynamic=True)
    newer.format()
    port = newer.layouts[0].broker_port
    with newer.running():
        assert seed(newer.bootstrap_servers, "--steps", "topics,configs,data,classic-groups")["left_out"] == {}
        before = set(all_topics(port))

    # Too early: the level is still 4.3's. A cluster that was formatted at it says so in bootstrap.checkpoint, one that
    # was upgraded to it in the log alone.
    directories = {1: newer.layouts[0].log_dirs}
    texts = (r"No MetadataVersion with feature level 30", r"only supports versions \d+-21|Failed to deserialize record")
    for number, text in enumerate(texts):
        older = clusters.adopt(newer.moved_to(directories, "3.9.1", home=tmp_path / f"too-early-{number}"))
        with pytest.raises(KafkaNodeError):
            older.start()
        log = older.nodes[1].log_text()
        older.kill()
        assert re.search(text, log), log[-3000:]
        for path in newer.layouts[0].log_dirs:
            (path / "bootstrap.checkpoint").unlink(missing_ok=True)

    # Back: the newer binaries start as if nothing had been.
    with newer.running():
        assert set(all_topics(port)) == before

    # Forward: the stopped directories go down, and the older binaries start.
    done = falkirk("logdir", "downgrade", *log_dirs(newer), "--to", "3.9", "--in-place", "--unsafe")
    assert done.status == 0, done
    older = clusters.adopt(newer.moved_to(directories, "3.9.1", home=tmp_path / "rescued"))
    with older.running():
        assert set(all_topics(port)) == before


@pytest.mark.full
def test_a_cluster_that_was_upgraded_and_has_no_snapshot_says_what_strimzis_issue_has_and_is_rescued(
    clusters: Clusters, tmp_path
):
    newer = clusters.new("4.3.1", settings={"metadata.log.max.record.bytes.between.snapshots": "100000000"})
    newer.format(release_version="3.9-IV0")
    port = newer.layouts[0].broker_port
    servers = ("--bootstrap-server", newer.bootstrap_servers)
    with newer.running():
        outputs(
            [TOPICS, *servers, "--create", "--topic", "orders", "--partitions", "2"],
            [FEATURES, *servers, "upgrade", "--metadata", "4.3-IV0"],
        )

    # Too early: bootstrap.checkpoint has the old level, and the log alone the new one.
    directories = {1: newer.layouts[0].log_dirs}
    older = clusters.adopt(newer.moved_to(directories, "3.9.1", home=tmp_path / "too-early"))
    with pytest.raises(KafkaNodeError):
        older.start()
    log = older.nodes[1].log_text()
    older.kill()
    assert re.search(r"this controller only supports versions \d+-21", log), log[-3000:]

    with newer.running():
        assert set(all_topics(port)) == {"orders"}

    done = falkirk("logdir", "downgrade", *log_dirs(newer), "--to", "3.9", "--in-place", "--unsafe")
    assert done.status == 0, done
    older = clusters.adopt(newer.moved_to(directories, "3.9.1", home=tmp_path / "rescued"))
    with older.running():
        assert set(all_topics(port)) == {"orders"}
