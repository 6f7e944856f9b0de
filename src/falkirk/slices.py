"""Work over many objects as a generator that yields whenever a bounded number of objects has been visited.

So a node can spread it over many steps, and everybody else can exhaust it at once: there is one code path for both.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, TypeAlias, TypeVar

T = TypeVar("T")
Slices: TypeAlias = Generator[None, None, T]
VISITS_PER_SLICE = 2_000
"""About 5 ms for partitions that each lose something, the most expensive objects."""

DECISION_VISITS: Final = 4
"""What deciding on, replaying or reading one record counts as: 500 are a slice."""

VISITS_PER_REPORT: Final = 20
"""What reporting one loss counts as: its key, its fields before and after, its sentence."""


class SliceBudget:
    """How many objects the current slice may still visit."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = VISITS_PER_SLICE

    def spend(self, visits: int) -> bool:
        """Count visited objects, at least one; return whether the slice is over, and begin the next one then."""
        self._left -= max(visits, 1)
        if self._left > 0:
            return False
        self._left = VISITS_PER_SLICE
        return True


class Turn:
    """What one piece of sliced work at a time may have."""

    __slots__ = ("_holder",)

    def __init__(self) -> None:
        self._holder: object = None

    def take(self, holder: object) -> Slices[None]:
        """Wait until nobody else has it, and have it then."""
        while self._holder is not None and self._holder is not holder:
            yield
        self._holder = holder

    def give_back(self, holder: object) -> None:
        """Let another one have it, if this one has it."""
        if self._holder is holder:
            self._holder = None


def pause_after(visits: int) -> Slices[None]:
    """End the slice after so many objects were visited at once, if they are a slice of their own."""
    if visits >= VISITS_PER_SLICE:
        yield


def exhaust(slices: Slices[T]) -> T:
    """Run all slices at once; return the result."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: T = end.value
            return result
