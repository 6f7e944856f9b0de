"""Three nodes of which one voter was killed hard go down, and all three results form a quorum and serve everything."""

from pathlib import Path
from typing import Any

import pytest
from falkirk_program import downgraded, log_dirs, logdir
from kafka_answers import differences, facts
from kafka_cluster import COMBINED, Clusters
from kafka_java import seed
from kafka_ledger import expected_answers
from kafka_scenarios import await_leadership
from kafka_state import ask, leadership

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.xdist_group("kafka-1")]
THREE = {1: COMBINED, 2: COMBINED, 3: COMBINED}


def starting_with(kind: str, state: dict[str, Any]) -> list[dict[str, Any]]:
    return [partition for name, partition in state["partitions"].items() if name.startswith(f"{kind}-")]


@pytest.mark.parametrize(
    ("release", "dynamic"),
    [
        ("3.9.1", True),
        pytest.param("3.9.1", False, marks=pytest.mark.full),
        pytest.param("3.7.2", True, marks=pytest.mark.full),
        pytest.param("3.7.2", False, marks=pytest.mark.full),
    ],
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
    inspected = logdir("inspect", *log_dirs(source))
    assert [node["node_id"] for node in inspected["nodes"]] == [1, 2, 3]

    target, ledger = downgraded(source, release, tmp_path / "down")
    with clusters.adopt(target).running():
        after, leaders = ask(target, like=before), leadership(target)
    assert facts(before) > 600
    assert differences(expected_answers(before, ledger), after) == []
    assert leaders["voters"] == leaders["brokers"] == [1, 2, 3]
    assert leaders["quorum_leader"] in leaders["voters"]
    assert -1 not in {partition["leader"] for partition in leaders["partitions"].values()}
