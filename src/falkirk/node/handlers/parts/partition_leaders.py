"""Current leaders of partitions, for clients that asked another broker (KIP-951)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from falkirk.node.handlers.parts.view import BrokerView


class LeaderNode(NamedTuple):
    """The address of a broker on the client's listener."""

    node_id: int
    host: str
    port: int
    rack: str | None


def current_leader(view: BrokerView, topic: str, partition_id: int) -> tuple[int, int]:
    """Return the current leader and leader epoch of a partition; -1 if unknown.

    The newest image counts: the view's is older when the response had to wait.
    """
    partition = view.broker.replicas.image.topics.partition(topic, partition_id)
    return (-1, -1) if partition is None else (partition.leader, partition.leader_epoch)


def leader_node(view: BrokerView, node_id: int, listener: str) -> LeaderNode | None:
    """Return the address of an unfenced broker on the listener of that name; None if it has none."""
    broker = view.broker.replicas.image.cluster.brokers.get(node_id)
    if broker is None or broker.fenced:
        return None
    for endpoint in broker.end_points:
        if endpoint.name == listener:
            return LeaderNode(node_id, endpoint.host, endpoint.port, broker.rack)
    return None
