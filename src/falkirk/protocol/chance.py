"""Chance is passed in, so that a seed replays a run: `random.Random` fits."""

from collections.abc import MutableSequence, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Chance(Protocol):
    """As much of `random.Random` as the core takes."""

    def random(self) -> float:
        """Give a number from 0 up to 1, without 1."""
        ...

    def randrange(self, start: int, stop: int, /) -> int:
        """Give a whole number from `start` up to `stop`, without `stop`."""
        ...

    def randbytes(self, n: int, /) -> bytes:
        """Give `n` bytes."""
        ...

    def choice(self, seq: Sequence[T], /) -> T:
        """Give one of the elements."""
        ...

    def shuffle(self, x: MutableSequence[Any], /) -> None:  # Any: elements are only moved
        """Bring the elements into any order, in place."""
        ...
