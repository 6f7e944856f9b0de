"""MajorityReachedHighWatermark: a leader calls committed only what a majority has on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.schema import ZERO_UUID
from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.raft.voter_set import VoterNode
    from falkirk.simulation.replica_view import ReplicaView


class MajorityReachedHighWatermark(Checker):
    """When a leader's high watermark rises, a majority of the voters in force has the log up to there.

    A replica that is down counts with what it had on disk when it was last seen: a crash takes nothing away that was
    synced. A voter is a node with a disk: one that got a new disk (`directory_ids` says which it has) is another.
    """

    def __init__(self, directory_ids: Mapping[int, bytes]) -> None:
        self._directory_ids = directory_ids
        self._end_offsets: dict[tuple[int, bytes], int] = {}
        self._checked: dict[tuple[int, int], int] = {}

    def started(self, replica: ReplicaView) -> None:
        """Take note of the log's end."""
        self._note_end(replica)

    def failed(self, replica: ReplicaView) -> None:
        """Take note of the log's end: others may have heard of it before the disk failed."""
        self._note_end(replica)

    def after_step(self, replica: ReplicaView) -> None:
        """Count the voters that have what a leader calls committed."""
        self._note_end(replica)
        high_watermark = replica.raft.high_watermark
        if not replica.raft.is_leader or high_watermark is None:
            return
        key = replica.node_id, replica.raft.leader.epoch
        if self._checked.get(key, -1) >= high_watermark:
            return
        self._checked[key] = high_watermark
        voters = replica.raft.voters
        have = [node_id for node_id, voter in voters.items() if self._end_offset(voter) >= high_watermark]
        if 2 * len(have) <= len(voters):
            raise self.violated(
                f"node {replica.node_id} leads epoch {key[1]} with high watermark {high_watermark}, "
                f"of the voters {sorted(voters)} only {sorted(have)} have the log up to there"
            )

    def _note_end(self, replica: ReplicaView) -> None:
        self._end_offsets[replica.node_id, self._directory_id(replica.node_id)] = replica.log.end_offset

    def _end_offset(self, voter: VoterNode) -> int:
        node_id, directory_id = voter.key
        if directory_id == ZERO_UUID:
            directory_id = self._directory_id(node_id)
        return self._end_offsets.get((node_id, directory_id), 0)

    def _directory_id(self, node_id: int) -> bytes:
        return self._directory_ids.get(node_id, ZERO_UUID)
