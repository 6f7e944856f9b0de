"""MalformedStays: a znode of features that cannot be read is for somebody with a shell to mend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.zookeeper.checkers.zookeeper_checker import ZooKeeperChecker

if TYPE_CHECKING:
    from falkirk.simulation.zookeeper.features_truth import Written
    from falkirk.simulation.zookeeper.machine import Writer


class MalformedStays(ZooKeeperChecker):
    """No node writes over it, deletes it, or writes such a one."""

    def features_written(self, writer: Writer | None, before: Written, after: Written) -> None:
        """Compare what was with what is."""
        if writer is None:
            return
        if before.is_malformed:
            raise self.violated(f"{writer.name} wrote over what it cannot read")
        if after.state is None:
            raise self.violated(f"{writer.name} left what nobody can read: {after.znode}")
