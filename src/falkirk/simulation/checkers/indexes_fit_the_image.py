"""IndexesFitTheImage: what a controller has indexed by deltas, it would index from its image, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.state.controller_indexes import ControllerIndexes
from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.simulation.views.replica_view import ReplicaView


class IndexesFitTheImage(Checker):
    """Compares whenever the indexes of a controller have changed, active or not, and at the end of the run."""

    def __init__(self) -> None:
        self._seen: dict[int, ControllerIndexes] = {}

    def after_step(self, replica: ReplicaView) -> None:
        """Compare new indexes with those of the image."""
        indexes = replica.standby.current
        if indexes is None or not replica.config.is_controller or self._seen.get(replica.node_id) is indexes:
            return
        self._seen[replica.node_id] = indexes
        self._compare(replica, indexes)

    def at_end(self, replicas: Mapping[int, ReplicaView]) -> None:
        """Compare once more: a change of the image may have been missed."""
        for replica in replicas.values():
            indexes = replica.standby.current
            if indexes is not None and replica.config.is_controller:
                self._compare(replica, indexes)

    def _compare(self, replica: ReplicaView, indexes: ControllerIndexes) -> None:
        if indexes != ControllerIndexes.of(replica.image):
            at = replica.image.provenance.end_offset
            raise self.violated(f"node {replica.node_id} has indexed something else than its image at {at}")
