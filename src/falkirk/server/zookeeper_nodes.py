"""Brokers on one ZooKeeper on this machine, each with its configuration in a directory of its own.

DIR/zookeeper/         the server's directory
DIR/node-1/            server.properties and server.log of a broker
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.server.cluster_layout import HOST, PROPERTIES, ClusterLayout, NodeLayout, node_home
from falkirk.server.serve_zookeeper import opened_on_zookeeper
from falkirk.storage.properties_file import format_property
from falkirk.versions.release import Release
from falkirk.zookeeper_node.config.properties import read_zookeeper_properties

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from falkirk.server.fact_log import FactLog
    from falkirk.server.opened_node import OpenedNode
    from falkirk.server.serve_zookeeper import MakeZooKeeperNode
    from falkirk.zookeeper_node.config.properties import ZooKeeperProperties
    from falkirk.zookeeper_node.config.zookeeper_node_config import ZooKeeperNodeConfig


SAMPLE_FEATURES: Final = (
    "consumer_offsets_topic_schema:1,group_coordinator:1-2,replication_throttling:1-2,transaction_coordinator:1-5"
)
"""Those of KIP-584's samples, so that a trial can play them."""


def brokers_layout(release: Release, brokers: int) -> ClusterLayout:
    """Return a layout of brokers only, without ports. Their cluster id is in ZooKeeper."""
    nodes = tuple(NodeLayout(node_id=node_id, broker_port=0) for node_id in range(1, brokers + 1))
    return ClusterLayout(release=release.name, cluster_id="", nodes=nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperNodes:
    """Opens the nodes of a layout. `zookeeper`: the server's host:port. `overrides` are for all of them."""

    directory: Path
    layout: ClusterLayout
    zookeeper: str
    overrides: Mapping[str, str]
    make_node: MakeZooKeeperNode

    def write(self) -> None:
        """Write each node's server.properties. Raises ConfigError and OSError."""
        for node in self.layout.nodes:
            home = node_home(self.directory, node)
            home.mkdir(parents=True, exist_ok=True)
            self._read(node)
            (home / PROPERTIES).write_bytes(b"".join(format_property(*item) for item in self._given(node).items()))

    def open(self, node: NodeLayout, log: FactLog) -> AbstractContextManager[OpenedNode[ZooKeeperNodeConfig]]:
        """Open a node. Raises ServerError and ConfigError."""
        return opened_on_zookeeper(self._read(node), self.make_node, log)

    def _read(self, node: NodeLayout) -> ZooKeeperProperties:
        return read_zookeeper_properties(self._given(node), Release.parse(self.layout.release), hostname=HOST)

    def _given(self, node: NodeLayout) -> dict[str, str]:
        return {
            "broker.id": str(node.node_id),
            "listeners": f"PLAINTEXT://{HOST}:{node.broker_port}",
            "zookeeper.connect": self.zookeeper,
            "falkirk.supported.features": SAMPLE_FEATURES,
            **self.overrides,
        }
