"""The same work several times in one process, and what each round took."""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from support.process import run_process


@dataclass
class Rounds:
    """Seconds of wall and of processor time, round by round."""

    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)

    def add(self, found: dict[str, list[float]], *, skip: int) -> None:
        """Take in the rounds that a process printed, but for its first ones: they warm up."""
        self.seconds += found["seconds"][skip:]
        self.cpu_seconds += found["cpu_seconds"][skip:]


def print_rounds(work: Callable[[], object], count: int) -> None:
    """Do the work and print what its rounds took, in the form that the Java programs use."""
    rounds = Rounds()
    for _ in range(count):
        start, cpu_start = time.perf_counter(), time.process_time()
        work()
        rounds.seconds.append(time.perf_counter() - start)
        rounds.cpu_seconds.append(time.process_time() - cpu_start)
    print(json.dumps({"seconds": rounds.seconds, "cpu_seconds": rounds.cpu_seconds}))


def own_rounds(file: str, *arguments: object) -> dict[str, list[float]]:
    """Run a benchmark's own file in a process of its own that calls `print_rounds`; give what it printed."""
    done = run_process([sys.executable, file, *map(str, arguments)])
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found
