"""A stopped 4.4.0 node with groups of every type goes down to real 4.0.0.

There the loader fails on share group records of another layout, and would serve no group of their partition.
"""

from pathlib import Path

import pytest
from falkirk_program import downgraded
from kafka_answers import differences
from kafka_cluster import Clusters
from kafka_java import load_snapshot, seed
from kafka_ledger import expected_answers, expected_image, image_lines
from kafka_state import BOOT_USER, ask, newest_checkpoint

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.xdist_group("kafka-1")]


def test_400_serves_every_offset_of_a_440_cluster_with_share_and_streams_groups(
    clusters: Clusters, tmp_path: Path
) -> None:
    source = clusters.new("4.4.0", log_dirs=2, dynamic=True)
    source.format(scram=[BOOT_USER])
    with source.running():
        assert seed(source.bootstrap_servers)["left_out"] == {}
        before = ask(source)
    target, ledger = downgraded(source, "4.0.0", tmp_path)
    removed = {loss["key_fields"]["partition"] for loss in ledger["losses"] if loss["kind"] == "group_record"}
    shared = {group["partition"] for group in ledger["groups"] if group["type"] == "share"}
    assert removed
    assert removed <= shared
    # A partition that failed to load would have taken offsets of others with it.
    assert any(group["committed_offsets"] for group in ledger["groups"] if group["partition"] in removed)
    image = image_lines(load_snapshot(newest_checkpoint(target), "4.0.0"))
    with clusters.adopt(target).running():
        after = ask(target, like=before)
        log = target.nodes[1].log_text()
    kafkas = load_snapshot(newest_checkpoint(source), "4.4.0", "--log", "--at", "4.0-IV3")
    assert image == expected_image(kafkas, ledger)
    assert differences(expected_answers(before, ledger), after) == []
    assert set(after["groups"]["coordinators"].values()) == {"loaded"}
    served = {name: group["committed"] for name, group in before["groups"]["groups"].items() if group.get("committed")}
    assert len(served) >= 8
    assert {name: after["groups"]["groups"][name]["committed"] for name in served} == served
    assert log.count("Finished loading of metadata from __consumer_offsets-") == 4
    assert [line for line in log.splitlines() if " ERROR " in line and "oordinator" in line] == []
