"""DecidedEqualsCommitted: the image the active controller decides on equals the one that its committed records make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from falkirk.metadata.image.features import FeaturesImage
    from falkirk.simulation.views.replica_view import ReplicaView


class DecidedEqualsCommitted(Checker):
    """Compares after each change of features, as soon as everything appended is committed."""

    def __init__(self) -> None:
        self._seen: dict[int, FeaturesImage] = {}

    def after_step(self, replica: ReplicaView) -> None:
        """Compare the two images of the active controller."""
        decided, image = replica.decided_image, replica.image
        if decided is None or self._seen.get(replica.node_id) is image.features:
            return
        if decided.provenance.end_offset != image.provenance.end_offset:
            return
        self._seen[replica.node_id] = image.features
        if not decided.has_same_content(image):
            at = image.features.metadata_version
            raise self.violated(f"node {replica.node_id} decides on what is not in its log at {at}")
