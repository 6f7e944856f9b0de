"""What a shard wants to do when time has come: values, not threads. One timer for each key."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.coordinator.shard.outcome import Outcome

    Action = Callable[[], Outcome]


class Timers:
    """Actions by key, with the time (ms) when each is due. Cancelling costs nothing: the heap forgets later.

    Putting a timer off costs next to nothing either: the heap has the time that it was due first, and looks then.
    """

    def __init__(self) -> None:
        self._actions: dict[str, tuple[int, int, Action]] = {}
        self._heap: list[tuple[int, int, str]] = []
        # By key the entry of the heap by which it is found; entries that are not here are void.
        self._queued: dict[str, tuple[int, int, str]] = {}
        self._count = 0

    def schedule(self, key: str, due_ms: int, action: Action) -> None:
        """Set a timer, in place of the one that has this key."""
        self._count += 1
        self._actions[key] = (due_ms, self._count, action)
        queued = self._queued.get(key)
        if queued is not None and queued[0] <= due_ms:
            return
        self._queued[key] = entry = due_ms, self._count, key
        heapq.heappush(self._heap, entry)
        if len(self._heap) > 2 * len(self._actions) + _SLACK:
            self._queued = {each: (due, number, each) for each, (due, number, _) in self._actions.items()}
            self._heap = list(self._queued.values())
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
        while heap:
            entry = heap[0]
            key = entry[2]
            set_ = self._actions.get(key)
            if self._queued.get(key) is not entry:
                heapq.heappop(heap)
            elif set_ is None:
                heapq.heappop(heap)
                del self._queued[key]
            elif set_[1] == entry[1]:
                return entry[0]
            else:
                # Put off since.
                self._queued[key] = later = set_[0], set_[1], key
                heapq.heapreplace(heap, later)
        return None

    def pop_due(self, now_ms: int) -> Action | None:
        """Give an action that is due, and forget its timer. Take its outcome before the next is asked for."""
        due_ms = self.next_due_ms
        if due_ms is None or due_ms > now_ms:
            return None
        _, _, key = heapq.heappop(self._heap)
        del self._queued[key]
        return self._actions.pop(key)[2]


_SLACK = 64
