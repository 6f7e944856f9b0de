"""OnlyTheControllerWrites: only the last elected controller writes features, and controller epochs rise by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.controller_znode import (
    CONTROLLER_EPOCH_PATH,
    CONTROLLER_PATH,
    decode_controller,
    decode_epoch,
)
from falkirk.simulation.zookeeper.checkers.zookeeper_checker import ZooKeeperChecker

if TYPE_CHECKING:
    from falkirk.simulation.zookeeper.world.ensemble import Transaction
    from falkirk.simulation.zookeeper.world.features_truth import Written
    from falkirk.simulation.zookeeper.world.machine import Writer
    from falkirk.zookeeper_node.session.operations import Znode


class OnlyTheControllerWrites(ZooKeeperChecker):
    """An election creates `/controller` and raises the epoch in one transaction; a later one ends its rights."""

    def __init__(self) -> None:
        self.elections = 0
        self._elected: tuple[str, int] = "nobody", -1
        # None: an operator has written something other than an epoch.
        self._epoch: int | None = 0

    def committed(self, transaction: Transaction, writer: Writer | None) -> None:
        """Record elections."""
        changes = {change.path: change for change in transaction.changes}
        controller, epoch = changes.get(CONTROLLER_PATH), changes.get(CONTROLLER_EPOCH_PATH)
        if writer is None:
            if epoch is not None:
                self._epoch_changed_by_hand(epoch.after)
            return
        if controller is not None and controller.after is not None:
            if epoch is None or epoch.after is None:
                raise self.violated(f"{writer.name} made {CONTROLLER_PATH} and left the epoch as it was")
            if decode_controller(controller.after.data) != writer.machine.node_id:
                raise self.violated(f"{writer.name} elected somebody else: {controller.after.data!r}")
            number = decode_epoch(epoch.after.data)
            if self._epoch is not None and number != self._epoch + 1:
                raise self.violated(f"{writer.name} was elected with epoch {number} after {self._epoch}")
            self._elected, self._epoch = (writer.name, transaction.session_id), number
            self.elections += 1
        elif epoch is not None and epoch.after is not None:
            if epoch.before is not None or decode_epoch(epoch.after.data) != 0:
                raise self.violated(f"{writer.name} wrote the epoch {epoch.after.data!r} without an election")
            self._epoch = 0

    def features_written(self, writer: Writer | None, before: Written, after: Written) -> None:  # noqa: ARG002
        """Check the writer."""
        name, session_id = self._elected
        if writer is not None and after.session_id != session_id:
            raise self.violated(
                f"{writer.name} wrote features in session {after.session_id}; "
                f"{name} was elected with epoch {self._epoch} in session {session_id}"
            )

    def _epoch_changed_by_hand(self, epoch: Znode | None) -> None:
        """End the rights of the last election if the epoch has changed."""
        number = int(epoch.data) if epoch is not None and epoch.data.isdigit() else None
        if number is None or number != self._epoch:
            self._elected = "nobody since it was changed by hand", -1
        self._epoch = number
