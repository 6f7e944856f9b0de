"""States that runs of KIP-584's mode must reach, or they test less than they seem to."""

from __future__ import annotations

from collections import Counter
from typing import Final

ZOOKEEPER_MARKS: Final = (
    # Faults that took hold.
    "session expired",
    "read-only",
    "write lost",
    "write lost after its effect",
    "write carried out after its connection",
    "notification late",
)


class ZooKeeperMarks:
    """Counts of the marks that a run reached."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, mark: str) -> None:
        """Count a mark."""
        assert mark in ZOOKEEPER_MARKS, mark
        self.counts[mark] += 1
