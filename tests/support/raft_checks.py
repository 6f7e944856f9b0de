"""Kafka's invariants of a quorum, checked on each output of a replica."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from falkirk.raft.output import InstallSnapshot, LogChange, Truncate

if TYPE_CHECKING:
    from falkirk.raft.output import ElectionState, LeaderAndEpoch
    from falkirk.simulation.explorer.memory_log import BatchIdentity, MemoryLog


class RaftChecks:
    """Raises AssertionError on the first output that breaks an invariant."""

    def __init__(self) -> None:
        self.leaders: dict[int, int] = {}
        self.committed: dict[int, BatchIdentity] = {}
        self.committed_end = 0
        self._epochs: dict[int, int] = {}
        self._votes: dict[tuple[int, int], int] = {}
        self._leader_high_watermark = 0
        self._high_watermarks: dict[int, int] = {}

    def forget(self, node_id: int) -> None:
        """Forget a lost disk."""
        self._epochs.pop(node_id, None)
        self._high_watermarks.pop(node_id, None)
        self._votes = {key: vote for key, vote in self._votes.items() if key[0] != node_id}

    def election_state_written(self, node_id: int, state: ElectionState) -> None:
        """Check MonotonicEpoch, and one vote per epoch."""
        assert state.epoch >= self._epochs.get(node_id, 0), f"MonotonicEpoch: node {node_id} goes back to {state}"
        self._epochs[node_id] = state.epoch
        if state.voted_id is not None:
            voted = self._votes.setdefault((node_id, state.epoch), state.voted_id)
            assert voted == state.voted_id, f"node {node_id} voted for {voted} and {state.voted_id} in {state.epoch}"
        if state.leader_id is not None:
            self._single_leader(state.leader_id, state.epoch)

    def leader_reported(self, node_id: int, leader: LeaderAndEpoch) -> None:
        """Check SingleLeader."""
        if leader.leader_id is not None:
            self._single_leader(leader.leader_id, leader.epoch)
        assert (leader.epoch_start_offset is not None) == (leader.leader_id == node_id)

    def before_log_change(self, node_id: int, log: MemoryLog, change: LogChange) -> None:
        """Check that nothing committed is truncated, and that a snapshot covers at least that much."""
        known = self._high_watermarks.get(node_id, 0)
        match change:
            case Truncate(end_offset):
                assert end_offset >= known, f"node {node_id} truncates to {end_offset}, below {known}"
            case InstallSnapshot(snapshot):
                assert snapshot.offset >= known
                assert (snapshot.epoch, snapshot.offset) > (log.last_epoch, log.end_offset)
                last = self.committed.get(snapshot.offset)
                assert last is None or last.epoch == snapshot.epoch

    def high_watermark_reported(
        self, node_id: int, log: MemoryLog, offset: int, *, copies: list[MemoryLog] | None, voters: int
    ) -> None:
        """Check MonotonicHighWatermark, MajorityReachedHighWatermark and ConsistentCommittedData."""
        assert offset <= log.end_offset
        for stored in log.disk.batches:
            batch = stored.identity
            if batch.end_offset > offset:
                assert batch.base_offset >= offset, "a high watermark inside a batch"
                break
            known = self.committed.setdefault(batch.end_offset, batch)
            assert known == batch, f"committed records changed at {batch.base_offset} on node {node_id}"
        self._high_watermarks[node_id] = max(self._high_watermarks.get(node_id, 0), offset)
        if copies is not None:
            assert offset >= self._leader_high_watermark, "MonotonicHighWatermark"
            self._leader_high_watermark = offset
            last = _batch_before(log, offset)
            having = [
                copy
                for copy in copies
                if copy.end_offset >= offset and (last is None or _batch_before(copy, offset) in (None, last))
            ]
            assert 2 * len(having) > voters, f"MajorityReachedHighWatermark: {offset} on {len(having)} of {voters}"
        self.committed_end = max(self.committed_end, offset)

    def _single_leader(self, leader_id: int, epoch: int) -> None:
        known = self.leaders.setdefault(epoch, leader_id)
        assert known == leader_id, f"SingleLeader: {known} and {leader_id} lead in epoch {epoch}"


def _batch_before(log: MemoryLog, offset: int) -> BatchIdentity | None:
    """Return the batch with the record before an offset; None if a snapshot is in its place."""
    batches = log.disk.batches
    index = bisect_right(batches, offset - 1, key=lambda each: each.identity.end_offset)
    return batches[index].identity if index < len(batches) else None
