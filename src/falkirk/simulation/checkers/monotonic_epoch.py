"""MonotonicEpoch: a replica's epoch never falls, not even in a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.simulation.views.replica_view import ReplicaView


class MonotonicEpoch(Checker):
    """A replica remembers every epoch that it has sent to others, as long as it keeps its disk (`directory_ids`)."""

    def __init__(self, directory_ids: Mapping[int, bytes]) -> None:
        self._directory_ids = directory_ids
        self._epochs: dict[tuple[int, bytes | None], int] = {}

    def started(self, replica: ReplicaView) -> None:
        """Compare with the epoch before the crash: it was on disk before it was sent."""
        self.after_step(replica)

    def after_step(self, replica: ReplicaView) -> None:
        """Compare with the epoch of the step before."""
        epoch = replica.raft.leader.epoch
        key = replica.node_id, self._directory_ids.get(replica.node_id)
        before = self._epochs.get(key, 0)
        if epoch < before:
            raise self.violated(f"node {replica.node_id} is at epoch {epoch}, it was at {before}")
        self._epochs[key] = epoch
