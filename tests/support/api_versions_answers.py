"""Recorded ApiVersions responses of real Kafka (tests/data/api_versions.jsonl), and node views that match them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from immutables import Map
from node_views import broker_view_of, node_view

from falkirk.metadata.image.features import FeaturesImage
from falkirk.metadata.image.metadata_image import MetadataImage, Provenance
from falkirk.node.handlers.parts.view import NodeView
from falkirk.protocol.messages import ApiVersionsResponse
from falkirk.versions.api_support import Listener
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion
from falkirk.versions.release import Release
from falkirk.versions.supported_range import SupportedRange

ANSWERS = Path(__file__).parent.parent / "data" / "api_versions.jsonl"
TELEMETRY = {71, 72}
PRODUCE = 0


def answers() -> Iterator[dict[str, Any]]:
    """Yield each line: release, quorum (static or dynamic), listener, the request (a version, and more), hex."""
    for line in ANSWERS.read_text().splitlines():
        yield json.loads(line)


def ranges_of(release: Release, listener: Listener, *, unstable: bool = False) -> dict[int, SupportedRange]:
    """Return the API ranges that a real node serves without client metrics; `unstable`: with unstable versions."""
    ranges = release.api_ranges(listener, unstable=unstable)
    if listener is Listener.BROKER:
        ranges = {key: offered for key, offered in ranges.items() if key not in TELEMETRY}
    return ranges


def advertised_ranges_of(release: Release, listener: Listener) -> dict[int, SupportedRange]:
    """Return the ranges that such a node advertises: for Produce also versions that it no longer serves."""
    return {
        key: SupportedRange(0, offered.highest) if key == PRODUCE else offered
        for key, offered in ranges_of(release, listener).items()
    }


def view_like(
    told: ApiVersionsResponse,
    release: Release,
    ranges: dict[int, SupportedRange],
    *,
    listener: Listener = Listener.CONTROLLER,
    **more: Any,
) -> NodeView:
    """Return the view of a node with the features of a recorded response."""
    levels = {feature.name: feature.max_version_level for feature in told.finalized_features}
    kraft_version = levels.pop(KRAFT_VERSION, 0)
    metadata_version = levels.pop(METADATA_VERSION, None)
    features = FeaturesImage(
        Map(levels), None if metadata_version is None else MetadataVersion.of_level(metadata_version)
    )
    image = MetadataImage(features=features, provenance=Provenance(told.finalized_features_epoch + 1, 1, 0))
    fields = {
        "cluster_id": "cluster",
        "api_ranges": ranges,
        "supported_features": release.supported_features(),
        "kraft_version": kraft_version,
    }
    make = broker_view_of if listener is Listener.BROKER else node_view
    return make(image, release, **fields | more)
