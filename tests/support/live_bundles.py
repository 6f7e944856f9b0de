"""Undo bundles of running clusters, made at once."""

from falkirk.metadata.image.metadata_image import MetadataImage
from falkirk.metadata.undo.live_bundle import LiveBundle
from falkirk.protocol.messages import VotersRecord


def live_bundle_bytes(
    image: MetadataImage,
    levels: dict[str, int],
    *,
    cluster_id: str = "c",
    kraft_version: int = 0,
    voters: VotersRecord | None = None,
) -> bytes:
    """Return the bytes of the bundle that undoes a change of levels in an image."""
    bundle = LiveBundle(image, levels)
    added = [data for name, topic in bundle.missing(image) for data, _ in bundle.add(image, name, topic)]
    return b"".join(added) + bundle.finish(
        image, cluster_id=cluster_id, kraft_version=kraft_version, voters=voters, offset=7
    )
