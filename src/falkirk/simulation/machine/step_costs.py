"""What a node's step costs: the lines of falkirk's own Python that it ran, and the bytes that it wrote.

A cost stands for microseconds of processor time, and is the same for every replay in a fresh process. Lines are counted
by the interpreter (`sys.settrace`), a comprehension's once for each element, so every loop of the node counts, whoever
wrote it; work inside a single call into C (sorting, copying a dictionary, a checksum) counts as one line.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType
    from typing import TypeAlias

    LocalTrace: TypeAlias = Callable[[FrameType, str, Any], Any]  # Any: as `sys.settrace` has it

T = TypeVar("T")

# Measured: benchmarks/longest_step.py, the same steps by the clock.
LINES_PER_US: Final = 10
WRITTEN_BYTES_PER_US: Final = 1024
_PACKAGE: Final = "falkirk."
# What is no node's: the world around it.
_WORLD: Final = ("falkirk.simulation.", "falkirk.storage.memory_disk")
# Compiled encoders and decoders belong to no module.
_CODEC: Final = "<codec "


@dataclass(frozen=True, slots=True)
class StepCost:
    """What a step cost. `busiest`: the function with the most lines of its own, with its module and their number."""

    us: int = 0
    busiest: str = ""

    def with_bytes_written(self, count: int) -> StepCost:
        """Return the cost with so many bytes besides."""
        return StepCost(self.us + count // WRITTEN_BYTES_PER_US, self.busiest)


class StepCosts:
    """Counts the lines of one call at a time. A tracer that was set before is set again afterwards."""

    def __init__(self) -> None:
        self.last = StepCost()
        # Of each function that was ever called: its number of lines in this step; None: it does not count.
        self._counts: dict[CodeType, tuple[list[int], LocalTrace] | None] = {}
        self._called: list[CodeType] = []

    def measure(self, run: Callable[[], T]) -> T:
        """Call `run` and return its result; `last` is its cost, also if it raises."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            return run()
        finally:
            sys.settrace(before)
            self.last = self._cost()

    def _enter(self, frame: FrameType, event: str, argument: Any) -> LocalTrace | None:
        del event, argument
        code = frame.f_code
        try:
            counted = self._counts[code]
        except KeyError:
            counted = self._counts[code] = _counter() if _is_counted(frame) else None
        if counted is None:
            return None
        count, trace = counted
        if not count[0]:
            self._called.append(code)
        count[0] += 1
        return trace

    def _cost(self) -> StepCost:
        lines, most, busiest = 0, 0, ""
        for code in self._called:
            counted = self._counts[code]
            assert counted is not None, "only what counts is listed"
            (count,) = counted[0]
            counted[0][0] = 0
            lines += count
            if count > most:
                most, busiest = count, f"{code.co_filename.rpartition('/')[2]}: {code.co_qualname}, {count} lines"
        self._called.clear()
        return StepCost(lines // LINES_PER_US, busiest)


def _counter() -> tuple[list[int], LocalTrace]:
    count = [0]

    def trace(frame: FrameType, event: str, argument: Any) -> LocalTrace:
        del frame, event, argument
        count[0] += 1
        return trace

    return count, trace


def _is_counted(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__", "")
    if module.startswith(_PACKAGE):
        return not module.startswith(_WORLD)
    return frame.f_code.co_filename.startswith(_CODEC)
