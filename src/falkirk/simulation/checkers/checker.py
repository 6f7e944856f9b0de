"""Base class of the checkers of the metadata quorum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.history.invariant import InvariantViolatedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.simulation.views.replica_view import ReplicaView


class Checker:
    """Checks a replica after each of its steps, and all of them when the run ends. Cheap while nothing changes."""

    def started(self, replica: ReplicaView) -> None:
        """Handle the start of a node from what its disk holds."""

    def after_step(self, replica: ReplicaView) -> None:
        """Check a replica that has just completed a step."""

    def failed(self, replica: ReplicaView) -> None:
        """Handle a node that stopped on a disk error; what it had only in memory is lost."""

    def at_end(self, replicas: Mapping[int, ReplicaView]) -> None:
        """Check all replicas, long after the last fault."""

    def violated(self, what: str) -> InvariantViolatedError:
        """Return the error to raise, with the checker's name."""
        return InvariantViolatedError(type(self).__name__, what)
