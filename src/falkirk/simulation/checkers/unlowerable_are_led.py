"""UnlowerableAreLed: a node that cannot lower its metadata never sees the record that would have it do so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from falkirk.simulation.replica_view import ReplicaView


class UnlowerableAreLed(Checker):
    """A snapshot leads it past the lowering (KIP-1155): Kafka's own nodes would be of no use after the record.

    A change of level before the node's own snapshot does not count: when the log is opened again nobody knows any more
    what was before it, so the log takes it for a lowering.
    """

    def after_step(self, replica: ReplicaView) -> None:
        """Look at what is in the log of such a node."""
        if replica.config.downgrade_enable:
            return
        snapshot = replica.log.latest_snapshot
        for lowering in replica.log.lowerings:
            if snapshot is None or lowering.end_offset > snapshot.offset:
                raise self.violated(f"node {replica.node_id} has the lowering of offset {lowering}")
