"""What a shard wants to do when time has come: values, not threads. One timer for each key."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.coordinator.shard.outcome import Outcome

    Action = Callable[[], Outcome]


class Timers:
    """Actions by key, with the time (ms) when each is due. Cancelling costs nothing: the heap forgets later."""

    def __init__(self) -> None:
        self._actions: dict[str, tuple[int, int, Action]] = {}
        self._heap: list[tuple[int, int, str]] = []
        self._count = 0

    def schedule(self, key: str, due_ms: int, action: Action) -> None:
        """Set a timer, in place of the one that has this key."""
        self._count += 1
        self._actions[key] = (due_ms, self._count, action)
        heapq.heappush(self._heap, (due_ms, self._count, key))
        if len(self._heap) > 2 * len(self._actions) + _SLACK:
            self._heap = [(due, number, each) for each, (due, number, _) in self._actions.items()]
            heapq.heapify(self._heap)

    def cancel(self, key: str) -> None:
        """Forget a timer, if there is one."""
        self._actions.pop(key, None)

    def __contains__(self, key: str) -> bool:
        """Say whether a timer is set."""
        return key in self._actions

    @property
    def next_due_ms(self) -> int | None:
        """When the next one is due."""
        heap = self._heap
        while heap and self._is_gone(heap[0]):
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def pop_due(self, now_ms: int) -> Action | None:
        """Give an action that is due, and forget its timer. Take its outcome before the next is asked for."""
        due_ms = self.next_due_ms
        if due_ms is None or due_ms > now_ms:
            return None
        _, _, key = heapq.heappop(self._heap)
        return self._actions.pop(key)[2]

    def _is_gone(self, entry: tuple[int, int, str]) -> bool:
        due_ms, number, key = entry
        set_ = self._actions.get(key)
        return set_ is None or set_[:2] != (due_ms, number)


_SLACK = 64
