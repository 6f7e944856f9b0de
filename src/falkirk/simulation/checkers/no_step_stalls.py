"""No step of a node stalls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.history.invariant import InvariantViolatedError

if TYPE_CHECKING:
    from falkirk.simulation.machine.host import Host, Program


class NoStepStalls:
    """A node that is busy for longer than a step may take neither votes nor sends heartbeats meanwhile.

    Only where steps have costs. Unlike other checkers it reads the host, which knows what the step cost.
    """

    def __init__(self, step_ms_max: int) -> None:
        self._us_max = step_ms_max * 1000

    def after_step(self, host: Host, program: Program) -> None:
        """Raise InvariantViolatedError if the last step cost too much."""
        del program
        cost = host.last_step
        if cost.us > self._us_max:
            what = f"{host.name} is busy for {cost.us // 1000} ms in one step; most of it in {cost.busiest}"
            raise InvariantViolatedError(type(self).__name__, what)
