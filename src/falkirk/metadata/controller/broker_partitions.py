"""Which partitions each broker leads, follows in sync, or holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage


class BrokerPartitions:
    """An index of the image's partitions by broker; immutable, made anew by each change at the cost of the change."""

    @classmethod
    def of(cls, image: MetadataImage) -> BrokerPartitions:
        """Index a whole image."""
        raise NotImplementedError

    def changed_by(self, delta: MetadataDelta, image: MetadataImage) -> BrokerPartitions:
        """Give the index of `image`, which `delta` led to."""
        raise NotImplementedError
