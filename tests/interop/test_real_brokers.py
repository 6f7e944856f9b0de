"""Real brokers of three releases under our controllers, which run as three releases themselves; static voters.

The tests share a cluster and leave it as they found it: all nodes up, every replica in sync.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka_answers import differences
from kafka_cluster import Clusters
from kafka_java import seed
from kafka_scenarios import await_leadership
from kafka_state import ask
from kafka_tools import ACLS, CONFIGS, ELECT, FEATURES, QUORUM, REASSIGN, TOPICS, await_output, outputs
from mixed_cluster import MixedCluster
from produce_load import producing
from replica_directories import replica_directories

pytestmark = pytest.mark.interop
CONTROLLERS = ("4.3.1", "3.9.1", "3.7.2")
BROKERS = ("4.3.1", "3.9.1", "3.7.2")
LEVEL = "3.7-IV4"
PARTITIONS = 6


@pytest.fixture(scope="module")
def running(module_clusters: Clusters, tmp_path_factory: pytest.TempPathFactory) -> MixedCluster:
    home = tmp_path_factory.mktemp("mixed")
    cluster = MixedCluster(CONTROLLERS, BROKERS, home=home, log_dirs=2)
    module_clusters.adopt(cluster)
    cluster.format(release_version=LEVEL)
    cluster.start()
    return cluster


@pytest.fixture
def cluster(running: MixedCluster) -> Iterator[MixedCluster]:
    """The cluster; a failed test prints what our nodes logged."""
    yield running
    print(running.controller_logs())  # noqa: T201 - pytest shows it with the failure


def create_topic(cluster: MixedCluster, name: str) -> None:
    arguments = ["--create", "--topic", name, "--partitions", str(PARTITIONS), "--replication-factor", "3"]
    outputs([TOPICS, "--bootstrap-server", cluster.running_servers, *arguments])


def partitions_of(state: dict[str, Any], topic: str) -> list[dict[str, Any]]:
    found = [partition for name, partition in state["partitions"].items() if name.startswith(f"{topic}-")]
    assert len(found) == PARTITIONS
    return found


def in_sync(topic: str) -> Any:
    """All brokers are there, and all replicas of the topic in sync."""
    return lambda state: (
        state["brokers"] == [11, 12, 13]
        and all(len(partition["isr"]) == 3 for partition in partitions_of(state, topic))
    )


def independent_of_broker(answers: dict[str, Any]) -> dict[str, Any]:
    """Remove what depends on which broker answers: those before 4.0 know no group configs."""
    configs = {name: reported for name, reported in answers["configs"].items() if not name.startswith("group:")}
    return answers | {"configs": configs, "unsupported": {}}


def test_what_clients_made_is_there_after_every_controller_was_restarted(cluster: MixedCluster) -> None:
    made = seed(cluster.bootstrap_servers)
    assert set(made["left_out"]) == {"consumer-groups", "share-groups", "streams-groups"}
    before = independent_of_broker(ask(cluster))
    assert before["features"]["metadata.version"] == 19
    assert any(user["login"] for one in before["scram"].values() for user in one.values())
    for node in cluster.controllers:
        node.stop()
        cluster.restart(node.layout.node_id)
    assert differences(before, independent_of_broker(ask(cluster))) == []


def test_no_acked_record_is_lost_when_controllers_are_killed(cluster: MixedCluster, tmp_path: Path) -> None:
    create_topic(cluster, "failover")
    with producing(cluster.bootstrap_servers, "failover", tmp_path) as load:
        load.await_more()
        first = cluster.active_controller()
        cluster.nodes[first].kill()
        # Brokers ask a new leader for what only a controller can do.
        create_topic(cluster, "after-the-leader")
        load.await_more()
        second = cluster.active_controller()
        assert second != first
        cluster.restart(first)
        (standby,) = {1, 2, 3} - {first, second}
        cluster.nodes[standby].kill()
        create_topic(cluster, "after-a-follower")
        load.await_more()
        cluster.restart(standby)
        result = load.finish()
    assert result["missing"] == []
    assert result["failures"] == {}


def test_a_controlled_shutdown_moves_leaders(cluster: MixedCluster, tmp_path: Path) -> None:
    create_topic(cluster, "orderly")
    with producing(cluster.bootstrap_servers, "orderly", tmp_path) as load:
        load.await_more()
        cluster.nodes[12].stop()
        state = await_leadership(cluster, lambda state: state["brokers"] == [11, 13])
        for partition in partitions_of(state, "orderly"):
            assert partition["leader"] in {11, 13}
            assert sorted(partition["isr"]) == [11, 13]
        load.await_more()
        cluster.restart(12)
        await_leadership(cluster, in_sync("orderly"))
        result = load.finish()
    assert result["missing"] == []
    assert result["failures"] == {}


def test_no_acked_record_is_lost_when_a_broker_and_the_active_controller_die_at_once(
    cluster: MixedCluster, tmp_path: Path
) -> None:
    create_topic(cluster, "disaster")
    active = cluster.active_controller()
    with producing(cluster.bootstrap_servers, "disaster", tmp_path) as load:
        load.await_more()
        cluster.nodes[11].kill()
        cluster.nodes[active].kill()
        # Acked by all in sync: nothing more is, until a new controller has taken the dead broker out.
        load.await_more()
        state = await_leadership(cluster, lambda state: state["brokers"] == [12, 13])
        for partition in partitions_of(state, "disaster"):
            assert partition["leader"] in {12, 13}
            assert sorted(partition["isr"]) == [12, 13]
        cluster.restart(active)
        cluster.restart(11)
        await_leadership(cluster, in_sync("disaster"))
        result = load.finish()
    assert result["missing"] == []
    assert result["failures"] == {}


def test_every_replica_is_assigned_to_the_directory_that_has_it(cluster: MixedCluster, tmp_path: Path) -> None:
    create_topic(cluster, "placed")
    assigned, on_disk = replica_directories(cluster, "placed", tmp_path / "copies")
    assert len(assigned) == 3 * PARTITIONS
    assert assigned == on_disk
    assert len(set(on_disk.values())) == 6


def test_kafkas_tools_work_through_brokers(cluster: MixedCluster, tmp_path: Path) -> None:
    servers = ["--bootstrap-server", cluster.bootstrap_servers]
    plan = tmp_path / "plan.json"
    wanted = {"topic": "tools", "partition": 0, "replicas": [12, 13]}
    plan.write_text(json.dumps({"version": 1, "partitions": [wanted]}))
    by_plan = ["--reassignment-json-file", str(plan)]
    acl = ["--allow-principal", "User:tool", "--operation", "Read", "--topic", "tools"]
    outputs(
        [TOPICS, *servers, "--create", "--topic", "tools", "--replica-assignment", "11:12,12:13,13:11"],
        [TOPICS, *servers, "--alter", "--topic", "tools", "--partitions", "4"],
        [CONFIGS, *servers, "--alter", "--topic", "tools", "--add-config", "retention.ms=12345"],
        [CONFIGS, *servers, "--alter", "--broker-defaults", "--add-config", "log.cleaner.threads=2"],
        [CONFIGS, *servers, "--alter", "--user", "tool", "--add-config", "SCRAM-SHA-256=[password=x]"],
        [CONFIGS, *servers, "--alter", "--user", "tool", "--add-config", "producer_byte_rate=1000"],
        [ACLS, *servers, "--add", *acl],
        [ELECT, *servers, "--election-type", "preferred", "--all-topic-partitions"],
        [REASSIGN, *servers, "--execute", *by_plan],
    )
    # Another program, a moment later: any broker answers, and each has learnt of it by then.
    topic, configs, defaults, user, acls, status, replication, features, _ = outputs(
        [TOPICS, *servers, "--describe", "--topic", "tools"],
        [CONFIGS, *servers, "--describe", "--topic", "tools"],
        [CONFIGS, *servers, "--describe", "--broker-defaults"],
        [CONFIGS, *servers, "--describe", "--user", "tool"],
        [ACLS, *servers, "--list", "--topic", "tools"],
        [QUORUM, *servers, "describe", "--status"],
        [QUORUM, *servers, "describe", "--replication"],
        [FEATURES, *servers, "describe"],
        [REASSIGN, *servers, "--list"],
    )
    assert "retention.ms=12345" in configs
    assert "log.cleaner.threads=2" in defaults
    assert "producer_byte_rate=1000.0" in user
    assert "SCRAM-SHA-256=iterations=4096" in user
    assert "principal=User:tool, host=*, operation=READ, permissionType=ALLOW" in acls
    assert "ClusterId:              " + cluster.cluster_id in status
    assert [line.split()[-1] for line in replication.splitlines()[1:]].count("Observer") == 3
    assert "FinalizedVersionLevel: 3.7-IV4" in features
    assert "PartitionCount: 4" in topic
    await_output([REASSIGN, *servers, "--verify", *by_plan], "Reassignment of partition tools-0 is completed.")
    outputs(
        [CONFIGS, *servers, "--alter", "--broker-defaults", "--delete-config", "log.cleaner.threads"],
        [ACLS, *servers, "--remove", "--force", *acl],
        [TOPICS, *servers, "--delete", "--topic", "tools"],
    )
    assert "tools" not in outputs([TOPICS, *servers, "--list"])[0].splitlines()


def test_kafkas_tools_work_through_controllers(cluster: MixedCluster) -> None:
    controllers = ["--bootstrap-controller", cluster.bootstrap_controllers]
    reported = outputs(
        [
            CONFIGS,
            *controllers,
            "--alter",
            "--entity-type",
            "brokers",
            "--entity-name",
            "1",
            "--add-config",
            "max.connections=1000",
        ],
        [CONFIGS, *controllers, "--describe", "--entity-type", "brokers", "--entity-name", "1"],
        [ACLS, *controllers, "--add", "--allow-principal", "User:tool", "--operation", "Read", "--group", "tools"],
        [ACLS, *controllers, "--list", "--group", "tools"],
        [ACLS, *controllers, "--remove", "--force", "--group", "tools"],
        [ACLS, *controllers, "--list", "--group", "tools"],
        [QUORUM, *controllers, "describe", "--status"],
        [QUORUM, *controllers, "describe", "--replication"],
        [FEATURES, *controllers, "describe"],
        [REASSIGN, *controllers, "--list"],
        [
            CONFIGS,
            *controllers,
            "--alter",
            "--entity-type",
            "brokers",
            "--entity-name",
            "1",
            "--delete-config",
            "max.connections",
        ],
    )
    _, configs, _, acls, _, no_acls, status, replication, features, reassignments, _ = reported
    assert "max.connections=1000" in configs
    assert "principal=User:tool, host=*, operation=READ, permissionType=ALLOW" in acls
    assert no_acls.strip() == ""
    assert "ClusterId:              " + cluster.cluster_id in status
    assert len(replication.splitlines()) == 1 + 3 + 3
    assert "FinalizedVersionLevel: 3.7-IV4" in features
    assert reassignments.strip() == "No partition reassignments found."
