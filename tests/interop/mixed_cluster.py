"""A cluster of our controllers and of brokers, real ones or ours, each of its own release."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from falkirk_node import FalkirkNode
from kafka_cluster import KafkaCluster, node_layouts
from kafka_node import BROKER, CONTROLLER, KafkaNode, NodeLayout, Quorum
from kafka_state import leadership

FIRST_CONTROLLER_ID = 1
FIRST_BROKER_ID = 11
# Elections of a test need not wait as long as those of a wide network.
QUORUM_SETTINGS = {
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.election.backoff.max.ms": "300",
    "controller.quorum.fetch.timeout.ms": "1000",
}
# What a node was formatted with. Where a level was lowered it has to go before an older release is started: so
# `falkirk features downgrade --wait` tells.
BOOTSTRAP = "bootstrap.checkpoint"


class MixedCluster(KafkaCluster):
    """Controllers of ours from node 1 on, running as the given releases, and brokers from node 11 on.

    Brokers are real except for `own_brokers`, by node id.
    """

    def __init__(
        self,
        controller_releases: Sequence[str],
        broker_releases: Sequence[str],
        *,
        home: Path,
        own_brokers: Collection[int] = (),
        log_dirs: int = 1,
        dynamic: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._controller_releases = dict(enumerate(controller_releases, FIRST_CONTROLLER_ID))
        self._broker_releases = dict(enumerate(broker_releases, FIRST_BROKER_ID))
        self._own_nodes = {*self._controller_releases, *own_brokers}
        roles = dict.fromkeys(self._controller_releases, (CONTROLLER,))
        roles |= dict.fromkeys(self._broker_releases, (BROKER,))
        layouts = node_layouts(home, roles, log_dirs=log_dirs)
        super().__init__(
            controller_releases[0],
            layouts,
            home=home,
            dynamic=dynamic,
            settings=QUORUM_SETTINGS | dict(settings or {}),
        )

    @property
    def controllers(self) -> list[KafkaNode]:
        """The controllers, which are ours."""
        return [self.nodes[node_id] for node_id in self._controller_releases]

    @property
    def brokers(self) -> list[KafkaNode]:
        """The brokers."""
        return [self.nodes[node_id] for node_id in self._broker_releases]

    @property
    def bootstrap_controllers(self) -> str:
        """The controllers' addresses."""
        return ",".join(f"127.0.0.1:{node.layout.controller_port}" for node in self.controllers)

    def active_controller(self) -> int:
        """The quorum's leader, as brokers know it."""
        leader_id: int = leadership(self)["quorum_leader"]
        return leader_id

    def restart(self, node_id: int) -> None:
        """Restart a node that has ended, and wait until it serves."""
        self.nodes[node_id].start()
        self.nodes[node_id].wait_started()

    def replace(self, node_id: int, kind: type[KafkaNode]) -> None:
        """Make a stopped node one of ours, or a real one of the same release, on the same directories and ports."""
        node = self.nodes[node_id]
        self.nodes[node_id] = kind(
            node.release,
            node.layout,
            node.quorum,
            home=node.home.with_name(f"{node.home.name}-again"),
            settings=node.settings,
        )

    def controller_logs(self) -> str:
        """The log tails of our controllers, for the message of a failed test."""
        return "\n".join(f"--- {node}\n{node.log_tail()}" for node in self.controllers)

    def own_logs(self) -> str:
        """The log tails of all nodes of ours, brokers included."""
        return "\n".join(
            f"--- {node}\n{node.log_tail()}" for node in self.nodes.values() if isinstance(node, FalkirkNode)
        )

    def _node(self, layout: NodeLayout, quorum: Quorum, home: Path, settings: Mapping[str, str]) -> KafkaNode:
        kind = FalkirkNode if layout.node_id in self._own_nodes else KafkaNode
        release = (self._controller_releases | self._broker_releases)[layout.node_id]
        return kind(release, layout, quorum, home=home, settings=settings)
