"""LeadersServe: the leader of a partition is in its ISR, on an unfenced broker; otherwise there is no leader.

A broker that is fenced may lead on for some decisions of the controller if there are more partitions than one judges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.partitions import broker_sweeps
from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.image.cluster import ClusterImage
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topic import Topic
    from falkirk.simulation.views.replica_view import ReplicaView

_NO_LEADER: Final = -1


class LeadersServe(Checker):
    """Checks the image of each offset once, and only what changed in it; at the end all of the last one."""

    def __init__(self) -> None:
        self._offset = 0
        self._cluster: ClusterImage | None = None
        self._topics: dict[str, Topic] = {}

    def after_step(self, replica: ReplicaView) -> None:
        """Check an image that no node has published before."""
        image = replica.image
        if image.provenance.end_offset <= self._offset:
            return
        self._offset = image.provenance.end_offset
        if image.cluster is not self._cluster:
            self._cluster = image.cluster
            self._topics = {}
        topics = {topic.name: topic for topic in image.topics}
        is_one_slice = sum(topic.partition_count for topic in topics.values()) < broker_sweeps.PARTITIONS_PER_SLICE
        for name, topic in topics.items():
            if self._topics.get(name) is not topic:
                for partition_id, partition in topic.items():
                    self._check(image, f"{name}-{partition_id}", partition, must_serve=is_one_slice)
        self._topics = topics

    def at_end(self, replicas: Mapping[int, ReplicaView]) -> None:
        """Check that what followed the last change of each broker has ended."""
        image = max((replica.image for replica in replicas.values()), key=lambda each: each.provenance.end_offset)
        for topic in image.topics:
            for partition_id, partition in topic.items():
                self._check(image, f"{topic.name}-{partition_id}", partition, must_serve=True)

    def _check(self, image: MetadataImage, name: str, partition: Partition, *, must_serve: bool) -> None:
        replicas, isr, leader = partition.replicas, partition.isr, partition.leader
        if not set(isr) <= set(replicas):
            raise self.violated(f"the ISR of {name} is {isr}, its replicas are {replicas}")
        if leader == _NO_LEADER:
            return
        if leader not in isr:
            raise self.violated(f"{name} is led by {leader}, its ISR is {isr}")
        broker = image.cluster.brokers.get(leader)
        if must_serve and (broker is None or broker.fenced):
            raise self.violated(
                f"{name} is led by {leader}, which is {'not registered' if broker is None else 'fenced'}"
            )
