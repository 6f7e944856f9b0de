"""Real 4.3.1 brokers under our controllers go down to 3.9.1 and 3.7.2 while they run: the forced snapshot.

Producers and consumers go on meanwhile. At the end the brokers answer as before, but for what the lowering has told.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from client_load import LOAD_TOPICS, ClientLoads, client_loads
from falkirk_program import Ended, falkirk
from kafka_answers import differences, facts
from kafka_cluster import Clusters
from kafka_java import seed
from kafka_ledger import expected_answers
from kafka_node import KafkaNode
from kafka_state import BOOT_USER, ask
from mixed_cluster import MixedCluster
from topic_state import await_in_sync

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.xdist_group("kafka-2")]
BROKERS = (11, 12, 13)
STEPS = "topics,configs,acls,scram,quotas,data,transactions,classic-groups,consumer-groups"
BOOTSTRAP = "bootstrap.checkpoint"
Document = dict[str, Any]  # Any: JSON values


class Downgrading:
    """A cluster on its way down: what it answered at first, and what its lowerings have told."""

    def __init__(self, cluster: MixedCluster) -> None:
        self.cluster = cluster
        self.before = self._ask()
        self.losses: list[Document] = []
        self.inaccessible: list[Document] = []

    def features(self, *arguments: str) -> Ended:
        """Run `falkirk features ... --json` by way of the brokers."""
        return falkirk("features", "--bootstrap-server", self.cluster.bootstrap_servers, *arguments, "--json")

    def lower(self, level: str) -> None:
        """Lower all features to those of a release, by the forced snapshot."""
        asked = ("downgrade-all", "--release", level, "--unsafe")
        refused = self.features(*asked)
        assert refused.status == 1, refused
        blockers = refused.document["blockers"]
        assert [(one["role"], one["node_id"], one["reason"]) for one in blockers] == [
            ("broker", broker, "cannot-lower") for broker in BROKERS
        ]
        lowered = self.features(*asked, "--allow-forced-snapshot", "--wait")
        assert lowered.status == 0, lowered
        self.losses += lowered.document["losses"]
        self.inaccessible += lowered.document["inaccessible"]
        assert lowered.document["waited"]["left_to_do"].keys() >= {str(broker) for broker in BROKERS}

    def swap(self, release: str, loads: ClientLoads) -> None:
        """Have one broker after the other run as an older release, on the same directories."""
        for node in self.cluster.brokers:
            await_in_sync([other.layout.broker_port for other in self.cluster.brokers], BROKERS)
            swap(node, release)
            loads.await_rounds(1)
        await_in_sync([node.layout.broker_port for node in self.cluster.brokers], BROKERS)

    def check(self, release: str, metadata_version: int) -> None:
        """Everything is as before but for the ledger."""
        groups = self.before["groups"]["groups"]
        ledger = {
            "to": {"release": release},
            "features": {"after": {"metadata.version": metadata_version}},
            "losses": self.losses,
            "inaccessible": self.inaccessible,
            "groups": [
                {"group": name, "lost": ["group"] if group["type"] == "Consumer" else []}
                for name, group in groups.items()
            ],
        }
        assert facts(self.before) > 500
        assert differences(expected_answers(self.before, ledger), self._ask()) == []

    def _ask(self) -> Document:
        told = ask(self.cluster)
        for section in ("topics", "configs", "offsets", "messages"):
            told[section] = {name: one for name, one in told[section].items() if LOAD_TOPICS not in name}
        return told


def swap(node: KafkaNode, release: str) -> None:
    """What `falkirk features downgrade --wait` tells to do."""
    node.stop()
    for path in node.layout.log_dirs:
        (path / BOOTSTRAP).unlink(missing_ok=True)
    node.release = release
    node.start()
    node.wait_started()


@pytest.fixture
def cluster(clusters: Clusters, tmp_path: Path) -> Iterator[MixedCluster]:
    made = MixedCluster(("4.3.1",) * 3, ("4.3.1",) * len(BROKERS), home=tmp_path / "cluster")
    clusters.adopt(made)
    made.format(release_version="4.3-IV0", scram=[BOOT_USER])
    made.start()
    assert seed(made.bootstrap_servers, "--steps", STEPS)["left_out"] == {}
    yield made
    print(made.controller_logs())  # noqa: T201 - pytest shows it with the failure


def test_real_brokers_go_from_43_to_39_while_they_run(cluster: MixedCluster, tmp_path: Path) -> None:
    downgrading = Downgrading(cluster)
    with client_loads(("librdkafka",), cluster.bootstrap_servers, tmp_path, replication_factor=3) as loads:
        downgrading.lower("3.9")
        loads.await_rounds()
        downgrading.swap("3.9.1", loads)
        loads.check()
    downgrading.check("3.9.1", 21)
