"""`falkirk lift check` on running clusters of real Kafka: its ledger is that of their directories."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from falkirk_program import falkirk
from kafka_cluster import Clusters, KafkaCluster
from kafka_java import seed
from kafka_node import BROKER, CONTROLLER

pytestmark = pytest.mark.interop
BOOT_USER = "SCRAM-SHA-512=[name=boot,password=secret-boot]"


def run(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    ended = falkirk(*arguments, "--json")
    assert ended.stdout, ended.stderr
    return ended.status, ended.document


def ledger(document: dict[str, Any]) -> dict[str, Any]:
    """Return a ledger without the places of records: the log of the leader begins later than that of the disk."""
    unplaced = {"source": None, "offset": None}
    lists = {name: [each | unplaced for each in document[name]] for name in ("losses", "inaccessible")}
    warnings = [each for each in document["warnings"] if "path" not in each["fields"]]
    return document | lists | {"warnings": warnings}


def copies(cluster: KafkaCluster, folder: Path) -> list[Path]:
    """Kill the nodes, which leaves their directories as they were, and copy them."""
    cluster.kill()
    return [
        Path(shutil.copytree(log_dir, folder / f"node-{layout.node_id}" / log_dir.name))
        for layout in cluster.layouts
        for log_dir in layout.log_dirs
    ]


def commit(cluster: KafkaCluster, topic: str) -> None:
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "readers", "enable.auto.commit": False}
    consumer = Consumer(settings)
    [done] = consumer.commit(offsets=[TopicPartition(topic, 0, 3)], asynchronous=False)
    consumer.close()
    assert done.error is None


def test_a_dynamic_node_of_431_is_checked_from_its_bootstrap_address_alone(clusters: Clusters, tmp_path: Path) -> None:
    cluster = clusters.new("4.3.1", dynamic=True)
    cluster.format(scram=[BOOT_USER])
    cluster.start()
    commit(cluster, "__consumer_offsets")
    code, document = run(
        "lift", "check", "--bootstrap-server", cluster.bootstrap_servers, "--to", "3.9", "--keep", tmp_path / "kept"
    )
    directories = copies(cluster, tmp_path / "copies")
    expected_code, expected = run("logdir", "plan", *directories, "--to", "3.9")

    assert document["blockers"] == document["unseen"] == []
    assert (code, ledger(document["ledger"])) == (expected_code, ledger(expected))
    assert document["way"]["kind"] == "extra voter, alone for seconds"
    [voter] = document["quorum"]["voters"]
    assert voter["endpoint"] == f"127.0.0.1:{cluster.layouts[0].controller_port}"
    assert voter["directory_id"] is not None
    assert run("logdir", "plan", document["directory"], "--to", "3.9") == (code, document["ledger"])


@pytest.mark.full
def test_what_a_seeded_node_of_431_would_lose_is_what_its_directory_would(clusters: Clusters, tmp_path: Path) -> None:
    cluster = clusters.new("4.3.1", log_dirs=2, dynamic=True)
    cluster.format(scram=[BOOT_USER])
    cluster.start()
    seed(cluster.bootstrap_servers)
    code, document = run("lift", "check", "--bootstrap-server", cluster.bootstrap_servers, "--to", "3.9")
    directories = copies(cluster, tmp_path)
    _, expected = run("logdir", "plan", *directories, "--to", "3.9")

    assert document["unseen"] == []
    assert code == (1 if document["blockers"] else 3)
    assert {each["kind"] for each in expected["losses"]} == {"share_group"}
    assert ledger(document["ledger"]) == ledger(expected)
    assert {group["type"] for group in document["groups"]} == {"Classic", "Consumer", "Share", "Streams"}
    assert {each["kind"] for each in document["warnings"]} >= {"members_refused"}


@pytest.mark.full
def test_static_controllers_of_391_go_in_place_and_their_brokers_tell_where_they_listen(
    clusters: Clusters, tmp_path: Path
) -> None:
    roles = {1: (CONTROLLER,), 2: (CONTROLLER,), 3: (CONTROLLER,), 4: (BROKER,)}
    cluster = clusters.new("3.9.1", roles=roles)
    cluster.format()
    cluster.start()
    commit(cluster, "__consumer_offsets")
    code, document = run("lift", "check", "--bootstrap-server", cluster.bootstrap_servers, "--to", "3.7")
    directories = copies(cluster, tmp_path)
    expected_code, expected = run("logdir", "plan", *directories, "--to", "3.7")

    assert document["blockers"] == document["unseen"] == []
    assert (code, ledger(document["ledger"])) == (expected_code, ledger(expected))
    assert document["way"]["kind"] == "in place, majority"
    assert {node["node_id"]: (node["broker"], node["controller"]) for node in document["nodes"]} == {
        1: (False, True),
        2: (False, True),
        3: (False, True),
        4: (True, False),
    }


@pytest.mark.full
def test_of_372_controllers_have_to_be_named(clusters: Clusters) -> None:
    cluster = clusters.new("3.7.2")
    cluster.format()
    with cluster.running():
        servers = ("--bootstrap-server", cluster.bootstrap_servers, "--to", "3.7-IV0")
        code, document = run("lift", "check", *servers)
        assert code == 1
        assert [each["kind"] for each in document["blockers"]] == ["incomplete_metadata", "no_way"]
        assert "name them (--bootstrap-controller)" in document["unseen"][0]["reason"]
        controller = f"127.0.0.1:{cluster.layouts[0].controller_port}"
        code, document = run("lift", "check", *servers, "--bootstrap-controller", controller)
        # A combined node with a static voter cannot be made dynamic.
        assert [each["kind"] for each in document["blockers"]] == ["no_way"]
        assert document["ledger"]["from"]["name"] == "3.7-IV4"


@pytest.mark.full
def test_without_a_leader_the_check_is_blocked_and_names_that(clusters: Clusters) -> None:
    cluster = clusters.new("4.3.1", roles={1: (CONTROLLER,), 11: (BROKER,)})
    cluster.format()
    cluster.start()
    cluster.nodes[1].kill()
    code, document = run("lift", "check", "--bootstrap-server", cluster.bootstrap_servers, "--to", "3.9")
    assert (code, document["way"]) == (1, None)
    assert [each["what"] for each in document["unseen"]][:2] == ["the quorum", "the metadata log"]
    assert document["unseen"][1]["reason"].startswith("no controller leads the quorum, or the brokers do not reach")
