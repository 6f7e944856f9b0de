"""A stopped 4.4.0 node with groups of every type goes down to real 4.0.0, and back.

4.0.0's loader fails on share group records of another layout, and then serves no group of their partition.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from falkirk_program import downgraded, log_dirs, logdir
from kafka_answers import differences
from kafka_cluster import COMBINED, Clusters, KafkaCluster
from kafka_java import answers, load_snapshot, seed
from kafka_ledger import expected_answers, expected_image, image_lines
from kafka_scenarios import await_leadership
from kafka_state import BOOT_USER, ask, newest_checkpoint

pytestmark = pytest.mark.interop
PARTITIONS = 4


@dataclass(frozen=True, kw_only=True)
class Lowered:
    """The source and its result at 4.0.0, both stopped, and their answers; the result was written to at the end."""

    source: KafkaCluster
    before: dict[str, Any]
    target: KafkaCluster
    out: Path
    ledger: dict[str, Any]
    image: list[str]
    after: dict[str, Any]
    later: dict[str, Any]
    log: str


def coordinator_errors(log: str) -> list[str]:
    return [line for line in log.splitlines() if " ERROR " in line and "oordinator" in line]


@pytest.fixture(scope="module")
def lowered(module_clusters: Clusters, tmp_path_factory: pytest.TempPathFactory) -> Lowered:
    source = module_clusters.new("4.4.0", log_dirs=2, dynamic=True)
    source.format(scram=[BOOT_USER])
    with source.running():
        assert seed(source.bootstrap_servers)["left_out"] == {}
        before = ask(source)
    out = tmp_path_factory.mktemp("lowered")
    target, ledger = downgraded(source, "4.0.0", out)
    image = image_lines(load_snapshot(newest_checkpoint(target), "4.0.0"))
    with module_clusters.adopt(target).running():
        after = ask(target, like=before)
        seed(target.bootstrap_servers, "--steps", "later")
        later = ask(target, like=before)
        log = target.nodes[1].log_text()
    return Lowered(
        source=source,
        before=before,
        target=target,
        out=out,
        ledger=ledger,
        image=image,
        after=after,
        later=later,
        log=log,
    )


def test_400_loads_every_coordinator_partition_and_serves_every_offset(lowered: Lowered) -> None:
    ledger = lowered.ledger
    removed = {loss["key_fields"]["partition"] for loss in ledger["losses"] if loss["kind"] == "group_record"}
    shared = {group["partition"] for group in ledger["groups"] if group["type"] == "share"}
    assert removed
    assert removed <= shared
    # A partition that failed to load would have taken offsets of others with it.
    assert any(group["committed_offsets"] for group in ledger["groups"] if group["partition"] in removed)
    assert differences(expected_answers(lowered.before, ledger), lowered.after) == []
    groups = lowered.before["groups"]["groups"]
    served = {name: group["committed"] for name, group in groups.items() if group.get("committed")}
    assert len(served) >= 8
    assert {name: lowered.after["groups"]["groups"][name]["committed"] for name in served} == served
    assert lowered.after["groups"]["coordinators"] == {str(number): "loaded" for number in range(PARTITIONS)}
    assert lowered.log.count("Finished loading of metadata from __consumer_offsets-") == PARTITIONS
    assert coordinator_errors(lowered.log) == []


def test_400_reads_the_image_that_440_itself_would_write_but_for_the_ledger(lowered: Lowered) -> None:
    kafkas = load_snapshot(newest_checkpoint(lowered.source), "4.4.0", "--log", "--at", "4.0-IV3")
    assert lowered.image == expected_image(kafkas, lowered.ledger)


def test_undo_gives_440_its_share_and_streams_groups_back(lowered: Lowered, clusters: Clusters, tmp_path: Path) -> None:
    result = tmp_path / "result"
    reported = logdir("undo", lowered.out / "result", "--bundle", lowered.ledger["bundle"], "--out", result)
    removed = [loss for loss in lowered.ledger["losses"] if loss["kind"] == "group_record"]
    assert reported["restored"]["group_records"] == len(removed)
    cluster = clusters.adopt(lowered.source.moved_to(result, "4.4.0", home=tmp_path / "run"))
    with cluster.running():
        answered = ask(cluster, like=lowered.before)
    assert differences(lowered.before, answered) == differences(lowered.after, lowered.later)


@pytest.mark.full
def test_without_taking_records_out_400_fails_to_load_those_partitions(
    lowered: Lowered, clusters: Clusters, tmp_path: Path
) -> None:
    again, ledger = downgraded(lowered.source, "4.0.0", tmp_path)
    removed = {Path(loss["source"]) for loss in ledger["losses"] if loss["kind"] == "group_record"}
    for partition in removed:
        [log_dir] = [path for path in log_dirs(again) if path.name == partition.parent.name]
        shutil.rmtree(log_dir / partition.name)
        shutil.copytree(partition, log_dir / partition.name)
    with clusters.adopt(again).running():
        reported = ask(again, like=lowered.before)["groups"]["coordinators"]
        log = again.nodes[1].log_text()
    failed = {number for number, state in reported.items() if state != "loaded"}
    assert failed == {path.name.rpartition("-")[2] for path in removed}
    assert coordinator_errors(log)


@pytest.mark.full
def test_every_replica_of_a_rewritten_coordinator_partition_serves_the_offsets(
    clusters: Clusters, tmp_path: Path
) -> None:
    source = clusters.new("4.4.0", {1: COMBINED, 2: COMBINED, 3: COMBINED}, dynamic=True)
    source.format()
    with source.running():
        seed(source.bootstrap_servers)
        before = ask(source)
    target, ledger = downgraded(source, "4.0.0", tmp_path / "down")
    assert "group_record" in {loss["kind"] for loss in ledger["losses"]}
    expected = expected_answers(before, ledger)
    clusters.adopt(target).start()
    after = ask(target, like=before)
    assert differences(expected, after) == []
    for lost in (1, 2):
        target.nodes[lost].kill()
        await_leadership(target, lambda state, lost=lost: lost not in state["brokers"])
        groups = answers(target.running_servers, "--sections", "groups")["groups"]
        assert differences(expected["groups"], groups) == []
        target.nodes[lost].start()
        target.nodes[lost].wait_started()
        await_leadership(target, lambda state: all(in_sync(one) for one in coordinator_replicas(state)))
    target.stop()
    result = tmp_path / "up" / "result"
    logdir("undo", tmp_path / "down" / "result", "--bundle", ledger["bundle"], "--out", result)
    again = clusters.adopt(source.moved_to(result, "4.4.0", home=tmp_path / "up" / "run"))
    with again.running():
        answered = ask(again, like=before)
    assert differences(before, answered) == []


def coordinator_replicas(state: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for name, one in state["partitions"].items() if name.startswith("__consumer_offsets-")]


def in_sync(partition: dict[str, Any]) -> bool:
    return len(partition["isr"]) == 3
