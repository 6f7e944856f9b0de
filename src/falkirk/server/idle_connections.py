"""Connections that have been idle for too long (connections.max.idle.ms)."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")


class IdleConnections(Generic[T]):
    """Connections, any objects, by their last activity, the longest idle first. Each operation takes constant time.

    Times are seconds of the loop's clock, which it reads once in a round.
    """

    def __init__(self, max_idle_ms: int) -> None:
        self._max_idle_s = max_idle_ms / 1000
        self._last_s: OrderedDict[T, float] = OrderedDict()

    def touch(self, peer: T, now_s: float) -> None:
        """Record activity on a connection."""
        self._last_s[peer] = now_s
        self._last_s.move_to_end(peer)

    def remove(self, peer: T) -> None:
        """Remove a connection."""
        self._last_s.pop(peer, None)

    def longest_idle(self, is_wanted: Callable[[T], bool]) -> T | None:
        """Return the one of some connections that is idle for longest."""
        return next(filter(is_wanted, self._last_s), None)

    @property
    def next_check_s(self) -> float | None:
        """When the longest idle connection expires; None if none can."""
        if self._max_idle_s < 0 or not self._last_s:
            return None
        return next(iter(self._last_s.values())) + self._max_idle_s

    def expired(self, now_s: float) -> Iterator[T]:
        """Remove and yield the expired connections."""
        while (check_s := self.next_check_s) is not None and check_s <= now_s:
            peer, _ = self._last_s.popitem(last=False)
            yield peer
