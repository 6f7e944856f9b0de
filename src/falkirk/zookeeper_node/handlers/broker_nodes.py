"""The brokers as the clients of one listener see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.zookeeper_node.handlers.zookeeper_view import ZooKeeperView


class BrokerNode(NamedTuple):
    """A broker's address."""

    broker_id: int
    host: str
    port: int
    rack: str | None


def broker_nodes(view: ZooKeeperView, listener: str) -> Iterator[BrokerNode]:
    """Yield the registered brokers that have a listener of this name, by id."""
    for broker_id, znode in view.brokers.items():
        for endpoint in znode.endpoints:
            if endpoint.listener == listener:
                yield BrokerNode(broker_id, endpoint.host, endpoint.port, znode.rack)
