"""Connections that have been idle for too long (connections.max.idle.ms)."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from falkirk.server.peer import Peer


class IdleConnections:
    """Connections by their last activity, the longest idle first. Each operation takes constant time."""

    def __init__(self, max_idle_ms: int) -> None:
        self._max_idle_ms = max_idle_ms
        self._last_ms: OrderedDict[Peer, int] = OrderedDict()

    def touch(self, peer: Peer, now_ms: int) -> None:
        """Record activity on a connection."""
        self._last_ms[peer] = now_ms
        self._last_ms.move_to_end(peer)

    def remove(self, peer: Peer) -> None:
        """Remove a connection."""
        self._last_ms.pop(peer, None)

    def longest_idle(self, is_wanted: Callable[[Peer], bool]) -> Peer | None:
        """Return the one of some connections that is idle for longest."""
        return next(filter(is_wanted, self._last_ms), None)

    @property
    def next_check_ms(self) -> int | None:
        """When the longest idle connection expires; None if none can."""
        if self._max_idle_ms < 0 or not self._last_ms:
            return None
        return next(iter(self._last_ms.values())) + self._max_idle_ms

    def expired(self, now_ms: int) -> Iterator[Peer]:
        """Remove and yield the expired connections."""
        while (check_ms := self.next_check_ms) is not None and check_ms <= now_ms:
            peer, _ = self._last_ms.popitem(last=False)
            yield peer
