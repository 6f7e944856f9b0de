"""The harness with every release and every kind of cluster (`make test-all`)."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kafka_answers import differences
from kafka_cluster import COMBINED, Clusters, KafkaCluster
from kafka_java import answers, load_snapshot, seed
from kafka_node import BROKER, CONTROLLER
from kafka_scenarios import ELR_ROLES, await_leadership, put_elr_in_use

from fetch_kafka import RELEASES

pytestmark = [pytest.mark.interop, pytest.mark.full]
THREE = {1: COMBINED, 2: COMBINED, 3: COMBINED}
SEPARATE = {1: (CONTROLLER,), 2: (BROKER,), 3: (BROKER,)}
# What each release's default features do not allow.
LEFT_OUT = {
    "3.7.2": {"consumer-groups", "share-groups", "streams-groups"},
    "3.9.1": {"consumer-groups", "share-groups", "streams-groups"},
    "4.0.0": {"share-groups", "streams-groups"},
    "4.3.1": set(),
    "4.4.0": set(),
}


def ask(cluster: KafkaCluster) -> dict[str, Any]:
    return answers(cluster.running_servers, "--scram", cluster.scram_servers)


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_boots_is_seeded_and_answers_the_same_from_a_copy_of_its_directory(
    release: str, clusters: Clusters, newest_checkpoint: Callable[[KafkaCluster], Path], tmp_path: Path
) -> None:
    cluster = clusters.new(release, log_dirs=2, dynamic=release != "3.7.2")
    cluster.format(scram=["SCRAM-SHA-256=[name=boot,password=secret-boot]"])
    with cluster.running():
        made = seed(cluster.bootstrap_servers)
        before = ask(cluster)
    assert set(made["left_out"]) == LEFT_OUT[release]
    assert any(acl.endswith("/16") for acl in before["acls"]) == (release == "4.4.0")
    shutil.copytree(cluster.layouts[0].log_dirs[0].parent, tmp_path / "copy" / "node-1")
    copy = clusters.adopt(cluster.moved_to(tmp_path / "copy", release, home=tmp_path / "copy-home"))
    with copy.running():
        after = ask(copy)
    assert differences(before, after) == []
    assert any(line.get("type") == "TOPIC_RECORD" for line in load_snapshot(newest_checkpoint(cluster), release))


@pytest.mark.parametrize(("release", "dynamic"), [("3.9.1", False), ("4.3.1", True), ("4.4.0", True)])
def test_three_nodes_serve_the_same_after_one_voter_was_killed_hard(
    release: str, dynamic: bool, clusters: Clusters
) -> None:
    cluster = clusters.new(release, THREE, dynamic=dynamic)
    cluster.format()
    cluster.start()
    seed(cluster.bootstrap_servers)
    before = ask(cluster)
    cluster.nodes[3].kill()
    state = await_leadership(cluster, lambda state: state["brokers"] == [1, 2])
    assert state["voters"] == [1, 2, 3]
    assert state["quorum_leader"] in {1, 2}
    cluster.stop()
    with cluster.running():
        assert differences(before, ask(cluster)) == []


def test_controller_only_and_broker_only_nodes_make_a_cluster(clusters: Clusters) -> None:
    cluster = clusters.new("4.3.1", SEPARATE, dynamic=True)
    cluster.format()
    with cluster.running():
        seed(cluster.bootstrap_servers, "--steps", "topics,data,acls")
        before = ask(cluster)
    with cluster.running():
        assert differences(before, ask(cluster)) == []


def test_killed_brokers_put_eligible_leader_replicas_in_use(clusters: Clusters) -> None:
    cluster = clusters.new("4.3.1", ELR_ROLES, dynamic=True)
    cluster.format()
    cluster.start()
    seed(cluster.bootstrap_servers, "--steps", "topics,data")
    partitions = put_elr_in_use(cluster)["partitions"]
    pair = next(state for name, state in partitions.items() if name.startswith("pair-"))
    assert (pair["leader"], pair["isr"], sorted(pair["elr"])) == (-1, [], [2, 3])
    replicated = [state for name, state in partitions.items() if name.startswith("replicated-")]
    assert all(state["isr"] == [1] and state["elr"] for state in replicated)
    cluster.stop()


def test_an_open_transaction_and_filler_topics_can_be_asked_for(clusters: Clusters) -> None:
    cluster = clusters.new("4.3.1", dynamic=True)
    cluster.format()
    with cluster.running():
        made = seed(
            cluster.bootstrap_servers,
            *("--steps", "topics,data,open-transaction", "--filler-topics", "40", "--filler-partitions", "3"),
        )
        reported = ask(cluster)
    assert set(made["steps_ms"]) == {"topics", "data", "filler", "open-transaction"}
    assert sum(name.startswith("filler-") for name in reported["topics"]) == 40
    assert [one["state"] for one in reported["transactions"]["transactions"].values()] == ["Ongoing"]
    held_back = [name for name, ends in reported["offsets"].items() if ends["latest_committed"] < ends["latest"]]
    assert {name.partition("-")[0] for name in held_back} == {"transactions"}
