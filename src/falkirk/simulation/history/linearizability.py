"""Whether what clients were answered could have come from one object that does one thing at a time.

The algorithm is that of Wing and Gong with Lowe's memory of configurations, as in Knossos and Porcupine: take any
operation that no other one ended before, apply it to the object, go on; go back where the object would have answered
otherwise. A configuration (which operations are done, the object's state) is tried once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    S = TypeVar("S", bound=Hashable)

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Operation(Generic[A]):
    """What a client requested and was answered, between two points in time.

    `returned`: None if no answer came; the operation happened at some time after `called`, or never.
    """

    action: A
    called: int
    returned: int | None


def is_linearizable(operations: Iterable[Operation[A]], apply: Callable[[S, A], S | None], state: S) -> bool:
    """Return whether there is an order of the operations that the object allows and that time allows.

    `apply` returns the object's state after an action, None if it would have answered otherwise; `state` is the first.
    Operations without an answer may be left out of the order.
    """
    history = sorted(operations, key=lambda each: each.called)
    answered = sum(1 << index for index, each in enumerate(history) if each.returned is not None)
    tried: set[tuple[int, S]] = {(0, state)}
    untried: list[tuple[int, S]] = [(0, state)]
    while untried:
        done, state = untried.pop()
        if done & answered == answered:
            return True
        for index in _next(history, done):
            after = apply(state, history[index].action)
            if after is None or (done | 1 << index, after) in tried:
                continue
            tried.add((done | 1 << index, after))
            untried.append((done | 1 << index, after))
    return False


def _next(history: Sequence[Operation[A]], done: int) -> Iterator[int]:
    """Yield the operations that may come next: those that were called before any that is left has returned."""
    left = [index for index in range(len(history)) if not done >> index & 1]
    first_return = min((end for index in left if (end := history[index].returned) is not None), default=None)
    for index in left:
        if first_return is not None and history[index].called > first_return:
            return
        yield index
