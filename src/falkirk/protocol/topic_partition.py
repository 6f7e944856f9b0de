"""Which partition is meant: by name, or by name and id."""

from collections.abc import Iterable
from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A partition by its topic's name, as log directories and older requests have it."""

    topic: str
    partition: int

    def __str__(self) -> str:
        """Return `topic-partition`, as in Kafka's logs and directories."""
        return f"{self.topic}-{self.partition}"


class TopicIdPartition(NamedTuple):
    """A partition by its topic's id (16 bytes) and name; a topic that is made anew under its name has another id."""

    topic_id: bytes
    topic: str
    partition: int

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition by name alone."""
        return TopicPartition(self.topic, self.partition)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the partitions of each topic, sorted and without duplicates."""
    found: dict[str, list[int]] = {}
    for topic, partition in sorted(set(partitions)):
        found.setdefault(topic, []).append(partition)
    return found
