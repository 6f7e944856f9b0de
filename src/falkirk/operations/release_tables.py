"""What a release knows of features: the levels of a new cluster, and what a level needs (KIP-1022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.versions.errors import UnknownMetadataVersionError
from falkirk.versions.metadata_version import METADATA_VERSION, FeatureLevel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionMapping:
    """The feature levels of a cluster that a release formats at a metadata.version."""

    release: Release
    metadata_version: MetadataVersion
    features: Mapping[str, FeatureLevel]


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelDependencies:
    """One feature level, and the least levels of other features that it needs."""

    feature: str
    level: FeatureLevel
    requires: Mapping[str, FeatureLevel]


def parse_release_version(release: Release, text: str) -> MetadataVersion:
    """Return the metadata.version of a name (4.0-IV1) or of a release (4.0). Raises UnknownMetadataVersionError."""
    found = release.find_metadata_version(text)
    if found is None:
        known = release.kraft.metadata_versions
        raise UnknownMetadataVersionError(
            f"Kafka {release} knows no metadata.version or release '{text}': it knows {known[0]} to {known[-1]}"
        )
    return found


def version_mapping(release: Release, release_version: str | None = None) -> VersionMapping:
    """Return the levels at a metadata.version or release (None: the release's latest production version).

    Raises UnknownMetadataVersionError.
    """
    version = (
        release.latest_metadata_version if release_version is None else parse_release_version(release, release_version)
    )
    return VersionMapping(release=release, metadata_version=version, features=release.default_levels(version))


def level_dependencies(release: Release, feature: str, level: int) -> LevelDependencies:
    """Return what a level needs.

    Raises UnknownMetadataVersionError, UnknownFeatureError, UnknownFeatureLevelError.
    """
    if feature == METADATA_VERSION:
        release.metadata_version(level)
        return LevelDependencies(feature=feature, level=FeatureLevel(level), requires={})
    requires = release.feature(feature).level(level).dependencies
    return LevelDependencies(feature=feature, level=FeatureLevel(level), requires=requires)
