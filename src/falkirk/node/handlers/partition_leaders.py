"""Who leads a partition, and where: told to clients that asked somebody else (KIP-951)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.handlers.handler import NodeView


class LeaderNode(NamedTuple):
    """A broker, as clients of a listener reach it."""

    node_id: int
    host: str
    port: int
    rack: str | None


def current_leader(view: NodeView, topic: str, partition_id: int) -> tuple[int, int]:
    """Give a partition's leader and leader epoch, as they are now; -1 for what is not known."""
    partition = _image(view).topics.partition(topic, partition_id)
    return (-1, -1) if partition is None else (partition.leader, partition.leader_epoch)


def leader_node(view: NodeView, node_id: int, listener: str) -> LeaderNode | None:
    """Give where a broker listens that is not fenced, on the listener of that name; None if nowhere."""
    broker = _image(view).cluster.brokers.get(node_id)
    if broker is None or broker.fenced:
        return None
    for endpoint in broker.end_points:
        if endpoint.name == listener:
            return LeaderNode(node_id, endpoint.host, endpoint.port, broker.rack)
    return None


def _image(view: NodeView) -> MetadataImage:
    """Give the newest metadata: that of the view is older where the answer was waited for."""
    assert view.replicas is not None, "only brokers tell of leaders"
    return view.replicas.image
