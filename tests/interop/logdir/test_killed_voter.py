"""Three nodes, one voter killed hard, go down, and all three results form a quorum and serve everything."""

import json
from pathlib import Path
from typing import Any

import pytest
from falkirk_program import downgraded, log_dirs, logdir
from kafka_answers import differences, facts
from kafka_cluster import COMBINED, Clusters, KafkaCluster
from kafka_java import seed
from kafka_ledger import expected_answers
from kafka_scenarios import await_leadership
from kafka_state import ask, leadership

pytestmark = [pytest.mark.interop, pytest.mark.full]
THREE = {1: COMBINED, 2: COMBINED, 3: COMBINED}
# So that a node that takes itself for a candidate asks the other before that begins an election of its own.
PATIENT = {"controller.quorum.election.timeout.ms": "4000"}


def starting_with(kind: str, state: dict[str, Any]) -> list[dict[str, Any]]:
    return [partition for name, partition in state["partitions"].items() if name.startswith(f"{kind}-")]


def lose_an_election(cluster: KafkaCluster) -> int:
    """Return a follower the quorum-state of a candidate that lost an election.

    3.9 and older take it for a candidate if they find its vote there, and end. Returns the leader.
    """
    for layout in cluster.layouts:
        log_dir = layout.log_dirs[0]
        file = log_dir / "__cluster_metadata-0" / "quorum-state"
        state = json.loads(file.read_bytes())
        if state["leaderId"] not in {-1, layout.node_id}:
            state["votedId"] = layout.node_id
            if state["data_version"] == 1:
                lines = (log_dir / "meta.properties").read_text().splitlines()
                [state["votedDirectoryId"]] = [
                    line.split("=", 1)[1] for line in lines if line.startswith("directory.id=")
                ]
            file.write_text(json.dumps(state, separators=(",", ":")))
            return int(state["leaderId"])
    raise AssertionError("no node follows a leader")


@pytest.mark.parametrize(
    ("release", "dynamic"),
    [("3.9.1", True), ("3.9.1", False), ("3.7.2", True), ("3.7.2", False)],
)
def test_three_nodes_of_431_go_down_after_one_voter_was_killed_hard(
    release: str, dynamic: bool, clusters: Clusters, tmp_path: Path
) -> None:
    source = clusters.new("4.3.1", THREE, dynamic=dynamic)
    source.format()
    source.start()
    seed(source.bootstrap_servers)
    before = ask(source)
    source.nodes[3].kill()
    state = await_leadership(source, lambda state: state["brokers"] == [1, 2])
    [pair] = starting_with("pair", state)
    assert (pair["isr"], pair["elr"]) == ([2], [3])
    source.stop()
    leader = lose_an_election(source)
    inspected = logdir("inspect", *log_dirs(source))
    assert [node["node_id"] for node in inspected["nodes"]] == [1, 2, 3]

    target, ledger = downgraded(source, release, tmp_path / "down", settings=PATIENT)
    clusters.adopt(target)
    # The others first: nobody is there who could tell the one that had lost.
    for group in ([node_id for node_id in THREE if node_id != leader], [leader]):
        for node_id in group:
            target.nodes[node_id].start()
        for node_id in group:
            target.nodes[node_id].wait_started()
    await_leadership(target, lambda state: state["brokers"] == [1, 2, 3])
    after, leaders = ask(target, like=before), leadership(target)
    target.stop()
    assert facts(before) > 600
    assert differences(expected_answers(before, ledger), after) == []
    assert leaders["voters"] == leaders["brokers"] == [1, 2, 3]
    assert leaders["quorum_leader"] in leaders["voters"]
    assert -1 not in {partition["leader"] for partition in leaders["partitions"].values()}
