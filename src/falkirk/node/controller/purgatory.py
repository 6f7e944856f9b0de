"""Responses that wait for a commit (Kafka's DeferredEventQueue)."""

from __future__ import annotations

from collections import deque
from operator import itemgetter
from typing import Generic, TypeVar

T = TypeVar("T")


class Purgatory(Generic[T]):
    """A queue by the offset that the high watermark must reach; offsets never decrease."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, T]] = deque()
        # Of the few with a deadline.
        self._deadlines: list[tuple[int, tuple[int, T]]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, end_offset: int, item: T, *, deadline_ms: int | None = None) -> None:
        """Keep a response until everything below `end_offset` is committed, or its deadline has passed."""
        assert not self._waiting or self._waiting[-1][0] <= end_offset, "the log only grows while one leads"
        waiting = end_offset, item
        self._waiting.append(waiting)
        if deadline_ms is not None:
            self._deadlines.append((deadline_ms, waiting))

    def complete_up_to(self, high_watermark: int) -> list[T]:
        """Remove and return what is committed, in the order of arrival."""
        done: list[T] = []
        while self._waiting and self._waiting[0][0] <= high_watermark:
            done.append(self._waiting.popleft()[1])
        if self._deadlines:
            self._deadlines = [timed for timed in self._deadlines if timed[1][0] > high_watermark]
        return done

    def expire(self, now_ms: int) -> list[T]:
        """Remove and return what has reached its deadline, earliest first."""
        due = sorted((timed for timed in self._deadlines if timed[0] <= now_ms), key=itemgetter(0))
        for timed in due:
            self._deadlines.remove(timed)
            self._waiting.remove(timed[1])
        return [waiting[1] for _, waiting in due]

    @property
    def next_deadline_ms(self) -> int | None:
        """The earliest deadline; None if there is none."""
        return min((deadline_ms for deadline_ms, _ in self._deadlines), default=None)

    def drain(self) -> list[T]:
        """Remove and return everything, because the node no longer leads."""
        done = [item for _, item in self._waiting]
        self._waiting.clear()
        self._deadlines.clear()
        return done
