"""When which partition has a timer due: looked at only where something happened, or time has come."""

from __future__ import annotations

import heapq


class Wakeups:
    """Times (ms) by number of the partition. Setting one anew costs nothing but a place in the heap."""

    def __init__(self) -> None:
        self._due: dict[int, int] = {}
        self._heap: list[tuple[int, int]] = []

    def set(self, number: int, due_ms: int | None) -> None:
        """Note when a partition has something to do; None: not by itself."""
        if due_ms is None:
            self._due.pop(number, None)
        elif self._due.get(number) != due_ms:
            self._due[number] = due_ms
            heapq.heappush(self._heap, (due_ms, number))

    @property
    def next_ms(self) -> int | None:
        """When the first of them has something to do."""
        heap = self._heap
        while heap and self._due.get(heap[0][1]) != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def pop_due(self, now_ms: int) -> list[int]:
        """Give those whose time has come, and forget them."""
        found = []
        next_ms = self.next_ms
        while next_ms is not None and next_ms <= now_ms:
            _, number = heapq.heappop(self._heap)
            del self._due[number]
            found.append(number)
            next_ms = self.next_ms
        return found
