"""MajorityReachedHighWatermark: a leader commits only what a majority of the voters has on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.protocol.schema import ZERO_UUID
from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.raft.voter_set import VoterNode
    from falkirk.simulation.views.replica_view import ReplicaView


class MajorityReachedHighWatermark(Checker):
    """When a leader raises the highest high watermark so far, the logs of a majority of the voters reach it.

    A log reaches it that is as long and ends in the epoch of the last committed record or in a later one; one that ends
    in an earlier epoch has diverged.
    The voters are those in force when the high watermark rose: the same step may have appended a new set.
    A replica that is down counts with its last known disk: a crash loses nothing that was synced. A voter is a node
    with its disk: a node with a new disk (`directory_ids` holds the current one of each) is another voter.
    A leader that has a snapshot believes that its end is committed: there it suffices that the voters whose logs reach
    it block every majority of the others (docs/internals/commit-by-snapshot.md).
    """

    def __init__(self, directory_ids: Mapping[int, bytes]) -> None:
        self._directory_ids = directory_ids
        # By node and disk: the end of its log.
        self._ends: dict[tuple[int, bytes], OffsetAndEpoch] = {}
        self._voters: dict[int, Mapping[int, VoterNode]] = {}
        self._committed = 0

    def started(self, replica: ReplicaView) -> None:
        """Record the log end."""
        self._note_end(replica)
        self._voters.pop(replica.node_id, None)

    def failed(self, replica: ReplicaView) -> None:
        """Record the log end: others may have learned it before the disk failed."""
        self._note_end(replica)

    def after_step(self, replica: ReplicaView) -> None:
        """Count the voters whose logs reach the leader's high watermark."""
        self._note_end(replica)
        voters = replica.raft.voters
        before = self._voters.get(replica.node_id, voters)
        self._voters[replica.node_id] = voters
        high_watermark = replica.raft.high_watermark
        if not replica.raft.is_leader or high_watermark is None or high_watermark <= self._committed:
            return
        self._committed = high_watermark
        log, latest = replica.log, replica.log.latest_snapshot
        if latest is not None and latest.offset == high_watermark:
            if not any(self._has_blocking(each, latest) for each in (voters, before)):
                raise self.violated(f"snapshot {latest} of node {replica.node_id}, which leads, could be lost")
            return
        last = list(log.batches(max(log.start_offset, high_watermark - 1), high_watermark))
        committed = OffsetAndEpoch(high_watermark, last[-1].leader_epoch if last else log.last_epoch)
        if not self._has_majority(voters, committed) and not self._has_majority(before, committed):
            have = [node_id for node_id, voter in sorted(voters.items()) if self._reaches(voter, committed)]
            raise self.violated(
                f"node {replica.node_id} leads epoch {replica.raft.leader.epoch} with high watermark {high_watermark}, "
                f"of the voters {sorted(voters)} only {have} have the log up to there"
            )

    def _has_majority(self, voters: Mapping[int, VoterNode], committed: OffsetAndEpoch) -> bool:
        return 2 * sum(self._reaches(voter, committed) for voter in voters.values()) > len(voters)

    def _has_blocking(self, voters: Mapping[int, VoterNode], committed: OffsetAndEpoch) -> bool:
        lacking = sum(not self._reaches(voter, committed) for voter in voters.values())
        return 2 * lacking <= len(voters)

    def _note_end(self, replica: ReplicaView) -> None:
        end = OffsetAndEpoch(replica.log.end_offset, replica.log.last_epoch)
        self._ends[replica.node_id, self._directory_id(replica.node_id)] = end

    def _reaches(self, voter: VoterNode, committed: OffsetAndEpoch) -> bool:
        node_id, directory_id = voter.key
        if directory_id == ZERO_UUID:
            directory_id = self._directory_id(node_id)
        end = self._ends.get((node_id, directory_id))
        return end is not None and end.offset >= committed.offset and end.epoch >= committed.epoch

    def _directory_id(self, node_id: int) -> bytes:
        return self._directory_ids.get(node_id, ZERO_UUID)
