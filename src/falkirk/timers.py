"""Timers as values, not threads: what a driver has to run, and when."""

from __future__ import annotations

import heapq
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_SLACK: Final = 64
TIDIED_AT_ONCE: Final = 1_000
"""Entries that one look moves or removes: a ms or two. All of a node's timers may have been put off."""


class Timers(Generic[K, V]):
    """One timer for each key, with a value and the time (ms) when it is due.

    Cancelling a timer costs nothing: its entry stays in the heap until it comes up, or until half of the heap is such
    entries. Putting a timer off costs next to nothing: its entry stays at the earlier time, and moves when it comes up.
    """

    def __init__(self) -> None:
        # By key when the timer is due, in which order it was set, and its value.
        self._set: dict[K, tuple[int, int, V]] = {}
        self._heap: list[tuple[int, int, K]] = []
        # By key the timer's entry in the heap; all other entries of the heap are void.
        self._queued: dict[K, tuple[int, int, K]] = {}
        self._count = 0

    def schedule(self, key: K, due_ms: int, value: V) -> None:
        """Set a timer, in place of the one that has this key."""
        self._count += 1
        self._set[key] = (due_ms, self._count, value)
        queued = self._queued.get(key)
        if queued is not None and queued[0] <= due_ms:
            return
        self._queued[key] = entry = due_ms, self._count, key
        heapq.heappush(self._heap, entry)
        if len(self._heap) > 2 * len(self._set) + _SLACK:
            self._queued = {each: (due, number, each) for each, (due, number, _) in self._set.items()}
            self._heap = list(self._queued.values())
            heapq.heapify(self._heap)

    def cancel(self, key: K) -> None:
        """Drop the timer that has this key, if there is one."""
        self._set.pop(key, None)

    def clear(self) -> None:
        """Drop all timers."""
        self._set.clear()
        self._heap.clear()
        self._queued.clear()

    def __contains__(self, key: K) -> bool:
        """Return whether a timer with this key is set."""
        return key in self._set

    @property
    def next_due_ms(self) -> int | None:
        """When the first timer is due; None without timers.

        Earlier than that if very many were put off or cancelled: it is to be asked again then.
        """
        self._tidy()
        return self._heap[0][0] if self._heap else None

    def _tidy(self) -> bool:
        """Move what was put off, and remove what is void, from the top of the heap; return whether that was all."""
        heap = self._heap
        for _ in range(TIDIED_AT_ONCE):
            if not heap:
                return True
            entry = heap[0]
            key = entry[2]
            set_ = self._set.get(key)
            queued = self._queued.get(key)
            # Not by identity: a compiled tuple has none.
            if queued is None or queued[1] != entry[1]:
                heapq.heappop(heap)
            elif set_ is None:
                heapq.heappop(heap)
                del self._queued[key]
            elif set_[1] == entry[1]:
                return True
            else:
                # Put off since.
                self._queued[key] = later = set_[0], set_[1], key
                heapq.heapreplace(heap, later)
        return False

    def pop_due(self, now_ms: int) -> V | None:
        """Remove the first timer that is due and return its value; None if none is, or `next_due_ms` comes first.

        Timers that are due at the same time come in the order in which they were set.
        """
        if not self._tidy() or not self._heap or self._heap[0][0] > now_ms:
            return None
        _, _, key = heapq.heappop(self._heap)
        del self._queued[key]
        return self._set.pop(key)[2]
