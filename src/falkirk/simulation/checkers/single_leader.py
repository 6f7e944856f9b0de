"""SingleLeader: an epoch of the metadata quorum has at most one leader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from falkirk.simulation.views.replica_view import ReplicaView


class SingleLeader(Checker):
    """All replicas that know the leader of an epoch agree on it."""

    def __init__(self) -> None:
        self._leaders: dict[int, tuple[int, int]] = {}  # epoch: (leader, node id of the first witness)

    def after_step(self, replica: ReplicaView) -> None:
        """Compare the replica's leader with the one that was first seen in its epoch."""
        leader = replica.raft.leader
        if leader.leader_id is None:
            return
        known, witness = self._leaders.setdefault(leader.epoch, (leader.leader_id, replica.node_id))
        if known != leader.leader_id:
            raise self.violated(
                f"epoch {leader.epoch} has leader {leader.leader_id} for node {replica.node_id}, "
                f"and leader {known} for node {witness}"
            )
