"""What real Kafka answered to ApiVersions (tests/data/api_versions.jsonl), and the view of a node that is like it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from immutables import Map

from falkirk.metadata.authorizer import Authorizer
from falkirk.metadata.image.features import FeaturesImage
from falkirk.metadata.image.metadata_image import MetadataImage, Provenance
from falkirk.node.handlers.handler import NodeView
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
    """Give each line: release, quorum (static or dynamic), listener, what was asked (a version, and more), hex."""
    for line in ANSWERS.read_text().splitlines():
        yield json.loads(line)


def ranges_of(release: Release, listener: Listener) -> dict[int, SupportedRange]:
    """Give what a real node of the release serves without client metrics and with only stable versions."""
    ranges = release.api_ranges(listener)
    if listener is Listener.BROKER:
        ranges = {key: offered for key, offered in ranges.items() if key not in TELEMETRY}
    return ranges


def told_ranges_of(release: Release, listener: Listener) -> dict[int, SupportedRange]:
    """Give what such a node tells: of Produce also versions that it does not serve any more."""
    return {
        key: SupportedRange(0, offered.highest) if key == PRODUCE else offered
        for key, offered in ranges_of(release, listener).items()
    }


def view_like(told: ApiVersionsResponse, release: Release, ranges: dict[int, SupportedRange], **more: Any) -> NodeView:
    """Give the view of a node whose features are those that a real one told."""
    levels = {feature.name: feature.max_version_level for feature in told.finalized_features}
    kraft_version = levels.pop(KRAFT_VERSION, 0)
    metadata_version = levels.pop(METADATA_VERSION, None)
    features = FeaturesImage(
        Map(levels), None if metadata_version is None else MetadataVersion.of_level(metadata_version)
    )
    return NodeView(
        node_id=1,
        cluster_id="cluster",
        release=release,
        image=MetadataImage(features=features, provenance=Provenance(told.finalized_features_epoch + 1, 1, 0)),
        authorizer=Authorizer(),
        controller=None,
        now_ms=0,
        api_ranges=ranges,
        supported_features=release.supported_features(),
        kraft_version=kraft_version,
        **more,
    )
