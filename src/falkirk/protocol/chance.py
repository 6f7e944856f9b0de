"""Chance is passed in, so that a seed replays a run: `random.Random` fits."""

from collections.abc import MutableSequence, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Chance(Protocol):
    """As much of `random.Random` as the core takes."""

    def random(self) -> float:
        """Return a number from 0 to 1, 1 excluded."""
        ...

    def randrange(self, start: int, stop: int, /) -> int:
        """Return an integer from `start` to `stop`, `stop` excluded."""
        ...

    def randbytes(self, n: int, /) -> bytes:
        """Return `n` bytes."""
        ...

    def choice(self, seq: Sequence[T], /) -> T:
        """Return a random element."""
        ...

    def shuffle(self, x: MutableSequence[Any], /) -> None:  # Any: elements are only moved
        """Shuffle the elements in place."""
        ...
