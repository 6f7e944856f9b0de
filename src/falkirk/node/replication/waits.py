"""Requests that wait for something to happen at a partition, or for their time to be over (Kafka's purgatories).

What happens at a partition is noted (`touch`), and looked at once for all of it (`complete`): so an append costs the
same however many wait elsewhere, and many appends of one step make one answer to a follower's fetch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from falkirk.protocol.error_codes import ErrorCode
    from falkirk.protocol.topic_partition import TopicPartition

# Requests that are over stay among the deadlines until these are so many, and more than half of them.
_STALE_DEADLINES_MAX: Final = 1000


class Wait(ABC):
    """One request. It answers exactly once: when `try_complete` says so, or at `expire`."""

    __slots__ = ("deadline_ms", "is_done")

    def __init__(self, deadline_ms: int) -> None:
        self.deadline_ms = deadline_ms
        self.is_done = False

    @abstractmethod
    def try_complete(self) -> bool:
        """Answer if what it waits for has happened."""

    @abstractmethod
    def expire(self) -> None:
        """Answer with what there is."""


class OrderedWait(Wait):
    """One that waits for offsets: at each partition those that came later wait for more."""

    __slots__ = ()

    @abstractmethod
    def settle(self, partition: TopicPartition, outcome: ErrorCode) -> bool:
        """Take note of what became of a partition; answer, and give True, if that was the last one."""


class Waits:
    """`outcome` says what became of records that end before an offset; None: nothing yet."""

    def __init__(self, outcome: Callable[[TopicPartition, int], ErrorCode | None]) -> None:
        self._outcome = outcome
        self._touched: dict[TopicPartition, None] = {}
        self._watched: dict[TopicPartition, dict[Wait, None]] = {}
        self._keys: dict[Wait, tuple[TopicPartition, ...]] = {}
        self._ordered: dict[TopicPartition, deque[tuple[int, OrderedWait]]] = {}
        self._deadlines: list[tuple[int, int, Wait]] = []
        self._number = 0
        self._done_count = 0

    def watch(self, wait: Wait, partitions: Iterable[TopicPartition]) -> None:
        """Let a request wait for whatever happens at these partitions."""
        keys = tuple(dict.fromkeys(partitions))
        self._keys[wait] = keys
        for key in keys:
            self._watched.setdefault(key, {})[wait] = None
        self._add_deadline(wait)

    def watch_offsets(self, wait: OrderedWait, offsets: Iterable[tuple[TopicPartition, int]]) -> None:
        """Let a request wait until the records before these offsets are replicated."""
        for key, offset in offsets:
            self._ordered.setdefault(key, deque()).append((offset, wait))
        self._add_deadline(wait)

    def touch(self, partition: TopicPartition) -> None:
        """Take note that something has happened at a partition."""
        if partition in self._watched or partition in self._ordered:
            self._touched[partition] = None

    @property
    def has_touched(self) -> bool:
        """Say whether `complete` has something to look at."""
        return bool(self._touched)

    def complete(self) -> None:
        """Answer the requests that have what they wait for; what comes of that is looked at, too."""
        while self._touched:
            touched, self._touched = self._touched, {}
            waits: dict[Wait, None] = {}
            for partition in touched:
                self._settle(partition)
                waits.update(self._watched.get(partition, {}))
            for wait in waits:
                if not wait.is_done and wait.try_complete():
                    self._over(wait)

    def expire(self, now_ms: int) -> None:
        """Answer those whose time is over."""
        deadlines = self._deadlines
        while deadlines and (deadlines[0][2].is_done or deadlines[0][0] <= now_ms):
            wait = heappop(deadlines)[2]
            if wait.is_done:
                self._done_count -= 1
                continue
            wait.expire()
            self._over(wait)
            self._done_count -= 1

    @property
    def next_deadline_ms(self) -> int | None:
        """When the time of some request is over."""
        deadlines = self._deadlines
        while deadlines and deadlines[0][2].is_done:
            heappop(deadlines)
            self._done_count -= 1
        return deadlines[0][0] if deadlines else None

    # --- Inside

    def _settle(self, partition: TopicPartition) -> None:
        queue = self._ordered.get(partition)
        if queue is None:
            return
        while queue:
            offset, wait = queue[0]
            if not wait.is_done:
                outcome = self._outcome(partition, offset)
                if outcome is None:
                    return
                if wait.settle(partition, outcome):
                    self._over(wait)
            queue.popleft()
        # Whoever was answered may have asked for more.
        if not queue and self._ordered.get(partition) is queue:
            del self._ordered[partition]

    def _over(self, wait: Wait) -> None:
        assert wait.is_done, "it has answered"
        for key in self._keys.pop(wait, ()):
            watching = self._watched[key]
            del watching[wait]
            if not watching:
                del self._watched[key]
        self._done_count += 1
        if self._done_count > _STALE_DEADLINES_MAX and self._done_count * 2 > len(self._deadlines):
            self._deadlines = [entry for entry in self._deadlines if not entry[2].is_done]
            heapify(self._deadlines)
            self._done_count = 0

    def _add_deadline(self, wait: Wait) -> None:
        self._number += 1
        heappush(self._deadlines, (wait.deadline_ms, self._number, wait))
