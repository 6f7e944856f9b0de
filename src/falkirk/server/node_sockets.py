"""All listening sockets of a node of any kind, bound before anything else of it is touched."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from falkirk.node.config.node_config import NodeConfig
from falkirk.server import listening
from falkirk.server.metrics_listener import bind_metrics, shown_address
from falkirk.zookeeper_node.config.zookeeper_node_config import ZooKeeperNodeConfig

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator, Sequence

    from falkirk.server.listening import ListeningSocket

C = TypeVar("C", NodeConfig, ZooKeeperNodeConfig)


@dataclass(frozen=True, slots=True)
class NodeSockets:
    """The sockets of listeners, and that of metrics if they are served."""

    listeners: Sequence[ListeningSocket]
    metrics: socket.socket | None

    def bound(self, config: C) -> C:
        """Return the configuration with the ports that the listeners were bound to, where it asked for any port."""
        return replace(
            config,
            listeners=tuple(one.listener for one in self.listeners),
            metrics_listener=None if self.metrics is None else shown_address(self.metrics),
        )


@contextmanager
def node_sockets(config: NodeConfig | ZooKeeperNodeConfig) -> Iterator[NodeSockets]:
    """Bind the sockets of a configuration, and close them at the end. Raises ServerError, and nothing is bound then."""
    listeners = listening.bind(config.listeners)
    metrics: socket.socket | None = None
    try:
        if config.metrics_listener is not None:
            metrics = bind_metrics(config.metrics_listener)
        yield NodeSockets(listeners, metrics)
    finally:
        listening.close(listeners)
        if metrics is not None:
            metrics.close()
