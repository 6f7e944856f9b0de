"""`falkirk lift run` from release to release of real Kafka, under transactions, groups and metadata writes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from kafka_cluster import COMBINED, Clusters, KafkaCluster
from kafka_node import BROKER
from kafka_tools import FEATURES, outputs
from lifted_cluster import under_load
from operator_load import operator_load
from topic_state import await_in_sync
from waiting import becomes

pytestmark = [pytest.mark.interop, pytest.mark.full]
BOOTSTRAP = "bootstrap.checkpoint"
THREE = dict.fromkeys((1, 2, 3), COMBINED)
# What the load has in use; a lift refuses what is not named.
LOSSES = ["consumer_group", "open_transaction"]
SESSIONS = {
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.heartbeat.interval.ms": "1000",
}


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A cluster of `release`, and where it goes; `upgrade`: the release that it is upgraded to in the end."""

    release: str = "4.3.1"
    target: str
    binaries: str
    roles: Mapping[int, tuple[str, ...]] = field(default_factory=lambda: THREE)
    upgrade: str = "4.3"
    log_dirs: int = 1

    def made(self, clusters: Clusters) -> KafkaCluster:
        """Return the cluster, running."""
        cluster = clusters.new(self.release, self.roles, dynamic=True, log_dirs=self.log_dirs, settings=SESSIONS)
        cluster.format()
        cluster.start()
        return cluster


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(Pair(target="3.9", binaries="3.9.1", log_dirs=2), id="combined-431-391-jbod"),
        pytest.param(Pair(target="4.0", binaries="4.0.0"), id="combined-431-400"),
    ],
)
def test_a_cluster_goes_down_under_load_then_its_binaries_then_it_goes_up_again(
    clusters: Clusters, tmp_path: Path, pair: Pair
) -> None:
    cluster = pair.made(clusters)
    servers = cluster.bootstrap_servers
    brokers = [node_id for node_id, kinds in pair.roles.items() if BROKER in kinds]
    before = {node_id: node.release for node_id, node in cluster.nodes.items()}
    with (
        under_load(clusters, tmp_path, pair.roles, made=cluster, target=pair.target, accept_losses=LOSSES) as lifted,
        operator_load(servers, replication_factor=len(brokers)) as load,
    ):
        level = lifted.check()["to"]["name"]
        ended = lifted.lift("run")
        assert ended.status == 0, ended.stderr
        assert lifted.status()["level"] == level
        lifted.check_voters()
        roll(cluster, dict.fromkeys(cluster.nodes, pair.binaries), brokers)
        load.check()
        lifted.loads.await_rounds(1)
        # Nothing that a lift leaves behind keeps real Kafka from its own way up.
        roll(cluster, before, brokers)
        outputs([FEATURES, "--bootstrap-server", servers, "upgrade", "--release-version", pair.upgrade])
        becomes(lambda: lifted.status()["level"] != level, True)
    cluster.stop()
    lifted.check_no_trace()


def roll(cluster: KafkaCluster, releases: Mapping[int, str], brokers: list[int]) -> None:
    """Restart node by node as another release, each when all partitions are in sync."""
    for node_id, release in releases.items():
        cluster.nodes[node_id].run_as(release, without=[BOOTSTRAP])
        await_in_sync([cluster.nodes[each].layout.broker_port for each in brokers], brokers)
