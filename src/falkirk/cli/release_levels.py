"""`features upgrade-all` and `downgrade-all`: from what is finalized to what is known of features. Source: KIP-584.

The KIP's tool knows the levels of its own release. This one has the tables of many releases; for features that stand in
none of them, as any that brokers on ZooKeeper are given, it goes by what the node supports, or by what it is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from falkirk.cli.failure import CommandFailedError
from falkirk.client.feature_update import FeatureUpdate
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions import inter_broker_protocol
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.inter_broker_protocol import IBP_FEATURE
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.release import all_releases

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.client.feature_metadata import FeatureMetadata
    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLevels:
    """What features are to go to. `of`: which levels these are, for people."""

    levels: Mapping[str, int]
    of: str

    def updates(self, features: FeatureMetadata, upgrade_type: UpgradeType) -> dict[str, FeatureUpdate]:
        """Give what has to change: levels that are lower for an upgrade, higher or not known at all for a downgrade."""
        finalized = {name: levels.max_version_level for name, levels in features.finalized_features.items()}
        if upgrade_type is UpgradeType.UPGRADE:
            changed = {name: level for name, level in self.levels.items() if level > finalized.get(name, 0)}
        else:
            changed = {
                name: self.levels.get(name, 0) for name, level in finalized.items() if self.levels.get(name, 0) < level
            }
        return {name: FeatureUpdate(level, upgrade_type) for name, level in sorted(changed.items())}


def known_levels(
    features: FeatureMetadata, release: Release | None, told: Mapping[str, int], *, is_upgrade: bool
) -> KnownLevels:
    """Give the levels of a release (None: of the newest that the node supports), and those that were `told`.

    Raises CommandFailedError if that release is not known, or has no brokers such as the node.
    """
    if METADATA_VERSION in features.supported_features:
        release = release or _newest_supported(features, METADATA_VERSION)
        if release is None:
            raise CommandFailedError(
                "the node supports the levels of no release that falkirk knows: name one with --release"
            )
        return KnownLevels(levels=_kraft_levels(release, features) | dict(told), of=f"the levels of release {release}")
    return _zookeeper_levels(features, release, told, is_upgrade=is_upgrade)


def _zookeeper_levels(
    features: FeatureMetadata, release: Release | None, told: Mapping[str, int], *, is_upgrade: bool
) -> KnownLevels:
    if release is not None and not release.has_zookeeper:
        raise CommandFailedError(f"the node is a broker on ZooKeeper, and release {release} has none")
    # Whoever names what to go down to says that no other feature is known there.
    goes_by_node = is_upgrade or (release is None and not told)
    supported = features.supported_features if goes_by_node else {}
    known = {name: levels.max_version for name, levels in supported.items()}
    of = "the levels that the node supports" if goes_by_node else "the levels that were named"
    if release is not None:
        of = f"the levels of release {release}"
    newest = release or _newest_supported(features, IBP_FEATURE)
    if newest is not None:
        known[IBP_FEATURE] = _ibp_level(newest)
    return KnownLevels(levels=known | dict(told), of=of)


def _kraft_levels(release: Release, features: FeatureMetadata) -> dict[str, int]:
    """Give a release's levels; kraft.version stays unless the release lacks it: it belongs to the quorum."""
    levels: dict[str, int] = {METADATA_VERSION: release.latest_metadata_version.level}
    levels |= release.default_levels(release.latest_metadata_version)
    if KRAFT_VERSION in levels:
        found = features.finalized_features.get(KRAFT_VERSION)
        levels[KRAFT_VERSION] = 0 if found is None else found.max_version_level
    return levels


def _newest_supported(features: FeatureMetadata, name: str) -> Release | None:
    """Give the newest release whose level of a feature the node supports, by metadata.version or ibp-feature."""
    supported = features.supported_features.get(name)
    for release in reversed(all_releases()):
        level = _levels_that_tell(release).get(name)
        if supported is not None and level is not None and supported.min_version <= level <= supported.max_version:
            return release
    return None


@cache
def _levels_that_tell(release: Release) -> Mapping[str, int]:
    if release.tables.kraft is None:
        return {}
    levels: dict[str, int] = {METADATA_VERSION: release.latest_metadata_version.level}
    return levels | {IBP_FEATURE: _ibp_level(release)} if release.has_zookeeper else levels


def _ibp_level(release: Release) -> int:
    return inter_broker_protocol.feature_level(inter_broker_protocol.latest(release))
