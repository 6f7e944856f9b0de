"""What all checkers have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.simulation.replica_view import ReplicaView


class InvariantViolatedError(Exception):
    """Something that must never be, is. `invariant` is the checker's name."""

    def __init__(self, invariant: str, what: str) -> None:
        super().__init__(f"{invariant}: {what}")
        self.invariant = invariant


class Checker:
    """Looks at a replica after each of its steps, and at all of them when the run ends. Cheap where nothing changed."""

    def started(self, replica: ReplicaView) -> None:
        """Take note that a node has started, from what its disk had."""

    def after_step(self, replica: ReplicaView) -> None:
        """Look at a replica that has just done something."""

    def failed(self, replica: ReplicaView) -> None:
        """Take note that a node stopped because of its disk: what it has in memory nobody will ever hear of."""

    def at_end(self, replicas: Mapping[int, ReplicaView]) -> None:
        """Look at all, long after the last fault."""

    def violated(self, what: str) -> InvariantViolatedError:
        """Give the error to raise."""
        return InvariantViolatedError(type(self).__name__, what)
