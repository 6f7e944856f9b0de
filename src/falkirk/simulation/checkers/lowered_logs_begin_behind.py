"""LoweredLogsBeginBehind: in the end no node holds metadata from before a lowering, only a snapshot taken after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.simulation.views.level_watch import LevelWatch
    from falkirk.simulation.views.replica_view import ReplicaView


class LoweredLogsBeginBehind(Checker):
    """KIP-1155: after a lowering every node writes a snapshot at the new level, and deletes the log before it."""

    def __init__(self, levels: LevelWatch) -> None:
        self._levels = levels

    def at_end(self, replicas: Mapping[int, ReplicaView]) -> None:
        """Check the start of each log."""
        problem = self.missing(replicas)
        if problem is not None:
            raise self.violated(problem)

    def missing(self, replicas: Mapping[int, ReplicaView]) -> str | None:
        """Return which node has not yet written the snapshot that a lowering requires; None if all have."""
        if not self._levels.lowerings:
            return None
        lowering = self._levels.lowerings[-1]
        for node_id, replica in replicas.items():
            start, latest = replica.log.start_offset, replica.log.latest_snapshot
            if start < lowering.end_offset:
                return f"the log of node {node_id} begins at {start}, {lowering.after} is from {lowering.end_offset} on"
            if latest is None or latest.offset < lowering.end_offset:
                return f"node {node_id} has no snapshot from behind {lowering.end_offset}"
        return None
