"""Base class of the checkers of KIP-584's mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.history.invariant import InvariantViolatedError

if TYPE_CHECKING:
    from falkirk.simulation.zookeeper.world.ensemble import Transaction
    from falkirk.simulation.zookeeper.world.features_truth import Written
    from falkirk.simulation.zookeeper.world.machine import Machine, Writer
    from falkirk.zookeeper_node.session.operations import Answer, Operation


class ZooKeeperChecker:
    """Checks transactions, operations and their answers. Cheap while nothing changes."""

    def committed(self, transaction: Transaction, writer: Writer | None) -> None:
        """Check a transaction; `writer` is None for one made by hand."""

    def features_written(self, writer: Writer | None, before: Written, after: Written) -> None:
        """Check a write to the features znode."""

    def requested(self, machine: Machine, operation: Operation) -> None:
        """Handle a node's operation; all answers before it have been handled."""

    def heard(self, machine: Machine, operation: Operation, answer: Answer) -> None:
        """Handle the answer that a node received."""

    def tick(self, machine: Machine) -> None:
        """Check a machine that is up, periodically."""

    def violated(self, what: str) -> InvariantViolatedError:
        """Return the error to raise, with the checker's name."""
        return InvariantViolatedError(type(self).__name__, what)
