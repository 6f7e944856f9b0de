"""NodesRunWhatIsFinalized: no node keeps running with a level that it does not support (KIP-584, KIP-778)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from falkirk.metadata.image.features import FeaturesImage
    from falkirk.simulation.views.replica_view import ReplicaView


class NodesRunWhatIsFinalized(Checker):
    """Compares the levels that a process has published with those it supports itself, not with its registration."""

    def __init__(self) -> None:
        self._seen: dict[int, FeaturesImage] = {}

    def started(self, replica: ReplicaView) -> None:
        """Check the levels again: the node may run another release."""
        self._seen.pop(replica.node_id, None)

    def after_step(self, replica: ReplicaView) -> None:
        """Check newly published levels."""
        features = replica.image.features
        if self._seen.get(replica.node_id) is features:
            return
        self._seen[replica.node_id] = features
        supported = replica.config.supported_features
        for name, level in features.levels().items():
            if name not in supported or level not in supported[name]:
                raise self.violated(
                    f"node {replica.node_id} runs as {replica.config.release}, finalized is {name} {level}"
                )
