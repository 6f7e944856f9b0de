"""A published image as group coordinators read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.metadata.image.metadata_image import MetadataImage


class ImageTopics:
    """The topics of one image (`coordinator.runtime.topics.Topics`)."""

    __slots__ = ("_image",)

    def __init__(self, image: MetadataImage) -> None:
        self._image = image

    @property
    def offset(self) -> int:
        """The end offset of the image."""
        return self._image.provenance.end_offset

    def names(self) -> Iterable[str]:
        """Return the names of all topics, in any order."""
        return self._image.topics.by_name.keys()

    def id_of(self, name: str) -> bytes | None:
        """Return a topic's id; None if it does not exist."""
        topic = self._image.topics.topic(name)
        return None if topic is None else topic.topic_id

    def name_of(self, topic_id: bytes) -> str | None:
        """Return the name of the topic with an id; None if there is none."""
        return self._image.topics.names.get(topic_id)

    def partitions_of(self, name: str) -> int:
        """Return a topic's number of partitions; 0 if it does not exist."""
        topic = self._image.topics.topic(name)
        return 0 if topic is None else topic.partition_count

    def racks_of(self, name: str) -> Sequence[tuple[str, ...]]:
        """Return for each partition the racks of its replicas, without brokers that have no rack."""
        topic = self._image.topics.topic(name)
        if topic is None:
            return ()
        brokers = self._image.cluster.brokers
        racks = {broker_id: broker.rack for broker_id, broker in brokers.items() if broker.rack is not None}
        return tuple(
            tuple(racks[replica] for replica in partition.replicas if replica in racks)
            for _, partition in topic.items()
        )
