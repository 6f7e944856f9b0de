"""ImageByOffset: the image at an offset is the same on every node, whether read from records or from a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.simulation.views.replica_view import ReplicaView


class ImageByOffset(Checker):
    """Compares the images that nodes publish for the same offset."""

    def __init__(self) -> None:
        self._images: dict[int, tuple[MetadataImage, int]] = {}
        self._seen: dict[int, MetadataImage] = {}

    def after_step(self, replica: ReplicaView) -> None:
        """Compare a newly published image with another node's."""
        image = replica.image
        if self._seen.get(replica.node_id) is image:
            return
        self._seen[replica.node_id] = image
        offset = image.provenance.end_offset
        known, teller = self._images.setdefault(offset, (image, replica.node_id))
        if known is not image and not image.has_same_content(known):
            raise self.violated(f"the images of nodes {replica.node_id} and {teller} differ at offset {offset}")
