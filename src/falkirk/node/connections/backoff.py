"""Exponential backoff with jitter (Kafka's ExponentialBackoff)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from falkirk.protocol.chance import Chance

_SPREAD: Final = 0.02


class Backoff:
    """Counts consecutive failures; the wait doubles after each."""

    def __init__(self, random: Chance, *, first_ms: int, max_ms: int) -> None:
        self.max_ms = max_ms
        self._random = random
        self._first_ms = first_ms
        self._failures = 0

    def next_ms(self) -> int:
        """Count a failure, and return how long to wait."""
        wait = min(self._first_ms << min(self._failures, 30), self.max_ms)
        self._failures += 1
        return int(wait * (1 - _SPREAD + 2 * _SPREAD * self._random.random()))

    def reset(self) -> None:
        """Start again from the first wait."""
        self._failures = 0
