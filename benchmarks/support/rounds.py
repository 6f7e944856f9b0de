"""The same work several times in one process, and what each round took."""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from support.process import run_process

WARM_ROUNDS = 8
# The first ones warm the process up and do not count.
WARM_SKIPPED = 3


@dataclass
class Turns:
    """Seconds of wall and of processor time of the best warm round of a process, one process a turn."""

    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)

    def add(self, found: dict[str, list[float]]) -> None:
        """Take in the rounds that a process printed."""
        self.seconds.append(min(found["seconds"][WARM_SKIPPED:]))
        self.cpu_seconds.append(min(found["cpu_seconds"][WARM_SKIPPED:]))


def print_rounds(work: Callable[[], object], count: int) -> None:
    """Do the work and print what its rounds took, in the form that the Java programs use."""
    seconds, cpu_seconds = [], []
    for _ in range(count):
        start, cpu_start = time.perf_counter(), time.process_time()
        work()
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu_start)
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds}))


def own_rounds(file: str, *arguments: object) -> dict[str, list[float]]:
    """Run a benchmark's own file in a process of its own that calls `print_rounds`; give what it printed."""
    done = run_process([sys.executable, file, *map(str, arguments)])
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found
