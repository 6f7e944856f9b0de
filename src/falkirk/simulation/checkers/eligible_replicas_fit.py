"""EligibleReplicasFit: eligible leader replicas are replicas, and exist only while KIP-966 is enabled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.image.partition import NO_LEADER
from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topics import TopicsImage
    from falkirk.simulation.views.marks import Marks
    from falkirk.simulation.views.replica_view import ReplicaView


class EligibleReplicasFit(Checker):
    """Checks the partitions of each node's image that changed, and all of them when the feature is switched.

    ISR and ELR are disjoint, both contain only replicas, each once, and leaders are in the ISR.
    """

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        # By node: the topics last checked, and whether the feature was enabled.
        self._seen: dict[int, tuple[TopicsImage, bool]] = {}

    def after_step(self, replica: ReplicaView) -> None:
        """Check the partitions that changed."""
        topics, is_enabled = replica.image.topics, replica.image.features.is_elr_enabled
        before, was_enabled = self._seen.get(replica.node_id, (None, not is_enabled))
        if before is topics and is_enabled == was_enabled:
            return
        self._seen[replica.node_id] = topics, is_enabled
        for topic in topics:
            if before is not None and is_enabled == was_enabled and before.topic_by_id(topic.topic_id) is topic:
                continue
            for partition_id, partition in topic.items():
                problem = _problem(partition, is_enabled=is_enabled)
                if problem is not None:
                    raise self.violated(f"node {replica.node_id}, {topic.name}-{partition_id}: {problem}: {partition}")
                if partition.eligible_leader_replicas:
                    self._marks.add("replica eligible to lead")


def _problem(partition: Partition, *, is_enabled: bool) -> str | None:
    isr, eligible = partition.isr, partition.eligible_leader_replicas
    if not is_enabled and (eligible or partition.last_known_elr):
        return "it has eligible leader replicas, and the feature is off"
    members = [*isr, *eligible]
    if len(set(members)) < len(members) or not set(members) <= set(partition.replicas):
        return "in sync and eligible are not different replicas of it"
    if partition.leader != NO_LEADER and partition.leader not in isr:
        return "its leader is not in sync"
    return None
