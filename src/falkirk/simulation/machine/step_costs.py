"""What a node's step costs: the lines of falkirk's own Python that it ran, and the bytes that it wrote.

A cost stands for microseconds of processor time, and is the same for every replay in a fresh process. Lines are counted
by the interpreter (`sys.settrace`), a comprehension's once for each element, so every loop of the node counts, whoever
wrote it; work inside a single call into C (sorting, copying a dictionary, a checksum) counts as one line.

A function without a loop runs at most its own lines, and most calls are of such: after its first calls each one counts
as these did on average, and is not followed line by line, which would take half of a run.
"""

from __future__ import annotations

import dis
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
# Calls of a function without a loop that are followed line by line.
_FOLLOWED_CALLS: Final = 8
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
        # Each function that was ever called; None: it does not count.
        self._functions: dict[CodeType, _Function | None] = {}
        self._called: list[_Function] = []

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
            function = self._functions[code]
        except KeyError:
            function = self._functions[code] = _Function(code) if _is_counted(frame) else None
        if function is None:
            return None
        if not function.lines:
            self._called.append(function)
        function.lines += function.lines_of_call
        if function.calls_to_follow:
            function.followed()
        return function.trace

    def _cost(self) -> StepCost:
        lines, most = 0, None
        for function in self._called:
            lines += function.lines
            if most is None or function.lines > most.lines:
                most = function
        busiest = "" if most is None else most.described
        for function in self._called:
            function.lines = 0
        self._called.clear()
        return StepCost(lines // LINES_PER_US, busiest)


class _Function:
    """A function that counts. `lines`: in this step; `lines_of_call`: counted when it is called, besides `trace`."""

    __slots__ = ("_code", "_followed_lines", "calls_to_follow", "lines", "lines_of_call", "trace")

    def __init__(self, code: CodeType) -> None:
        self._code = code
        self.lines = 0
        self.lines_of_call = 1
        self.trace: LocalTrace | None = self._trace
        # 0: all calls are followed, or none is any more.
        self.calls_to_follow = 0 if _has_loop(code) else _FOLLOWED_CALLS + 1
        self._followed_lines = 0

    @property
    def described(self) -> str:
        """Its file and name, and the lines of this step."""
        code = self._code
        return f"{code.co_filename.rpartition('/')[2]}: {code.co_qualname}, {self.lines} lines"

    def followed(self) -> None:
        """Count a call; after enough of them the others count as they did."""
        self.calls_to_follow -= 1
        if not self.calls_to_follow:
            self.lines_of_call += self._followed_lines // _FOLLOWED_CALLS
            self.lines += self._followed_lines // _FOLLOWED_CALLS
            self.trace = None

    def _trace(self, frame: FrameType, event: str, argument: Any) -> LocalTrace:
        del frame, event, argument
        self.lines += 1
        self._followed_lines += 1
        return self._trace


def _has_loop(code: CodeType) -> bool:
    return any("JUMP_BACKWARD" in instruction.opname for instruction in dis.get_instructions(code))


def _is_counted(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__", "")
    if module.startswith(_PACKAGE):
        return not module.startswith(_WORLD)
    return frame.f_code.co_filename.startswith(_CODEC)
