"""version-mapping: which feature levels a cluster starts with at a metadata.version (KIP-1022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.cli.failure import CommandFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from falkirk.cli.kafka_tool import KafkaTool
    from falkirk.versions.metadata_version import FeatureLevel, MetadataVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionMapping:
    """The levels of a new cluster, as one release formats it."""

    release: str
    metadata_version: MetadataVersion
    # The metadata.version or release as it was asked for.
    asked: str
    features: Mapping[str, FeatureLevel]

    def text(self) -> Iterator[str]:
        """Give the lines as Kafka's tools print them."""
        yield f"metadata.version={self.metadata_version.level} ({self.asked})"
        for name, level in self.features.items():
            yield f"{name}={level}"

    def document(self) -> object:
        """Give the levels by feature."""
        return {
            "release": self.release,
            "metadata_version": {"level": self.metadata_version.level, "name": self.metadata_version.name},
            "features": dict(self.features),
        }


def version_mapping(tool: KafkaTool, release_version: str | None) -> VersionMapping:
    """Map a metadata.version or release (None: the latest production one). Raises CommandFailedError."""
    release = tool.release
    if release_version is None:
        metadata_version, asked = release.latest_metadata_version, release.latest_metadata_version.name
    else:
        found = release.find_metadata_version(release_version)
        if found is None:
            raise CommandFailedError(_unknown(tool, release_version))
        metadata_version, asked = found, release_version
    return VersionMapping(
        release=release.name,
        metadata_version=metadata_version,
        asked=asked,
        features=release.default_levels(metadata_version),
    )


def _unknown(tool: KafkaTool, text: str) -> str:
    known = tool.release.kraft.metadata_versions
    if tool.wording.lists_metadata_versions:
        names = ", ".join(version.name for version in known)
        return f"Unknown metadata.version '{text}'. Supported metadata.version are: {names}"
    latest = tool.release.latest_metadata_version
    return f"Unknown release version '{text}'. Supported versions are: {known[0]} to {latest}"
