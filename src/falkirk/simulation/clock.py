"""Simulated time: what is due next, in an order that depends on nothing but the seed."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock:
    """Runs actions at their time (ms); those of the same time in the order in which they were scheduled."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, time_ms: int, action: Callable[[], None]) -> None:
        """Run an action at a time, or now if that is over."""
        self._count += 1
        heapq.heappush(self._due, (max(time_ms, self.now_ms), self._count, action))

    def after(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Run an action after a delay."""
        self.at(self.now_ms + delay_ms, action)

    def step(self, until_ms: int) -> bool:
        """Run the next action; False if there is none up to `until_ms`, where the time then is."""
        if not self._due or self._due[0][0] > until_ms:
            self.now_ms = max(self.now_ms, until_ms)
            return False
        self.now_ms, _, action = heapq.heappop(self._due)
        action()
        return True


class HostClock:
    """A host's own clock: off by `skew_ms`, and it jumps forward when the host was frozen or its clock was set.

    It never goes back while a node runs: the server keeps it so by counting on from its start.
    """

    def __init__(self, clock: Clock, skew_ms: int) -> None:
        self._clock = clock
        self._skew_ms = skew_ms

    @property
    def now_ms(self) -> int:
        """The host's time."""
        return self._clock.now_ms + self._skew_ms

    def jump(self, by_ms: int) -> None:
        """Set the clock forward."""
        assert by_ms >= 0
        self._skew_ms += by_ms

    def world_ms(self, host_ms: int) -> int:
        """Translate the host's time to the world's."""
        return host_ms - self._skew_ms
