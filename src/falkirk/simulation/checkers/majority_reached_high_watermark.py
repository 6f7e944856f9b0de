"""MajorityReachedHighWatermark: a leader calls committed only what a majority has on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from falkirk.simulation.replica_view import ReplicaView


class MajorityReachedHighWatermark(Checker):
    """When a leader's high watermark rises, a majority of the voters in force has the log up to there.

    A replica that is down counts with what it had on disk when it was last seen: a crash takes nothing away that was
    synced. What a disk lost by a wipe is forgotten.
    """

    def __init__(self) -> None:
        self._end_offsets: dict[int, int] = {}
        self._checked: dict[tuple[int, int], int] = {}

    def started(self, replica: ReplicaView) -> None:
        """Take note of the log's end."""
        self._end_offsets[replica.node_id] = replica.log.end_offset

    def failed(self, replica: ReplicaView) -> None:
        """Take note of the log's end: others may have heard of it before the disk failed."""
        self._end_offsets[replica.node_id] = replica.log.end_offset

    def after_step(self, replica: ReplicaView) -> None:
        """Count the voters that have what a leader calls committed."""
        self._end_offsets[replica.node_id] = replica.log.end_offset
        high_watermark = replica.raft.high_watermark
        if not replica.raft.is_leader or high_watermark is None:
            return
        key = replica.node_id, replica.raft.leader.epoch
        if self._checked.get(key, -1) >= high_watermark:
            return
        self._checked[key] = high_watermark
        voters = replica.raft.voters
        have = [voter for voter in voters if self._end_offsets.get(voter, 0) >= high_watermark]
        if 2 * len(have) <= len(voters):
            raise self.violated(
                f"node {replica.node_id} leads epoch {key[1]} with high watermark {high_watermark}, "
                f"of the voters {sorted(voters)} only {sorted(have)} have the log up to there"
            )
