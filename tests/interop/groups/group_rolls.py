"""Three nodes with groups that roll from release to release: coordinators, committed offsets, counts."""

import json
import re
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import confluent_kafka.admin as ck_admin
from falkirk_program import Ended, falkirk
from group_offsets import Committed, committed
from kafka.errors import KafkaError
from kafka_node import KafkaNode, NodeLayout, Quorum
from kafka_ports import free_ports
from rolling_cluster import RollingCluster
from waiting import becomes

NODES = 3
_COUNT = re.compile(r'^kafka_server_group_coordinator_metrics_group_count\{protocol="(\w+)"\} (\S+)$', re.MULTILINE)
_EMPTY = re.compile(
    r'^kafka_server_group_coordinator_metrics_consumer_group_count\{state="(\w+)"\} (\S+)$', re.MULTILINE
)
_ANSWER_S = 30
_PATIENCE_S = 60
_PAUSE_S = 0.2
# Its records are more than the nodes wait for until they write a snapshot.
_FILLER, _FILLER_PARTITIONS = "filler", 200


class GroupRolls(RollingCluster):
    """Our nodes, each with its metrics."""

    def __init__(self, release: str, *, home: Path) -> None:
        self._metrics_ports = dict(zip(range(1, NODES + 1), free_ports(NODES), strict=True))
        super().__init__(release, NODES, home=home)

    def coordinator(self, group: str) -> KafkaNode:
        """The node that coordinates a group."""
        admin = self._admin()
        found = admin.describe_consumer_groups([group])[group].result(_ANSWER_S)
        return self.nodes[found.coordinator.id]

    def members(self, group: str) -> tuple[str, int, list[int]]:
        """A group's state, its number of members, and all their partitions."""
        admin = self._admin()
        found = admin.describe_consumer_groups([group])[group].result(_ANSWER_S)
        owned = [one.partition for each in found.members for one in each.assignment.topic_partitions]
        return found.state.name, len(found.members), sorted(owned)

    def committed(self, group: str) -> Committed:
        """The response of OffsetFetch, retried only while no coordinator answers. Raises KafkaError."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                return committed(self.running_servers, group)
            except KafkaError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE_S)

    def types(self) -> dict[str, str]:
        """The type of every group, as `falkirk groups list --type` lists it."""
        ended = falkirk("groups", "list", "--type", "--bootstrap-server", self.bootstrap_servers, "--json")
        assert ended.status == 0, ended
        return {one["group"]: one["type"] for one in ended.document["groups"]}

    def counts(self) -> dict[str, float]:
        """The number of groups of each protocol by the metrics; empty KIP-848 groups do not count."""
        found: Counter[str] = Counter()
        for port in self._metrics_ports.values():
            with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                text = answer.read().decode()
            found.update({name: float(count) for name, count in _COUNT.findall(text)})
            found["consumer"] -= sum(float(count) for state, count in _EMPTY.findall(text) if state.lower() == "empty")
        return dict(found)

    def try_features(self, *arguments: str) -> Ended:
        """Run `falkirk features ... --json`, whatever its exit status."""
        return falkirk("features", "--bootstrap-server", self.bootstrap_servers, *arguments, "--json")

    def lower(self, *arguments: str) -> Mapping[str, list[str]]:
        """Lower features without losses, on every node. Returns what remains to be removed, by node."""
        lowered = self.features(*arguments, "--wait")
        assert not lowered["losses"]
        left: dict[str, list[str]] = lowered["waited"]["left_to_do"]
        return left

    def _admin(self) -> ck_admin.AdminClient:
        """A client of the running nodes. It must outlive its requests."""
        return ck_admin.AdminClient({"bootstrap.servers": self.running_servers, "log_level": 0})

    def _node(self, layout: NodeLayout, quorum: Quorum, home: Path, settings: Mapping[str, str]) -> KafkaNode:
        metrics = {"falkirk.metrics.listener": f"127.0.0.1:{self._metrics_ports[layout.node_id]}"}
        return super()._node(layout, quorum, home, dict(settings) | metrics)


class KafkaGroupRolls(GroupRolls):
    """Real Kafka in place of ours; its metrics are in JMX."""

    def counts(self) -> dict[str, float]:
        """The same from the list of groups."""
        ended = falkirk("groups", "list", "--type", "--state", "--bootstrap-server", self.bootstrap_servers, "--json")
        found = Counter(one["type"].lower() for one in ended.document["groups"] if one["state"] != "Empty")
        return {"classic": found["classic"], "consumer": found["consumer"]}

    def await_snapshots(self) -> None:
        """Let each node write a snapshot: an older release ends where its log has a level that it does not know."""
        before = {node: _snapshots(node) for node in self.nodes.values()}
        admin = self._admin()
        admin.create_topics([ck_admin.NewTopic(_FILLER, _FILLER_PARTITIONS, 1)])[_FILLER].result(_ANSWER_S)
        admin.delete_topics([_FILLER])[_FILLER].result(_ANSWER_S)
        becomes(lambda: [node.layout.node_id for node, found in before.items() if _snapshots(node) <= found], [])

    def _node(self, layout: NodeLayout, quorum: Quorum, home: Path, settings: Mapping[str, str]) -> KafkaNode:
        return KafkaNode(self.release, layout, quorum, home=home, settings=settings)


def _snapshots(node: KafkaNode) -> set[str]:
    return {file.name for file in node.layout.log_dirs[0].glob("__cluster_metadata-0/*.checkpoint")}


def details(document: Mapping[str, Any]) -> str:  # Any: a JSON document
    """The details of a refusal as one text."""
    return json.dumps([document.get(key) for key in ("losses", "blockers", "inaccessible")])
