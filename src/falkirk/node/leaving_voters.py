"""When a node that is broker and voter may leave the quorum.

A broker leaves in order only with a controller's consent, and that takes a quorum. Where a whole cluster stops, the
last nodes would wait for it in vain (as they do in Kafka), so a node that the others need for it stays for a while.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from falkirk.metadata.image.cluster import ClusterImage


def is_needed(cluster: ClusterImage, voters: Collection[int], node_id: int) -> bool:
    """Say whether there are other voters that still serve, but no majority without this one."""
    staying = _serving(cluster, voters, node_id)
    return 0 < staying <= len(voters) // 2 and node_id in voters


def is_last(cluster: ClusterImage, voters: Collection[int], node_id: int) -> bool:
    """Say whether no other voter serves: there is nobody to wait for to lead the quorum next."""
    return _serving(cluster, voters, node_id) == 0


def _serving(cluster: ClusterImage, voters: Collection[int], node_id: int) -> int:
    """Count the other voters but those whose brokers are fenced; of mere controllers nobody knows."""
    others = (cluster.brokers.get(voter) for voter in voters if voter != node_id)
    return sum(broker is None or not broker.fenced for broker in others)
