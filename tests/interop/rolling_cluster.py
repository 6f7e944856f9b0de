"""A cluster of ours whose nodes roll from release to release one at a time, while clients go on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from falkirk_node import FalkirkNode
from falkirk_program import falkirk
from kafka_cluster import COMBINED, KafkaCluster, node_layouts
from kafka_node import KafkaNode, NodeLayout, Quorum
from mixed_cluster import QUORUM_SETTINGS
from topic_state import await_in_sync

MIN_INSYNC_REPLICAS = "2"
_SETTINGS = {
    "min.insync.replicas": MIN_INSYNC_REPLICAS,
    # One node stops at a time: there always is a quorum to ask for leave.
    "controlled.shutdown.enable": "true",
}
# What a node logs when it goes wrong, or closes the connection of a client for a request that it must not send.
_COMPLAINTS = (" ERROR ", " invalid-request ", " connection-closed ")


class RollingCluster(KafkaCluster):
    """`count` nodes of ours, each broker and controller, with static voters (kraft.version 0)."""

    def __init__(self, release: str, count: int, *, home: Path) -> None:
        layouts = node_layouts(home, dict.fromkeys(range(1, count + 1), COMBINED))
        super().__init__(release, layouts, home=home, settings=QUORUM_SETTINGS | _SETTINGS)

    def roll(self, release: str, left_to_do: Mapping[str, Sequence[str]] | None = None) -> None:
        """Run one node after the other as `release`; the next one when all replicas are in sync again.

        `left_to_do`: what a lowering has said to remove, by node.
        """
        for node in self.nodes.values():
            self.await_in_sync()
            node.run_as(release, without=(left_to_do or {}).get(str(node.layout.node_id), ()))
        self.await_in_sync()

    def features(self, *arguments: str) -> dict[str, Any]:  # Any: a JSON document
        """Run `falkirk features ... --json`, which must succeed, and return its document."""
        ended = falkirk("features", "--bootstrap-server", self.bootstrap_servers, *arguments, "--json")
        assert ended.status == 0, f"{arguments}: {ended.stderr}\n{ended.stdout}"
        return ended.document

    def await_in_sync(self) -> None:
        """Wait until every node knows all brokers, and every replica of every topic is in sync."""
        await_in_sync([layout.broker_port for layout in self.layouts], self.nodes)

    def complaints(self) -> list[str]:
        """What any node logged that it should not: errors, and requests outside the advertised versions."""
        logs = [file for node in self.nodes.values() for file in sorted(node.home.glob("server-*.log"))]
        lines = [line for file in logs for line in file.read_text(errors="replace").splitlines()]
        assert lines
        return [line for line in lines if any(complaint in line for complaint in _COMPLAINTS)]

    def _node(self, layout: NodeLayout, quorum: Quorum, home: Path, settings: Mapping[str, str]) -> KafkaNode:
        return FalkirkNode(self.release, layout, quorum, home=home, settings=settings)
