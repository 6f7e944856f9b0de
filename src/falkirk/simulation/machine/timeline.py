"""The events of a run, line by line: the same seed gives the same lines."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.simulation.machine.clock import Clock


class Timeline:
    """Lines of time (s), place and text. `digest` differs between different runs, even if lines are not kept."""

    def __init__(self, clock: Clock, *, is_kept: bool = True) -> None:
        self._clock = clock
        self._is_kept = is_kept
        self.lines: list[str] = []
        self.digest = 0

    def add(self, place: str, text: str) -> None:
        """Add a line at the current time."""
        line = f"{self._clock.now_ms / 1000:9.3f}  {place:<12} {text}"
        self.digest = zlib.crc32(line.encode(), self.digest)
        if self._is_kept:
            self.lines.append(line)
