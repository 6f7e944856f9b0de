"""Our controllers and real brokers of every release at its own level; and real controllers replaced (`full`)."""

from dataclasses import replace
from pathlib import Path

import pytest
from falkirk_node import FalkirkNode
from kafka_answers import differences
from kafka_cluster import Clusters
from kafka_java import seed
from kafka_node import KafkaNode, KafkaNodeError
from kafka_ports import free_ports
from kafka_state import ask
from kafka_tools import QUORUM, TOPICS, await_output, outputs
from mixed_cluster import MixedCluster
from produce_load import producing

pytestmark = [pytest.mark.interop, pytest.mark.full]


@pytest.mark.parametrize(
    ("release", "dynamic"),
    [
        ("3.7.2", False),
        ("3.8.1", False),
        ("3.9.1", False),
        ("3.9.1", True),
        ("4.0.0", True),
        ("4.3.1", True),
        ("4.4.0", True),
    ],
)
def test_brokers_of_a_release_keep_all_that_clients_made_over_a_failover(
    release: str, dynamic: bool, clusters: Clusters, tmp_path: Path
) -> None:
    cluster = MixedCluster((release,) * 3, (release,) * 2, home=tmp_path, log_dirs=2, dynamic=dynamic)
    clusters.adopt(cluster)
    cluster.format(scram=["SCRAM-SHA-256=[name=boot,password=secret-boot]"] if release >= "3.9" else ())
    cluster.start()
    seed(cluster.bootstrap_servers)
    before = ask(cluster)
    active = cluster.active_controller()
    cluster.nodes[active].kill()
    assert differences(before, ask(cluster)) == [], cluster.controller_logs()
    cluster.restart(active)
    for node in cluster.brokers:
        node.stop()
        cluster.restart(node.layout.node_id)
    assert differences(before, ask(cluster)) == [], cluster.controller_logs()


@pytest.mark.parametrize(("release", "dynamic"), [("3.9.1", False), ("4.0.0", True), ("4.3.1", True)])
def test_real_controllers_are_replaced_one_by_one_and_come_back(
    release: str, dynamic: bool, clusters: Clusters, tmp_path: Path
) -> None:
    cluster = MixedCluster((release,) * 3, (release,) * 2, home=tmp_path, dynamic=dynamic)
    clusters.adopt(cluster)
    ids = [node.layout.node_id for node in cluster.controllers]
    for node_id in ids:
        cluster.replace(node_id, KafkaNode)
    cluster.format()
    # Five JVMs that start at once take longer than real brokers wait for a controller.
    for node in [*cluster.controllers, *cluster.brokers]:
        node.start()
        node.wait_started(90)
    servers = ["--bootstrap-server", cluster.bootstrap_servers]
    outputs([TOPICS, *servers, "--create", "--topic", "load", "--partitions", "4", "--replication-factor", "2"])
    with producing(cluster.bootstrap_servers, "load", tmp_path) as load:
        load.await_more()
        for kind in (FalkirkNode, KafkaNode):
            for node_id in ids:
                cluster.nodes[node_id].stop()
                cluster.replace(node_id, kind)
                cluster.restart(node_id)
                topic = f"with-{kind.__name__}-{node_id}"
                create = ["--create", "--topic", topic, "--partitions", "1", "--replication-factor", "2"]
                outputs([TOPICS, *servers, *create])
                await_output([QUORUM, *servers, "describe", "--status"], "MaxFollowerLag:         0")
                load.await_more()
        result = load.finish()
    assert result["missing"] == []
    assert result["failures"] == {}
    topics = set(outputs([TOPICS, *servers, "--list"])[0].split())
    assert topics >= {f"with-{kind}-{node_id}" for kind in ("FalkirkNode", "KafkaNode") for node_id in ids}


def test_a_directory_that_ours_has_is_refused_by_a_real_node_and_the_other_way_round(
    clusters: Clusters, tmp_path: Path
) -> None:
    cluster = MixedCluster(("4.3.1",), (), home=tmp_path)
    clusters.adopt(cluster)
    cluster.format()
    refusal = r"(?s)Failed to acquire lock on file .lock in .*node-1/d0"
    for first, second in ((FalkirkNode, KafkaNode), (KafkaNode, FalkirkNode)):
        cluster.replace(1, first)
        holder = cluster.nodes[1]
        holder.start()
        holder.wait_started()
        (port,) = free_ports(1)
        layout = replace(holder.layout, controller_port=port)
        other = second(
            "4.3.1", layout, holder.quorum, home=tmp_path / f"second-{second.__name__}", settings=holder.settings
        )
        other.start()
        with pytest.raises(KafkaNodeError, match=refusal):
            other.wait_started()
        holder.stop()
