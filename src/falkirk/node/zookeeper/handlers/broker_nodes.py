"""The brokers as the clients of one listener may see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.node.zookeeper.handlers.zookeeper_view import ZooKeeperView


class BrokerNode(NamedTuple):
    """Where a broker is to be reached."""

    broker_id: int
    host: str
    port: int
    rack: str | None


def broker_nodes(view: ZooKeeperView, listener: str) -> Iterator[BrokerNode]:
    """Give the registered brokers that have a listener of this name, in the order of their ids."""
    for broker_id, znode in view.brokers.items():
        for endpoint in znode.endpoints:
            if endpoint.listener == listener:
                yield BrokerNode(broker_id, endpoint.host, endpoint.port, znode.rack)
