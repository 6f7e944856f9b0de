"""IndexesFitTheImage: what a controller has indexed by deltas, it would index from its image, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.metadata.controller.state.controller_indexes import ControllerIndexes
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.controller.standby_indexes import StandbyIndexes
    from falkirk.simulation.views.replica_view import ReplicaView

# Of a node's changes: after so many its whole image is indexed once more.
_CHANGES_PER_WHOLE: Final = 16


class _Seen(NamedTuple):
    """Indexes that fitted an image. `changes`: since the whole image was indexed."""

    standby: "StandbyIndexes"
    indexes: ControllerIndexes
    image: "MetadataImage"
    changes: int = 0


class IndexesFitTheImage(Checker):
    """Compares whenever the indexes of a controller have changed, active or not, and at the end of the run.

    Indexes that fitted before are changed by the difference of the two images, which is found without the deltas that
    the controller got. What that cannot show, an index that goes wrong where it is changed by any delta, stays wrong:
    the whole image is indexed for each start of a node, for some of the changes, and at the end. Images of the same
    offset are the same on all nodes (ImageByOffset).
    """

    def __init__(self) -> None:
        self._seen: dict[int, _Seen] = {}
        # The indexes of a whole image, and its offset.
        self._whole = -1, ControllerIndexes()

    def after_step(self, replica: ReplicaView) -> None:
        """Compare new indexes with those of the image."""
        indexes = replica.standby.current
        if indexes is None or not replica.config.is_controller:
            return
        seen = self._seen.get(replica.node_id)
        if seen is None or seen.standby is not replica.standby or seen.changes == _CHANGES_PER_WHOLE:
            self._compare(replica, indexes, self._indexed(replica.image))
            self._seen[replica.node_id] = _Seen(replica.standby, indexes, replica.image)
        elif seen.indexes is not indexes:
            difference = MetadataDelta.between(seen.image, replica.image)
            self._compare(replica, indexes, seen.indexes.changed_by(difference))
            self._seen[replica.node_id] = _Seen(replica.standby, indexes, replica.image, seen.changes + 1)

    def at_end(self, replicas: Mapping[int, ReplicaView]) -> None:
        """Compare once more: a change of the image may have been missed."""
        for replica in replicas.values():
            indexes = replica.standby.current
            if indexes is not None and replica.config.is_controller:
                self._compare(replica, indexes, self._indexed(replica.image))

    def _indexed(self, image: MetadataImage) -> ControllerIndexes:
        offset = image.provenance.end_offset
        if self._whole[0] != offset:
            self._whole = offset, ControllerIndexes.of(image)
        return self._whole[1]

    def _compare(self, replica: ReplicaView, indexes: ControllerIndexes, expected: ControllerIndexes) -> None:
        if indexes != expected:
            at = replica.image.provenance.end_offset
            raise self.violated(f"node {replica.node_id} has indexed something else than its image at {at}")
