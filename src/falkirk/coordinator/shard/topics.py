"""The topics of the cluster, as far as a coordinator looks at them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Topics(Protocol):
    """A published image; it never changes. A newer one comes as a new object."""

    @property
    def offset(self) -> int:
        """The end offset of the image."""
        ...

    def names(self) -> Iterable[str]:
        """Give the names of all topics, in any order."""
        ...

    def id_of(self, name: str) -> bytes | None:
        """Give a topic's id (16 bytes)."""
        ...

    def name_of(self, topic_id: bytes) -> str | None:
        """Give the name of the topic with an id."""
        ...

    def partitions_of(self, name: str) -> int:
        """Give how many partitions a topic has; 0 without it."""
        ...

    def racks_of(self, name: str) -> Sequence[tuple[str, ...]]:
        """Give for each partition the racks of its replicas, one as often as it has replicas there, in any order.

        Brokers without a rack are left out.
        """
        ...
