"""`falkirk features` against real nodes, and kafka-features against ours: the answers of real nodes."""

import json
import re
from pathlib import Path

import pytest
from falkirk_node import OurCluster
from feature_calls import FeatureCall, masked, recorded_calls, run_falkirk
from feature_differences import LOWEST_LEVEL, OF_OUR_NODES, OF_OUR_TOOL, REFUSALS, difference, documented
from kafka_cluster import COMBINED, Clusters, KafkaCluster
from kafka_tools import FEATURES, run_tools

from falkirk.protocol.messages import FeatureLevelRecord
from falkirk.protocol.metadata_record import decode_metadata_record
from falkirk.protocol.record_batch import read_batches
from falkirk.storage.partition_directory import METADATA_DIRECTORY
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.release import Release

pytestmark = pytest.mark.interop

ELR = ("--feature", "eligible.leader.replicas.version=1")
# How a node is formatted to be in a state: whether the quorum is dynamic, and options of StorageTool.
STATES = {
    ("3.7.2", "seeded at 3.7-IV4"): (False, ("--release-version", "3.7-IV4")),
    ("3.7.2", "fresh at 3.7-IV2"): (False, ("--release-version", "3.7-IV2")),
    ("3.9.1", "seeded at 3.9-IV0"): (False, ("--release-version", "3.9-IV0")),
    ("3.9.1", "fresh at 3.7-IV2"): (False, ("--release-version", "3.7-IV2")),
    ("4.0.0", "seeded at 4.0-IV3"): (False, ELR),
    ("4.0.0", "fresh at 3.7-IV2"): (False, ("--release-version", "3.7-IV2")),
    ("4.3.1", "seeded at 4.3-IV0"): (True, ()),
    ("4.3.1", "fresh at 4.2-IV1"): (True, ("--release-version", "4.2-IV1")),
    ("4.3.1", "--release-version 4.2-IV1"): (True, ("--release-version", "4.2-IV1")),
    ("4.4.0", "seeded"): (True, ()),
}
CHOSEN_OF_KAFKA = {("3.7.2", "seeded at 3.7-IV4"), ("4.3.1", "seeded at 4.3-IV0")}
CHOSEN_OF_OURS = {("3.9.1", "seeded at 3.9-IV0"), ("4.3.1", "seeded at 4.3-IV0")}
# What follows a lowering that only nodes of ours refuse, until the level is set anew.
LEFT_OUT = {("4.3.1", "--release-version 4.2-IV1"): slice(4, 18)}
COMMANDS = ("describe", "upgrade", "downgrade", "disable")


def states(chosen):
    return [state if state in chosen else pytest.param(*state, marks=pytest.mark.full) for state in STATES]


def formatted(cluster: KafkaCluster, arguments) -> KafkaCluster:
    cluster.format(arguments=arguments)
    return cluster


def as_tool_of(call: FeatureCall, words: list[str]) -> list[str]:
    """Let the tool of the recorded release answer."""
    at = next((at for at, word in enumerate(words) if word in COMMANDS), None)
    return words if at is None else [*words[: at + 1], "--release", call.tool, *words[at + 1 :]]


@pytest.mark.parametrize(("release", "state"), states(CHOSEN_OF_KAFKA))
def test_falkirk_tells_of_real_nodes_what_the_releases_own_tool_told(clusters: Clusters, release: str, state: str):
    dynamic, arguments = STATES[release, state]
    cluster = formatted(clusters.new(release, dynamic=dynamic), arguments)
    calls = [call for call in recorded_calls(release, state) if not is_of_tables(call)]
    with cluster.running():
        answers = [run_falkirk(as_tool_of(call, call.arguments(cluster))) for call in calls]
    check(calls, answers, OF_OUR_TOOL)


@pytest.mark.parametrize(("release", "state"), states(CHOSEN_OF_OURS))
def test_the_releases_own_tool_tells_of_our_nodes_what_it_told_of_real_ones(
    clusters: Clusters, release: str, state: str, tmp_path
):
    dynamic, arguments = STATES[release, state]
    cluster = formatted(clusters.adopt(OurCluster.new(release, tmp_path, dynamic=dynamic)), arguments)
    calls = recorded_calls(release, state)
    del calls[LEFT_OUT.get((release, state), slice(0))]
    recorded = [call for call in calls if not is_of_tables(call) and not is_of_tool(call)]
    commands, kept = [], []
    for call in recorded:
        kept.append(len(commands))
        commands.append(call.arguments(cluster))
        commands += [["--bootstrap-server", cluster.bootstrap_servers, *words] for words in undoing(call)]
    with cluster.running():
        ended = run_tools(*([FEATURES, *words] for words in commands), release=recorded[0].tool)
    calls = [call.with_one_output() for call in recorded]
    answers = [(ended[at].status, masked(ended[at].output), "") for at in kept]
    check(calls, answers, OF_OUR_NODES)


def test_what_only_nodes_of_ours_tell(tmp_path, clusters: Clusters):
    roles = {1: COMBINED, 2: COMBINED, 3: COMBINED}
    cluster = formatted(clusters.adopt(OurCluster.new("3.9.1", tmp_path, roles, log_dirs=2)), ())
    lower = ("downgrade", "--feature", "metadata.version=16")
    # Killed in the end, by the fixture: the last of three that stop waits for a quorum that is gone.
    cluster.start()

    def ask(*words: str) -> tuple[int, str, str]:
        return run_falkirk(["--bootstrap-server", cluster.bootstrap_servers, *words])

    dry, refused = ask(*lower, "--dry-run"), ask(*lower, "--json")
    done = ask(*lower, "--unsafe", "--wait")
    # As they are at this very moment: the command has said that there is nothing to wait for.
    levels_on_disks = [levels_on_disk(layout.log_dirs[0]) for layout in cluster.layouts]
    controller = f"127.0.0.1:{cluster.layouts[2].controller_port}"
    raised = run_falkirk(["--bootstrap-controller", controller, "upgrade-all", "--json"])
    document = json.loads(refused[1])
    assert (dry[0], refused[0]) == (3, 3)
    assert document["features"][0]["error"]["name"] == "UNSAFE_FEATURE_DOWNGRADE"
    assert [loss["kind"] for loss in document["losses"]] == ["broker_log_dirs"] * 3
    assert (done[0], done[2]) == (0, "")
    lines = done[1].splitlines()
    assert [line.partition(":")[0] for line in lines[:5]] == [
        "metadata.version was downgraded to 16.",
        "  lost",
        "  lost",
        "  lost",
        "  undo bundle",
    ]
    assert Path(lines[4].partition(": ")[2]).is_file()
    assert lines[5].startswith("Every node has the new snapshot and nothing from before it, up to offset ")
    assert lines[5].endswith(": 1, 2, 3.")
    assert "3.7.2, 3.8.1, 3.9.1" in lines[6]
    assert [line.partition(":")[0] for line in lines[7:]] == ["  node N"] * 3
    assert levels_on_disks == [{16}] * 3
    reported = [(one["feature"], one["before"], one["level"]) for one in json.loads(raised[1])["features"]]
    assert (raised[0], reported) == (0, [("metadata.version", 16, 21)])


def levels_on_disk(log_dir: Path) -> set[int]:
    """Return every metadata.version in the metadata partition, whether or not a node would still read it."""
    found = set()
    files = [*(log_dir / METADATA_DIRECTORY).glob("*.log"), *(log_dir / METADATA_DIRECTORY).glob("*.checkpoint")]
    for file in files:
        for batch in read_batches(file.read_bytes()):
            values = () if batch.is_control else batch.values()
            records = [decode_metadata_record(value)[0] for value in values]
            found |= {
                record.feature_level
                for record in records
                if isinstance(record, FeatureLevelRecord) and record.name == METADATA_VERSION
            }
    return found


def is_of_tables(call: FeatureCall) -> bool:
    """True if no cluster is asked: those answers are compared elsewhere."""
    return call.words[:1] in {("version-mapping",), ("feature-dependencies",)}


def is_of_tool(call: FeatureCall) -> bool:
    """True if the tool itself refuses, and sends nothing to a node."""
    return call.words[:1] == ("--bootstrap-server",) or call.wrong_usage


def undoing(call: FeatureCall) -> list[list[str]]:
    """Return the calls that take a node of ours back to where the real one stayed, which refused."""
    requested = re.search(r"metadata\.version to (\d+)\.", call.stdout)
    was_refused = any(refusal in call.stdout for refusal in REFUSALS)
    if "--dry-run" in call.words or not was_refused or requested is None or int(requested[1]) < LOWEST_LEVEL:
        return []
    reported = re.search(r"downgrade from (\d+) to", call.stdout)
    level = int(reported[1]) if reported else Release.parse(call.release).latest_metadata_version.level
    return [["upgrade", "--feature", f"metadata.version={level}"]]


def check(calls, answers, rules) -> None:
    """Every answer equals Kafka's, or is covered by a row."""
    assert len(calls) == len(answers) > 5
    pairs = list(zip(calls, answers, strict=True))
    wrong = [(call.words, call.answer, answer) for call, answer in pairs if difference(call, answer, rules) is None]
    assert wrong == []
    assert any(call.answer == answer for call, answer in pairs)


def test_the_differences_are_those_that_the_compatibility_page_lists():
    assert documented() == [*OF_OUR_TOOL, *OF_OUR_NODES]
