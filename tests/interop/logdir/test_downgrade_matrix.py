"""Other ways down between real releases (`make test-all`): each source is seeded once, and all its targets boot."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from falkirk_program import downgraded
from kafka_answers import differences, facts
from kafka_cluster import Clusters, KafkaCluster
from kafka_java import load_snapshot, seed
from kafka_ledger import expected_answers, expected_image, image_lines
from kafka_scenarios import ELR_ROLES, put_elr_in_use
from kafka_state import BOOT_USER, ask, leadership, newest_checkpoint

pytestmark = [pytest.mark.interop, pytest.mark.full]

MOVES = [
    ("4.4.0", True, "4.3.1"),
    ("4.4.0", True, "4.2.1"),
    ("4.4.0", True, "4.1.1"),
    ("4.4.0", True, "4.0.0"),
    ("4.4.0", True, "3.9.1"),
    ("4.4.0", True, "3.8.1"),
    ("4.4.0", True, "3.7.2"),
    ("4.3.1", True, "4.2.1"),
    ("4.3.1", True, "4.1.1"),
    ("4.3.1", True, "4.0.0"),
    ("4.3.1", True, "3.8.1"),
    ("4.3.1", False, "4.0.0"),
    ("4.3.1", False, "3.9.1"),
    ("4.3.1", False, "3.7.2"),
    ("4.0.0", True, "3.9.1"),
    ("4.0.0", False, "3.7.2"),
    ("3.9.1", True, "3.7.2"),
    ("3.9.1", False, "3.7.2"),
]
Sources = Callable[[str, bool], tuple[KafkaCluster, dict[str, Any]]]


@pytest.fixture(scope="module")
def sources(module_clusters: Clusters) -> Sources:
    """Stopped nodes with two log dirs each, and their answers."""

    @cache
    def make(release: str, dynamic: bool) -> tuple[KafkaCluster, dict[str, Any]]:
        cluster = module_clusters.new(release, log_dirs=2, dynamic=dynamic)
        cluster.format(scram=[BOOT_USER])
        with cluster.running():
            seed(cluster.bootstrap_servers)
            return cluster, ask(cluster)

    return make


@pytest.mark.parametrize("move", MOVES, ids=lambda move: f"{move[0]}-{'dynamic' if move[1] else 'static'}-{move[2]}")
def test_a_target_answers_and_reads_what_its_source_did_but_for_the_ledger(
    move: tuple[str, bool, str], sources: Sources, clusters: Clusters, tmp_path: Path
) -> None:
    release, dynamic, to = move
    source, before = sources(release, dynamic)
    target, ledger = downgraded(source, to, tmp_path)
    kafkas = load_snapshot(newest_checkpoint(source), release, "--log", "--at", ledger["to"]["name"])
    assert image_lines(load_snapshot(newest_checkpoint(target), to)) == expected_image(kafkas, ledger)
    with clusters.adopt(target).running():
        after, leaders = ask(target, like=before), leadership(target)
    assert facts(before) > 450
    assert differences(expected_answers(before, ledger), after) == []
    assert {state["leader"] for state in leaders["partitions"].values()} == {1}


@pytest.mark.parametrize("to", ["4.0.0", "3.9.1", "3.7.2"])
def test_eligible_leader_replicas_in_use_become_leaders_of_all_partitions(
    to: str, clusters: Clusters, tmp_path: Path
) -> None:
    source = clusters.new("4.3.1", ELR_ROLES, log_dirs=2, dynamic=True)
    source.format(scram=[BOOT_USER])
    source.start()
    seed(source.bootstrap_servers)
    before = ask(source)
    state = put_elr_in_use(source)["partitions"]
    source.stop()
    [pair] = [name for name in state if name.startswith("pair-")]
    assert (state[pair]["isr"], sorted(state[pair]["elr"])) == ([], [2, 3])
    target, ledger = downgraded(source, to, tmp_path)
    with clusters.adopt(target).running():
        after, leaders = ask(target, like=before), leadership(target)["partitions"]
    assert differences(expected_answers(before, ledger), after) == []
    assert -1 not in {partition["leader"] for partition in leaders.values()}
    assert sorted(leaders[pair]["isr"]) == [2, 3]
