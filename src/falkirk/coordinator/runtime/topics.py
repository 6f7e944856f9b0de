"""The cluster's topics, as a coordinator needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class TopicPartitionCount:
    """A topic as a record of type 4 has it."""

    topic_id: bytes
    partition_count: int


class Topics(Protocol):
    """A published image, which never changes. A newer one is a new object."""

    @property
    def offset(self) -> int:
        """The end offset of the image."""
        ...

    def names(self) -> Iterable[str]:
        """Return the names of all topics, in any order."""
        ...

    def id_of(self, name: str) -> bytes | None:
        """Return a topic's id (16 bytes)."""
        ...

    def name_of(self, topic_id: bytes) -> str | None:
        """Return the name of the topic with an id."""
        ...

    def partitions_of(self, name: str) -> int:
        """Return the number of a topic's partitions; 0 without such a topic."""
        ...

    def racks_of(self, name: str) -> Sequence[tuple[str, ...]]:
        """Return for each partition the racks of its replicas, one entry per replica, in any order.

        Brokers without a rack are left out.
        """
        ...
