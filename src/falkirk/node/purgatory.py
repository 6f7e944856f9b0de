"""Answers that wait until what they rest on is committed (Kafka's DeferredEventQueue)."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Purgatory(Generic[T]):
    """A queue by the offset that the high watermark must reach; offsets never fall."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, T]] = deque()

    def __len__(self) -> int:
        """Count what waits."""
        return len(self._waiting)

    def add(self, end_offset: int, item: T) -> None:
        """Let an answer wait until everything below `end_offset` is committed."""
        assert not self._waiting or self._waiting[-1][0] <= end_offset, "the log only grows while one leads"
        self._waiting.append((end_offset, item))

    def complete_up_to(self, high_watermark: int) -> list[T]:
        """Take out what is committed, in the order in which it came."""
        done: list[T] = []
        while self._waiting and self._waiting[0][0] <= high_watermark:
            done.append(self._waiting.popleft()[1])
        return done

    def drain(self) -> list[T]:
        """Take out everything: the node leads no more."""
        done = [item for _, item in self._waiting]
        self._waiting.clear()
        return done
