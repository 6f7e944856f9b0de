"""A cluster of our controllers and real brokers, each of a release of its own."""

from collections.abc import Mapping
from pathlib import Path

from falkirk_node import FalkirkNode
from kafka_cluster import KafkaCluster, node_layouts
from kafka_node import BROKER, CONTROLLER, KafkaNode, NodeLayout, Quorum

CONTROLLER_IDS = (1, 2, 3)
FIRST_BROKER_ID = 11
# Elections of a test need not wait as long as those of a wide network.
QUORUM_SETTINGS = {
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.election.backoff.max.ms": "300",
    "controller.quorum.fetch.timeout.ms": "1000",
}


class MixedCluster(KafkaCluster):
    """Three controllers of ours, nodes 1 to 3, that run as `release`, and real brokers from node 11 on."""

    def __init__(
        self,
        release: str,
        broker_releases: tuple[str, ...],
        *,
        home: Path,
        log_dirs: int = 1,
        dynamic: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.broker_releases = dict(enumerate(broker_releases, FIRST_BROKER_ID))
        roles = dict.fromkeys(CONTROLLER_IDS, (CONTROLLER,)) | dict.fromkeys(self.broker_releases, (BROKER,))
        layouts = node_layouts(home, roles, log_dirs=log_dirs)
        super().__init__(
            release, layouts, home=home, dynamic=dynamic, settings=QUORUM_SETTINGS | dict(settings or {})
        )

    @property
    def controllers(self) -> list[KafkaNode]:
        """Our nodes."""
        return [self.nodes[node_id] for node_id in CONTROLLER_IDS]

    @property
    def brokers(self) -> list[KafkaNode]:
        """Kafka's nodes."""
        return [self.nodes[node_id] for node_id in self.broker_releases]

    @property
    def bootstrap_controllers(self) -> str:
        """The controllers' addresses."""
        return ",".join(f"127.0.0.1:{node.layout.controller_port}" for node in self.controllers)

    def _node(self, layout: NodeLayout, quorum: Quorum, home: Path, settings: Mapping[str, str]) -> KafkaNode:
        if CONTROLLER in layout.roles:
            return FalkirkNode(self.release, layout, quorum, home=home, settings=settings)
        return KafkaNode(self.broker_releases[layout.node_id], layout, quorum, home=home, settings=settings)
