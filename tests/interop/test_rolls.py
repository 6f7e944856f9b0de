"""Nodes of ours roll from release to release and back, one at a time, while real clients produce and read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from client_factory import LIBRARIES
from client_load import LOAD_TOPICS, client_loads
from kafka_answers import differences
from kafka_cluster import Clusters
from kafka_java import answers, seed
from rolling_cluster import MIN_INSYNC_REPLICAS, RollingCluster

pytestmark = pytest.mark.interop
RELEASES = {"3.7": "3.7.2", "3.9": "3.9.1", "4.0": "4.0.0", "4.3": "4.3.1", "4.4": "4.4.0"}
# Our brokers coordinate no groups and no transactions.
STEPS = "topics,configs,acls,scram,quotas,data,classic-groups"
SECTIONS = "features,topics,configs,acls,scram,quotas,offsets,messages"


def roll_up_and_down(cluster: RollingCluster, path: Sequence[str], libraries: Sequence[str], folder: Path) -> None:
    """Roll to the last release of the path, raising the levels after each roll, and back, lowering them before each."""
    cluster.format()
    cluster.start()
    seed(cluster.bootstrap_servers, "--steps", STEPS)
    before = ask(cluster)
    with client_loads(libraries, cluster.bootstrap_servers, folder, replication_factor=3) as loads:
        loads.await_rounds()
        for level in path[1:]:
            cluster.roll(RELEASES[level])
            cluster.features("upgrade-all", "--release", level)
            loads.await_rounds()
        for level in reversed(path[:-1]):
            cluster.await_in_sync()
            lowered = cluster.features("downgrade-all", "--release", level, "--wait")
            assert (lowered["losses"], lowered["inaccessible"]) == ([], [])
            loads.await_rounds()
            cluster.roll(RELEASES[level])
            loads.await_rounds()
        loads.check()
    assert differences(with_min_insync_replicas(before), ask(cluster)) == []
    assert cluster.complaints() == []


def ask(cluster: RollingCluster) -> dict[str, Any]:  # Any: a JSON document
    """Everything that the nodes tell, except for the topics of running clients."""
    reported = answers(cluster.bootstrap_servers, "--sections", SECTIONS, "--scram", cluster.scram_servers)
    for section in ("topics", "configs", "offsets", "messages"):
        reported[section] = {name: one for name, one in reported[section].items() if LOAD_TOPICS not in name}
    return reported


def with_min_insync_replicas(before: dict[str, Any]) -> dict[str, Any]:  # Any: a JSON document
    """Add the config that eligible leader replicas leave behind when they are disabled."""
    of_all = before["configs"].get("broker:", {}) | {"min.insync.replicas": MIN_INSYNC_REPLICAS}
    return before | {"configs": before["configs"] | {"broker:": of_all}}


def test_three_nodes_roll_from_39_to_43_and_back_under_a_client(clusters: Clusters, tmp_path: Path) -> None:
    cluster = RollingCluster(RELEASES["3.9"], 3, home=tmp_path)
    clusters.adopt(cluster)
    roll_up_and_down(cluster, ("3.9", "4.3"), ("librdkafka",), tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("nodes", [3, 5])
def test_nodes_roll_from_37_to_44_and_back_under_clients_of_all_kinds(
    clusters: Clusters, tmp_path: Path, nodes: int
) -> None:
    cluster = RollingCluster(RELEASES["3.7"], nodes, home=tmp_path)
    clusters.adopt(cluster)
    roll_up_and_down(cluster, tuple(RELEASES), LIBRARIES, tmp_path)
