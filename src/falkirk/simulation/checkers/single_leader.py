"""SingleLeader: an epoch has one leader at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from falkirk.simulation.replica_view import ReplicaView


class SingleLeader(Checker):
    """No two replicas ever lead in one epoch, and no replica believes in another leader of it than the others."""

    def __init__(self) -> None:
        self._leaders: dict[int, tuple[int, int]] = {}  # epoch: (leader, who said so first)

    def after_step(self, replica: ReplicaView) -> None:
        """Compare what the replica believes with what was believed before."""
        leader = replica.raft.leader
        if leader.leader_id is None:
            return
        known, teller = self._leaders.setdefault(leader.epoch, (leader.leader_id, replica.node_id))
        if known != leader.leader_id:
            raise self.violated(
                f"epoch {leader.epoch} has leader {leader.leader_id} for node {replica.node_id}, "
                f"and leader {known} for node {teller}"
            )
