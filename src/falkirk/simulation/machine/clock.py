"""Simulated time: a queue of actions whose order depends only on the seed."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock:
    """Runs actions at their time (ms), those of the same time in the order in which they were scheduled."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, time_ms: int, action: Callable[[], None]) -> None:
        """Schedule an action for a time, or for now if that has passed."""
        self._count += 1
        heapq.heappush(self._due, (max(time_ms, self.now_ms), self._count, action))

    def after(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Schedule an action after a delay."""
        self.at(self.now_ms + delay_ms, action)

    def step(self, until_ms: int) -> bool:
        """Run the next action; return False and advance to `until_ms` if there is none up to then."""
        if not self._due or self._due[0][0] > until_ms:
            self.now_ms = max(self.now_ms, until_ms)
            return False
        self.now_ms, _, action = heapq.heappop(self._due)
        action()
        return True


class HostClock:
    """A host's own clock: `skew_ms` off, and it jumps when it is set.

    It is never set back while a node runs: the server ensures that by counting on from its start.
    """

    def __init__(self, clock: Clock, skew_ms: int) -> None:
        self._clock = clock
        self._skew_ms = skew_ms

    @property
    def now_ms(self) -> int:
        """The host's time."""
        return self._clock.now_ms + self._skew_ms

    def jump(self, by_ms: int) -> None:
        """Set the clock, forward, or back while no program runs on the host."""
        self._skew_ms += by_ms

    def world_ms(self, host_ms: int) -> int:
        """Convert a host's time to the world's."""
        return host_ms - self._skew_ms
