"""A partition by its topic's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class TopicPartition(NamedTuple):
    """Sorts by topic, then by number."""

    topic: str
    partition: int

    def __str__(self) -> str:
        """Write `orders-3`, as Kafka does."""
        return f"{self.topic}-{self.partition}"


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Give the numbers of each topic, both rising, each once."""
    found: dict[str, list[int]] = {}
    for topic, partition in sorted(set(partitions)):
        found.setdefault(topic, []).append(partition)
    return found
