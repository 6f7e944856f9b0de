"""Requests that wait for something at a partition, or for their deadline (Kafka's purgatories).

Changes of a partition are recorded (`touch`) and checked once per step (`complete`): so an append costs the same
however many requests wait elsewhere, and many appends of one step make one response to a follower's fetch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING

from mypy_extensions import mypyc_attr

from falkirk.timers import Timers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from falkirk.protocol.error_codes import ErrorCode
    from falkirk.protocol.topic_partition import TopicPartition


@mypyc_attr(allow_interpreted_subclasses=True)
class Wait(ABC):
    """One request. It responds exactly once: when `try_complete` returns True, or at `expire`."""

    __slots__ = ("deadline_ms", "is_done")

    def __init__(self, deadline_ms: int) -> None:
        self.deadline_ms = deadline_ms
        self.is_done = False

    @abstractmethod
    def try_complete(self) -> bool:
        """Respond if the condition holds; return whether it does."""

    @abstractmethod
    def expire(self) -> None:
        """Respond with what there is."""


@mypyc_attr(allow_interpreted_subclasses=True)
class OrderedWait(Wait):
    """A request that waits for offsets: at each partition later requests wait for higher ones."""

    __slots__ = ()

    @abstractmethod
    def settle(self, partition: TopicPartition, outcome: ErrorCode) -> bool:
        """Record a partition's outcome; respond, and return True, if it was the last one."""


class Waits:
    """`outcome` returns the outcome for records that end before an offset; None: not decided yet."""

    def __init__(self, outcome: Callable[[TopicPartition, int], ErrorCode | None]) -> None:
        self._outcome = outcome
        self._touched: dict[TopicPartition, None] = {}
        self._watched: dict[TopicPartition, dict[Wait, None]] = {}
        self._keys: dict[Wait, tuple[TopicPartition, ...]] = {}
        self._ordered: dict[TopicPartition, deque[tuple[int, OrderedWait]]] = {}
        self._deadlines: Timers[Wait, Wait] = Timers()

    def watch(self, wait: Wait, partitions: Iterable[TopicPartition]) -> None:
        """Let a request wait for any change of these partitions."""
        keys = tuple(dict.fromkeys(partitions))
        self._keys[wait] = keys
        for key in keys:
            self._watched.setdefault(key, {})[wait] = None
        self._deadlines.schedule(wait, wait.deadline_ms, wait)

    def watch_offsets(self, wait: OrderedWait, offsets: Iterable[tuple[TopicPartition, int]]) -> None:
        """Let a request wait until the records before these offsets are replicated."""
        for key, offset in offsets:
            self._ordered.setdefault(key, deque()).append((offset, wait))
        self._deadlines.schedule(wait, wait.deadline_ms, wait)

    def touch(self, partition: TopicPartition) -> None:
        """Record that a partition has changed."""
        if partition in self._watched or partition in self._ordered:
            self._touched[partition] = None

    @property
    def has_touched(self) -> bool:
        """True if `complete` has something to check."""
        return bool(self._touched)

    def complete(self) -> None:
        """Complete the requests whose condition holds, repeatedly if responses touch partitions."""
        while self._touched:
            touched, self._touched = self._touched, {}
            waits: dict[Wait, None] = {}
            for partition in touched:
                self._settle(partition)
                waits.update(self._watched.get(partition, {}))
            for wait in waits:
                if not wait.is_done and wait.try_complete():
                    self._remove(wait)

    def expire(self, now_ms: int) -> None:
        """Complete the requests whose deadline has passed."""
        while (wait := self._deadlines.pop_due(now_ms)) is not None:
            wait.expire()
            self._remove(wait)

    @property
    def next_deadline_ms(self) -> int | None:
        """The earliest deadline; None if no request waits."""
        return self._deadlines.next_due_ms

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
                    self._remove(wait)
            queue.popleft()
        # A response may have added new waits.
        if not queue and self._ordered.get(partition) is queue:
            del self._ordered[partition]

    def _remove(self, wait: Wait) -> None:
        assert wait.is_done, "it has responded"
        for key in self._keys.pop(wait, ()):
            watching = self._watched[key]
            del watching[wait]
            if not watching:
                del self._watched[key]
        self._deadlines.cancel(wait)
