"""MalformedStays: a malformed features znode is left for an operator to repair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.zookeeper.checkers.zookeeper_checker import ZooKeeperChecker

if TYPE_CHECKING:
    from falkirk.simulation.zookeeper.world.features_truth import Written
    from falkirk.simulation.zookeeper.world.machine import Writer


class MalformedStays(ZooKeeperChecker):
    """No node overwrites or deletes a malformed znode, or writes one."""

    def features_written(self, writer: Writer | None, before: Written, after: Written) -> None:
        """Compare the znode before and after the write."""
        if writer is None:
            return
        if before.is_malformed:
            raise self.violated(f"{writer.name} wrote over what it cannot read")
        if after.state is None:
            raise self.violated(f"{writer.name} left what nobody can read: {after.znode}")
