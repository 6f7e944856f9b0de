"""What the checkers of KIP-584's mode have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import InvariantViolatedError

if TYPE_CHECKING:
    from falkirk.node.zookeeper.operations import Answer, Operation
    from falkirk.simulation.zookeeper.ensemble import Transaction
    from falkirk.simulation.zookeeper.features_truth import Written
    from falkirk.simulation.zookeeper.machine import Machine, Writer


class ZooKeeperChecker:
    """Looks at what is written, answered and told. Cheap where nothing changed."""

    def committed(self, transaction: Transaction, writer: Writer | None) -> None:
        """Look at a transaction; `writer` is None for what was done by hand."""

    def features_written(self, writer: Writer | None, before: Written, after: Written) -> None:
        """Look at a write to the znode of features."""

    def asked(self, machine: Machine, operation: Operation) -> None:
        """Take note of what a node asks for; what it has been answered until then is known."""

    def heard(self, machine: Machine, operation: Operation, answer: Answer) -> None:
        """Take note of what a node was answered."""

    def tick(self, machine: Machine) -> None:
        """Look at a machine that is up, every now and then."""

    def violated(self, what: str) -> InvariantViolatedError:
        """Give the error to raise."""
        return InvariantViolatedError(type(self).__name__, what)
