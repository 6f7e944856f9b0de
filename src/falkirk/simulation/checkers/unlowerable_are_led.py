"""UnlowerableAreLed: a node that cannot lower its metadata never receives the record that lowers the level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from falkirk.simulation.views.replica_view import ReplicaView


class UnlowerableAreLed(Checker):
    """A snapshot takes it past the lowering (KIP-1155): a Kafka node could not continue after the record.

    A change of level before the node's own snapshot does not count: when the log is reopened, the level before it is
    unknown, so the log reports it as a lowering.
    """

    def after_step(self, replica: ReplicaView) -> None:
        """Check the lowerings in the log of such a node."""
        if replica.config.downgrade_enable:
            return
        snapshot = replica.log.latest_snapshot
        for lowering in replica.log.lowerings:
            if snapshot is None or lowering.end_offset > snapshot.offset:
                raise self.violated(f"node {replica.node_id} has the lowering of offset {lowering}")
