"""A published image as group coordinators look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.metadata.image.metadata_image import MetadataImage


class ImageTopics:
    """The topics of one image (`coordinator.shard.topics.Topics`)."""

    __slots__ = ("_image",)

    def __init__(self, image: MetadataImage) -> None:
        self._image = image

    @property
    def offset(self) -> int:
        """The end offset of the image."""
        return self._image.provenance.end_offset

    def names(self) -> Iterable[str]:
        """Give the names of all topics, in any order."""
        return self._image.topics.by_name.keys()

    def id_of(self, name: str) -> bytes | None:
        """Give a topic's id."""
        topic = self._image.topics.topic(name)
        return None if topic is None else topic.topic_id

    def name_of(self, topic_id: bytes) -> str | None:
        """Give the name of the topic with an id."""
        return self._image.topics.names.get(topic_id)

    def partitions_of(self, name: str) -> int:
        """Give how many partitions a topic has; 0 without it."""
        topic = self._image.topics.topic(name)
        return 0 if topic is None else topic.partition_count

    def racks_of(self, name: str) -> Sequence[tuple[str, ...]]:
        """Give for each partition the racks of its replicas; brokers without a rack are left out."""
        topic = self._image.topics.topic(name)
        if topic is None:
            return ()
        brokers = self._image.cluster.brokers
        racks = {broker_id: broker.rack for broker_id, broker in brokers.items() if broker.rack is not None}
        return tuple(
            tuple(racks[replica] for replica in partition.replicas if replica in racks)
            for _, partition in topic.items()
        )
