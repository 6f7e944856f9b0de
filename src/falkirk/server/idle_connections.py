"""Which connections have been silent for too long (connections.max.idle.ms)."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.server.peer import Peer


class IdleConnections:
    """Connections by when they were last of use, the most silent one first. Each operation costs the same."""

    def __init__(self, max_idle_ms: int) -> None:
        self._max_idle_ms = max_idle_ms
        self._last_ms: OrderedDict[Peer, int] = OrderedDict()

    def touch(self, peer: Peer, now_ms: int) -> None:
        """Note that a connection is of use now."""
        self._last_ms[peer] = now_ms
        self._last_ms.move_to_end(peer)

    def remove(self, peer: Peer) -> None:
        """Forget a connection."""
        self._last_ms.pop(peer, None)

    @property
    def next_check_ms(self) -> int | None:
        """When the most silent connection will have been silent for too long; None if none can be."""
        if self._max_idle_ms < 0 or not self._last_ms:
            return None
        return next(iter(self._last_ms.values())) + self._max_idle_ms

    def expired(self, now_ms: int) -> Iterator[Peer]:
        """Take out, one after the other, what has been silent for too long."""
        while (check_ms := self.next_check_ms) is not None and check_ms <= now_ms:
            peer, _ = self._last_ms.popitem(last=False)
            yield peer
