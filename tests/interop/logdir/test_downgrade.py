"""A stopped 4.3.1 node goes down to real 3.9.1 and 3.7.2, and back up again.

One node with two log dirs. It was stopped cleanly, so every partition has an empty ISR and an eligible leader replica:
without conversion none of them would get a leader.
"""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from falkirk_program import Ended, downgraded, falkirk, log_dirs, logdir
from kafka_answers import differences, facts
from kafka_cluster import Clusters, KafkaCluster
from kafka_java import load_snapshot, run_main, seed
from kafka_ledger import expected_answers, expected_image, expected_replicas, image_lines
from kafka_state import BOOT_USER, ask, leadership, newest_checkpoint, producers, segment_names
from stopped_clusters import hashes

pytestmark = pytest.mark.interop
# Segments below the first offset go at once, and not in five minutes.
SOON = {
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "500",
    "log.segment.delete.delay.ms": "0",
}


@dataclass(frozen=True, kw_only=True)
class Source:
    """The stopped 4.3.1 node, its answers, every file's hash, and the result of a command while it still ran."""

    cluster: KafkaCluster
    answered: dict[str, Any]
    producers: dict[str, Any]
    files: dict[str, str]
    refused_while_running: Ended

    @property
    def folder(self) -> Path:
        return self.cluster.layouts[0].log_dirs[0].parent


@dataclass(frozen=True, kw_only=True)
class Lowered:
    """A result that ran: its first answers, and those after writes; then it was stopped."""

    cluster: KafkaCluster
    out: Path
    ledger: dict[str, Any]
    answered: dict[str, Any]
    leaders: dict[str, Any]
    producers: dict[str, Any]
    answered_later: dict[str, Any]
    # Our snapshot's name, and what Kafka's own reader makes of it.
    checkpoint: str
    image: list[str]


def await_fewer_segments(cluster: KafkaCluster, than: list[str]) -> None:
    deadline = time.monotonic() + 60
    while len(segment_names(cluster, "segmented")) >= len(than):
        assert time.monotonic() < deadline, "no segment was deleted in a minute"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def source(module_clusters: Clusters, tmp_path_factory: pytest.TempPathFactory) -> Source:
    cluster = module_clusters.new("4.3.1", log_dirs=2, dynamic=True)
    cluster.format(scram=[BOOT_USER])
    with cluster.running():
        assert seed(cluster.bootstrap_servers)["left_out"] == {}
        answered, idempotent = ask(cluster), producers(cluster)
        out = tmp_path_factory.mktemp("running") / "out"
        refused = falkirk("logdir", "downgrade", *log_dirs(cluster), "--to", "3.9", "--out", out, "--unsafe")
        assert not out.exists()
    folder = cluster.layouts[0].log_dirs[0].parent
    return Source(
        cluster=cluster,
        answered=answered,
        producers=idempotent,
        files=hashes(folder),
        refused_while_running=refused,
    )


@pytest.fixture(scope="module")
def at_39(source: Source, module_clusters: Clusters, tmp_path_factory: pytest.TempPathFactory) -> Lowered:
    out = tmp_path_factory.mktemp("at-39")
    cluster, ledger = downgraded(source.cluster, "3.9.1", out, settings=SOON)
    checkpoint = newest_checkpoint(cluster)
    image = image_lines(load_snapshot(checkpoint, "3.9.1"))
    with module_clusters.adopt(cluster).running():
        answered, leaders = ask(cluster, like=source.answered), leadership(cluster)
        idempotent = producers(cluster)
        seed(cluster.bootstrap_servers, "--steps", "later")
        seed(cluster.bootstrap_servers, "--seed", "2", "--steps", "acls,scram,quotas")
        later = ask(cluster, like=source.answered)
        await_fewer_segments(cluster, than=segment_names(source.cluster, "segmented"))
    return Lowered(
        cluster=cluster,
        out=out,
        ledger=ledger,
        answered=answered,
        leaders=leaders,
        producers=idempotent,
        answered_later=later,
        checkpoint=checkpoint.name,
        image=image,
    )


def test_a_running_node_is_refused(source: Source) -> None:
    ended = source.refused_while_running
    assert ended.status == 1
    assert ended.stderr == f"{source.folder / 'd0' / '.lock'} is locked: node 1 is running; stop it first\n"


def test_safe_refuses_with_the_list_and_writes_nothing(source: Source, tmp_path: Path) -> None:
    ended = falkirk("logdir", "downgrade", source.folder, "--to", "3.9", "--out", tmp_path / "out", "--json")
    assert ended.status == 3
    lost = ended.document["losses"]
    assert {loss["kind"] for loss in lost} == {"elr_to_isr", "share_group"}
    assert f"{len(lost)} things would be lost on the way to 3.9-IV0" in ended.stderr
    assert list(tmp_path.iterdir()) == []
    assert hashes(source.folder) == source.files
    planned = falkirk("logdir", "plan", source.folder, "--to", "3.9", "--json")
    assert (planned.status, planned.document) == (3, ended.document)


def test_391_answers_like_the_source_but_for_the_ledger(source: Source, at_39: Lowered) -> None:
    assert facts(source.answered) > 600
    assert differences(expected_answers(source.answered, at_39.ledger), at_39.answered) == []
    assert facts(source.producers) > 50
    assert at_39.producers == source.producers
    replicas = expected_replicas(source.answered, at_39.ledger)
    assert replicas == {partition: [1] for partition in at_39.leaders["partitions"]}
    assert {state["leader"] for state in at_39.leaders["partitions"].values()} == {1}


@pytest.mark.full
def test_372_answers_like_the_source_but_for_the_ledger(source: Source, clusters: Clusters, tmp_path: Path) -> None:
    cluster, ledger = downgraded(source.cluster, "3.7.2", tmp_path, options=["--tombstone-orphaned-groups"])
    assert "controller.quorum.voters" in ledger["nodes"][0]
    loaded = load_snapshot(newest_checkpoint(cluster), "3.7.2")
    with clusters.adopt(cluster).running():
        answered, leaders = ask(cluster, like=source.answered), leadership(cluster)
    kafkas = load_snapshot(newest_checkpoint(source.cluster), "4.3.1", "--log", "--at", "3.7-IV4")
    assert image_lines(loaded) == expected_image(kafkas, ledger)
    assert differences(expected_answers(source.answered, ledger), answered) == []
    assert {state["leader"] for state in leaders["partitions"].values()} == {1}
    # Nothing that 3.7.2 does not write is left for those who come after it but offsets, which are all there.
    left = {group["group"]: group for group in logdir("inspect", tmp_path / "result", "--release", "4.3.1")["groups"]}
    assert {group["type"] for group in left.values()} <= {"simple", "classic"}
    deleted = {group["group"] for group in ledger["groups"] if group["type"] not in {"simple", "classic"}}
    assert {line["group"] for line in ledger["tombstones"]} == deleted != set()
    with_offsets = {each["group"]: each["committed_offsets"] for each in ledger["groups"] if each["committed_offsets"]}
    assert {name: left[name]["committed_offsets"] for name in with_offsets} == with_offsets


def test_391_reads_the_image_that_431_itself_would_write_but_for_the_ledger(source: Source, at_39: Lowered) -> None:
    kafkas = load_snapshot(newest_checkpoint(source.cluster), "4.3.1", "--log", "--at", "3.9-IV0")
    assert at_39.image == expected_image(kafkas, at_39.ledger)


def test_no_file_of_the_source_changes_when_the_result_boots_writes_and_truncates(
    source: Source, at_39: Lowered
) -> None:
    grown = {change.path[0] for change in differences(at_39.answered, at_39.answered_later)}
    assert grown == {"acls", "configs", "groups", "messages", "offsets", "quotas", "scram", "topics", "transactions"}
    segments = segment_names(source.cluster, "segmented")
    assert set(segments) > set(segment_names(at_39.cluster, "segmented"))
    assert hashes(source.folder) == source.files


def test_undo_brings_back_all_that_was_dropped_and_keeps_what_was_written_since(
    source: Source, at_39: Lowered, clusters: Clusters, tmp_path: Path
) -> None:
    reported = logdir("undo", at_39.out / "result", "--bundle", at_39.ledger["bundle"], "--out", tmp_path / "result")
    assert logdir("verify", tmp_path / "result", "--release", "4.3.1")["ok"]
    cluster = clusters.adopt(source.cluster.moved_to(tmp_path / "result", "4.3.1", home=tmp_path / "run"))
    with cluster.running():
        answered, leaders = ask(cluster, like=source.answered), leadership(cluster)
    assert differences(source.answered, answered) == differences(at_39.answered, at_39.answered_later)
    assert {state["leader"] for state in leaders["partitions"].values()} == {1}
    # Each partition had a leader since, so that its eligible leader replicas of then mean nothing any more.
    lost = [loss["key"] for loss in at_39.ledger["losses"] if loss["kind"] == "elr_to_isr"]
    assert sorted(conflict.partition(":")[0] for conflict in reported["conflicts"]) == sorted(lost)


@pytest.mark.full
def test_431_starts_on_the_result_without_undo_and_takes_up_every_feature_again(
    source: Source, at_39: Lowered, clusters: Clusters, tmp_path: Path
) -> None:
    shutil.copytree(at_39.out / "result" / "node-1", tmp_path / "result" / "node-1")
    cluster = clusters.adopt(source.cluster.moved_to(tmp_path / "result", "4.3.1", home=tmp_path / "run"))
    with cluster.running():
        upgrade = ("--bootstrap-server", cluster.bootstrap_servers, "upgrade", "--release-version", "4.3")
        run_main("4.3.1", "org.apache.kafka.tools.FeatureCommand", upgrade)
    with cluster.running():
        answered = ask(cluster, like=source.answered)
    found, written = differences(source.answered, answered), differences(at_39.answered, at_39.answered_later)
    # Of configs that it does not know 3.9.1 kept no type in its own snapshot, as the ledger says; `undo` has them.
    assert newest_checkpoint(at_39.cluster).name > at_39.checkpoint
    configs = {f"group:{loss['key_fields']['resource']}" for loss in at_39.ledger["inaccessible"]}
    assert {change.path for change in found if change not in written} == {("configs", name) for name in configs}
    assert [change for change in found if change in written] == written
