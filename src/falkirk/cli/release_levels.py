"""`features upgrade-all` and `downgrade-all`: from what is finalized to the levels of a release. Source: KIP-584."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.cli.failure import CommandFailedError
from falkirk.client.feature_update import FeatureUpdate
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.release import all_releases

if TYPE_CHECKING:
    from falkirk.client.feature_metadata import FeatureMetadata
    from falkirk.versions.release import Release


def newest_supported(features: FeatureMetadata) -> Release:
    """Give the newest release whose metadata.version a node supports. Raises CommandFailedError if none is known."""
    supported = features.supported_features.get(METADATA_VERSION)
    for release in reversed(all_releases()):
        if supported is not None and release.tables.kraft is not None:
            level = release.latest_metadata_version.level
            if supported.min_version <= level <= supported.max_version:
                return release
    raise CommandFailedError("the node supports the levels of no release that falkirk knows: name one with --release")


def updates_to_release(
    release: Release, features: FeatureMetadata, upgrade_type: UpgradeType
) -> dict[str, FeatureUpdate]:
    """Give what has to change: levels that are lower for an upgrade, higher or unknown to the release for a downgrade.

    kraft.version is left as it is unless the release lacks it: it belongs to the quorum, not to a release.
    """
    finalized = {name: levels.max_version_level for name, levels in features.finalized_features.items()}
    wanted: dict[str, int] = {METADATA_VERSION: release.latest_metadata_version.level}
    wanted |= release.default_levels(release.latest_metadata_version)
    if KRAFT_VERSION in wanted:
        wanted[KRAFT_VERSION] = finalized.get(KRAFT_VERSION, 0)
    if upgrade_type is UpgradeType.UPGRADE:
        changed = {name: level for name, level in wanted.items() if level > finalized.get(name, 0)}
    else:
        changed = {name: wanted.get(name, 0) for name, level in finalized.items() if wanted.get(name, 0) < level}
    return {name: FeatureUpdate(level, upgrade_type) for name, level in sorted(changed.items())}
