"""MonotonicHighWatermark: a replica's high watermark never falls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from falkirk.simulation.views.replica_view import ReplicaView


class MonotonicHighWatermark(Checker):
    """It never falls while the replica runs, and never exceeds the log end on disk."""

    def __init__(self) -> None:
        self._high_watermarks: dict[int, int] = {}

    def started(self, replica: ReplicaView) -> None:
        """Reset: the high watermark is not persisted."""
        self._high_watermarks.pop(replica.node_id, None)

    def after_step(self, replica: ReplicaView) -> None:
        """Compare with the high watermark of the step before and with the log end."""
        high_watermark = replica.raft.high_watermark
        if high_watermark is None:
            return
        before = self._high_watermarks.get(replica.node_id, 0)
        if high_watermark < before:
            raise self.violated(f"node {replica.node_id} has high watermark {high_watermark}, it had {before}")
        if high_watermark > replica.log.end_offset:
            end = replica.log.end_offset
            raise self.violated(f"node {replica.node_id} has high watermark {high_watermark}, its log ends at {end}")
        self._high_watermarks[replica.node_id] = high_watermark
