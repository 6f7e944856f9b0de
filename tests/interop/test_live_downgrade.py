"""Real 4.3.1 brokers under our controllers go down to 3.9.1 and 3.7.2 while they run: the forced snapshot.

Producers and consumers go on meanwhile. At the end the brokers answer as before, except for what the lowering reported.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from client_load import LOAD_TOPICS, ClientLoads, client_loads
from falkirk_program import Ended, falkirk
from group_member import group_member
from kafka_answers import differences, facts
from kafka_cluster import Clusters
from kafka_java import seed
from kafka_ledger import expected_answers
from kafka_node import KafkaNode
from kafka_state import BOOT_USER, ask
from mixed_cluster import BOOTSTRAP, MixedCluster
from topic_state import await_in_sync
from waiting import await_at_once

pytestmark = pytest.mark.interop
BROKERS = (11, 12, 13)
STEPS = "topics,configs,acls,scram,quotas,data,transactions,classic-groups,consumer-groups"
GOES_ON = "goes-on"
METADATA_VERSION = b"metadata.version"
# What a broker logs as it begins to fetch a snapshot.
FETCHING = "Fetching snapshot "
LIBRARIES = ("librdkafka", "kafka-python", "java-3.7.2", "java-4.3.1")
Document = dict[str, Any]  # Any: JSON values


class Downgrading:
    """A cluster on its way down: its first answers, and what its lowerings reported."""

    def __init__(self, cluster: MixedCluster) -> None:
        self.cluster = cluster
        self.before = self._ask()
        self.losses: list[Document] = []
        self.inaccessible: list[Document] = []
        # Nodes that a lowering does not wait for.
        self.dead: set[int] = set()

    def features(self, *arguments: str) -> Ended:
        """Run `falkirk features ... --json` through the brokers."""
        return falkirk("features", "--bootstrap-server", self.cluster.bootstrap_servers, *arguments, "--json")

    def refuse(self, level: str) -> None:
        """Without `--unsafe` real brokers block the lowering, by name."""
        refused = self.features("downgrade-all", "--release", level, "--unsafe")
        assert refused.status == 1, refused
        blockers = refused.document["blockers"]
        assert [(one["role"], one["node_id"], one["reason"]) for one in blockers] == [
            ("broker", broker, "cannot-lower") for broker in BROKERS
        ]

    def plan(self, level: str) -> None:
        """Keep what the lowering will report: a command whose controller dies may not print it."""
        planned = self.lowering(level, "--dry-run")
        self.losses += [one for one in planned["losses"] if one not in self.losses]
        # What is not accessible at one level is still there, and told again on the way to the next.
        reported = {(one["kind"], one["key"]) for one in self.inaccessible}
        self.inaccessible += [one for one in planned["inaccessible"] if (one["kind"], one["key"]) not in reported]

    def lower(self, level: str) -> None:
        """Lower all features to those of a release, by the forced snapshot; every live node then has it."""
        waited = self.lowering(level, "--wait")["waited"]
        assert {*waited["nodes"], *waited["ghosts"]} == {1, 2, 3, *BROKERS}
        assert waited["left_to_do"] == {str(node_id): [BOOTSTRAP] for node_id in waited["nodes"]}
        assert set(waited["ghosts"]) == self.dead

    def lowering(self, level: str, *options: str) -> Document:
        """Run the command, which must succeed."""
        ended = self.features("downgrade-all", "--release", level, "--unsafe", "--allow-forced-snapshot", *options)
        assert ended.status == 0, ended
        return ended.document

    def swap(self, release: str, loads: ClientLoads) -> None:
        """Restart one broker after the other as an older release, on the same directories."""
        for node in self.cluster.brokers:
            self.await_in_sync()
            node.run_as(release, without=[BOOTSTRAP])
            loads.await_rounds(1)
        self.await_in_sync()

    def await_in_sync(self) -> None:
        """Wait until each broker knows all of them, and every replica is in sync."""
        await_in_sync([node.layout.broker_port for node in self.cluster.brokers], BROKERS)

    def check(self, release: str, metadata_version: int) -> None:
        """Everything is as before except for the ledger."""
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
        reported = ask(self.cluster)
        for section in ("topics", "configs", "offsets", "messages"):
            reported[section] = {name: one for name, one in reported[section].items() if LOAD_TOPICS not in name}
        reported["groups"]["groups"].pop(GOES_ON, None)
        return reported


def started(clusters: Clusters, home: Path, **settings: str) -> MixedCluster:
    """Three controllers of ours and three real brokers, at 4.3-IV0 and filled."""
    cluster = MixedCluster(("4.3.1",) * 3, ("4.3.1",) * len(BROKERS), home=home, settings=settings)
    clusters.adopt(cluster)
    cluster.format(release_version="4.3-IV0", scram=[BOOT_USER])
    cluster.start()
    assert seed(cluster.bootstrap_servers, "--steps", STEPS)["left_out"] == {}
    return cluster


@contextmanager
def under_load(cluster: MixedCluster, libraries: Sequence[str], folder: Path) -> Iterator[ClientLoads]:
    """Clients and a group go on while the block runs; at its end they have lost nothing."""
    servers = cluster.bootstrap_servers
    try:
        with client_loads(libraries, servers, folder, replication_factor=3) as loads:
            first = loads.loads[0]
            with group_member(servers, first.topic, GOES_ON) as member:
                yield loads
                loads.check()
                member.await_end(first.acked)
    finally:
        print(cluster.controller_logs())  # noqa: T201 - pytest shows it with the failure


def test_real_brokers_go_from_43_to_39_while_they_run(clusters: Clusters, tmp_path: Path) -> None:
    cluster = started(clusters, tmp_path / "cluster")
    downgrading = Downgrading(cluster)
    with under_load(cluster, ("librdkafka",), tmp_path) as loads:
        downgrading.refuse("3.9")
        downgrading.plan("3.9")
        downgrading.lower("3.9")
        loads.await_rounds()
        downgrading.swap("3.9.1", loads)
    downgrading.check("3.9.1", 21)


@pytest.mark.full
def test_real_brokers_go_from_43_to_37_while_they_run(clusters: Clusters, tmp_path: Path) -> None:
    cluster = started(clusters, tmp_path / "cluster")
    downgrading = Downgrading(cluster)
    with under_load(cluster, LIBRARIES, tmp_path) as loads:
        for level, release in (("3.9", "3.9.1"), ("3.7", "3.7.2")):
            downgrading.refuse(level)
            downgrading.plan(level)
            downgrading.lower(level)
            loads.await_rounds()
            downgrading.swap(release, loads)
        for node in cluster.controllers:
            node.run_as("3.7.2", without=[BOOTSTRAP])
            downgrading.await_in_sync()
            loads.await_rounds(1)
    downgrading.check("3.7.2", 19)


@pytest.mark.full
def test_a_broker_is_killed_as_it_fetches_the_snapshot(clusters: Clusters, tmp_path: Path) -> None:
    cluster = started(clusters, tmp_path / "cluster")
    downgrading = Downgrading(cluster)
    killed = cluster.nodes[12]
    fetched_before = killed.log_text().count(FETCHING)
    with under_load(cluster, ("librdkafka",), tmp_path) as loads, ThreadPoolExecutor(1) as pool:
        downgrading.plan("3.9")
        downgrading.dead = {12}
        lowering = pool.submit(downgrading.lower, "3.9")
        await_at_once(lambda: killed.log_text().count(FETCHING) > fetched_before)
        killed.kill()
        # A file that ends with .part shows that it had not all of it; on a slow machine it may.
        print(metadata_files(killed))  # noqa: T201 - pytest shows it with the failure
        loads.await_rounds()
        lowering.result()
        cluster.restart(12)
        downgrading.swap("3.9.1", loads)
    downgrading.check("3.9.1", 21)


@pytest.mark.full
def test_our_leader_is_killed_between_commit_and_snapshot(clusters: Clusters, tmp_path: Path) -> None:
    """It is killed as soon as a standby has the records: two of three do, whether or not the leader knows."""
    cluster = started(clusters, tmp_path / "cluster")
    downgrading = Downgrading(cluster)
    leader = cluster.nodes[cluster.active_controller()]
    standbys = [node for node in cluster.controllers if node is not leader]
    with under_load(cluster, ("librdkafka",), tmp_path) as loads, ThreadPoolExecutor(1) as pool:
        downgrading.plan("3.9")
        files = metadata_files(leader)
        sizes = {node: len(metadata_log(node)) for node in standbys}
        lowering = pool.submit(downgrading.lower, "3.9")
        await_at_once(lambda: any(METADATA_VERSION in metadata_log(node)[size:] for node, size in sizes.items()))
        leader.kill()
        # Nothing new if it had no time for a snapshot; on another day it may.
        print(metadata_files(leader) - files)  # noqa: T201 - pytest shows it with the failure
        cluster.restart(leader.layout.node_id)
        loads.await_rounds()
        lowering.result()
        downgrading.swap("3.9.1", loads)
    # The command asks again. Had the records got lost, the next leader would have lowered the level anew.
    assert len(list(cluster.home.glob("node-*/falkirk-undo/*.zip"))) == 1
    downgrading.check("3.9.1", 21)


def metadata_folder(node: KafkaNode) -> Path:
    return node.layout.log_dirs[0] / "__cluster_metadata-0"


def metadata_files(node: KafkaNode) -> set[str]:
    """Snapshots and segments."""
    return {file.name for file in metadata_folder(node).iterdir() if file.suffix in (".checkpoint", ".log", ".part")}


def metadata_log(node: KafkaNode) -> bytes:
    """The newest segment."""
    return max(metadata_folder(node).glob("*.log")).read_bytes()
