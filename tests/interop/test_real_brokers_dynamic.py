"""Real brokers under controllers of ours whose voters are dynamic (kraft.version 1), found by bootstrap servers."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from falkirk_program import falkirk
from kafka_cluster import Clusters
from kafka_scenarios import await_leadership
from kafka_tools import FEATURES, QUORUM, TOPICS, outputs
from mixed_cluster import BOOTSTRAP, MixedCluster
from produce_load import producing

pytestmark = pytest.mark.interop
CONTROLLERS = ("4.3.1", "4.0.0", "4.3.1")
LEVEL = "4.0-IV3"


@pytest.fixture
def cluster(clusters: Clusters, tmp_path: Path) -> Iterator[MixedCluster]:
    """Two brokers on two log dirs each; every one has a replica of each partition."""
    made = MixedCluster(CONTROLLERS, ("4.3.1", "4.0.0"), home=tmp_path / "cluster", log_dirs=2, dynamic=True)
    clusters.adopt(made)
    made.format(release_version=LEVEL)
    made.start()
    yield made
    print(made.controller_logs())  # noqa: T201 - pytest shows it with the failure


def await_in_sync(cluster: MixedCluster) -> None:
    await_leadership(cluster, lambda state: all(len(one["isr"]) == 2 for one in state["partitions"].values()))


@pytest.mark.parametrize("deaths", [1, pytest.param(3, marks=pytest.mark.full)])
def test_brokers_find_a_quorum_of_dynamic_voters_and_follow_its_leaders(
    cluster: MixedCluster, tmp_path: Path, deaths: int
) -> None:
    servers = ["--bootstrap-server", cluster.bootstrap_servers]
    topic = ["--topic", "load", "--partitions", "4", "--replication-factor", "2"]
    status, _ = outputs([QUORUM, *servers, "describe", "--status"], [TOPICS, *servers, "--create", *topic])
    assert status.count('"directoryId"') == 3 + 2
    assert status.count('"endpoints": ["CONTROLLER://127.0.0.1:') == 3
    with producing(cluster.bootstrap_servers, "load", tmp_path) as load:
        load.await_more()
        # The leader of the moment dies first, and of three deaths each controller's is one.
        killed = cluster.active_controller()
        for _ in range(deaths):
            cluster.nodes[killed].kill()
            cluster.nodes[11].kill()
            # Nothing more is acked until a new controller has taken the dead broker out.
            load.await_more()
            cluster.restart(killed)
            cluster.restart(11)
            await_in_sync(cluster)
            killed = killed % 3 + 1
        result = load.finish()
    assert result["missing"] == []
    assert result["failures"] == {}


@pytest.mark.full
def test_dynamic_voters_lower_metadata_version_under_real_brokers_that_then_run_an_older_release(
    cluster: MixedCluster, tmp_path: Path
) -> None:
    servers = ["--bootstrap-server", cluster.bootstrap_servers]
    outputs([TOPICS, *servers, "--create", "--topic", "load", "--partitions", "4", "--replication-factor", "2"])
    lowering = ["features", "downgrade-all", "--release", "3.9", "--unsafe", "--allow-forced-snapshot", "--wait"]
    with producing(cluster.bootstrap_servers, "load", tmp_path) as load:
        load.await_more()
        ended = falkirk(*lowering, "--json", *servers)
        assert ended.status == 0, ended
        assert {*ended.document["waited"]["nodes"]} == {1, 2, 3, 11, 12}
        for broker in cluster.brokers:
            broker.run_as("3.9.1", without=[BOOTSTRAP])
            await_in_sync(cluster)
        load.await_more()
        result = load.finish()
    assert result["missing"] == []
    assert result["failures"] == {}
    [features] = outputs([FEATURES, *servers, "describe"])
    levels = dict(re.findall(r"Feature: (\S+)\s.*FinalizedVersionLevel: (\S+)", features))
    assert (levels["metadata.version"], levels["kraft.version"]) == ("3.9-IV0", "1")
