"""The time that a node's steps take. While one runs, raft and heartbeats wait."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Final

from falkirk.node.effects import Fact
from falkirk.node.step import STEP_MS_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

BOUNDS_MS: Final = (1, 2, 5, 10, 20, STEP_MS_MAX, 100, 200, 500, 1000, 2000, 5000)
"""Upper bounds of the buckets; a last one has no bound."""
LOG_INTERVAL_S: Final = 10
"""Of all long steps within it only the first is logged."""
_BOUNDS_NS: Final = tuple(bound_ms * 1_000_000 for bound_ms in BOUNDS_MS)
_STEP_NS_MAX: Final = STEP_MS_MAX * 1_000_000


class StepMeter:
    """Counts steps by processor time of their thread, in `counts`, one number per bucket; `sum_ns` is of all.

    `cpu_ns` and `steady_ns` return the processor time of this thread and the time of a steady clock.
    """

    def __init__(
        self,
        cpu_ns: Callable[[], int] = time.thread_time_ns,
        steady_ns: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self.counts = [0] * (len(BOUNDS_MS) + 1)
        self.sum_ns = 0
        self._cpu_ns = cpu_ns
        self._steady_ns = steady_ns
        # Durations of the current step, or of the last one between steps.
        self._began_ns = (0, 0)
        self._duration_ns = (0, 0)
        self._silent_until_ns = 0
        self._not_logged = 0

    def begin(self) -> None:
        """Begin a step."""
        self._began_ns = (self._steady_ns(), self._cpu_ns())

    def end(self) -> bool:
        """End the step; return whether it took too long."""
        steady_ns, cpu_ns = self._began_ns
        cpu_ns = self._cpu_ns() - cpu_ns
        self._duration_ns = (self._steady_ns() - steady_ns, cpu_ns)
        self.counts[bisect_left(_BOUNDS_NS, cpu_ns)] += 1
        self.sum_ns += cpu_ns
        return cpu_ns > _STEP_NS_MAX

    def report(self, events: Sequence[object], work_done: Mapping[str, object], write: Callable[[Fact], None]) -> None:
        """Write what the last step, which took too long, has done; only count it if another was written lately."""
        steady_ns, cpu_ns = self._duration_ns
        now_ns = self._began_ns[0] + steady_ns
        if now_ns < self._silent_until_ns:
            self._not_logged += 1
            return
        self._silent_until_ns = now_ns + LOG_INTERVAL_S * 1_000_000_000
        fields = {
            "cpu_ms": cpu_ns // 1_000_000,
            "wall_ms": steady_ns // 1_000_000,
            "limit_ms": STEP_MS_MAX,
            "events": dict(Counter(type(event).__name__ for event in events)),
            **work_done,
            "not_logged": self._not_logged,
        }
        self._not_logged = 0
        write(Fact("warning", "a step took too long", fields))
