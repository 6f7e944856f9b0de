"""Which levels `features upgrade-all` and `downgrade-all` go to. Source: KIP-584.

The KIP's tool knows the levels of its own release. falkirk has the tables of many releases. Features that stand in no
table, as those of brokers on ZooKeeper, go to the levels that the node supports, or to those that the caller names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from falkirk.client.feature_update import FeatureUpdate
from falkirk.operations.errors import OperationError
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions import inter_broker_protocol
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.inter_broker_protocol import IBP_FEATURE
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.release import all_releases

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.client.feature_metadata import FeatureMetadata
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetLevels:
    """Levels by feature. `source`: where they are from, for people."""

    levels: Mapping[str, int]
    source: str

    def updates(self, features: FeatureMetadata, upgrade_type: UpgradeType) -> dict[str, FeatureUpdate]:
        """Return the updates that lead there.

        An upgrade raises what is lower; a downgrade lowers what is higher, and deletes what has no target level.
        """
        finalized = {name: levels.max_version_level for name, levels in features.finalized_features.items()}
        if upgrade_type is UpgradeType.UPGRADE:
            changed = {name: level for name, level in self.levels.items() if level > finalized.get(name, 0)}
        else:
            changed = {
                name: self.levels.get(name, 0) for name, level in finalized.items() if self.levels.get(name, 0) < level
            }
        return {name: FeatureUpdate(level, upgrade_type) for name, level in sorted(changed.items())}


def levels_of_release(release: Release, version: MetadataVersion, upgrade_type: UpgradeType) -> dict[str, int]:
    """Return the levels that a cluster of the release starts with at a metadata.version, that version included.

    An upgrade leaves out features whose level is 0: nothing is upgraded to "off".
    """
    levels = {METADATA_VERSION: version.level, **release.default_levels(version)}
    return {name: level for name, level in levels.items() if level or upgrade_type is not UpgradeType.UPGRADE}


def target_levels(
    features: FeatureMetadata, release: Release | None, named: Mapping[str, int], *, is_upgrade: bool
) -> TargetLevels:
    """Return the levels of a release (None: of the newest that the node supports); `named` levels override them.

    Raises OperationError if the node supports no known release, or is on ZooKeeper and the release has no such brokers.
    """
    if METADATA_VERSION in features.supported_features:
        release = release or _newest_supported(features, METADATA_VERSION)
        if release is None:
            raise OperationError(
                "the node supports the levels of no release that falkirk knows: name one with --release"
            )
        levels = _kraft_levels(release, features) | dict(named)
        return TargetLevels(levels=levels, source=f"the levels of release {release}")
    return _zookeeper_levels(features, release, named, is_upgrade=is_upgrade)


def with_own_kraft_version(levels: Mapping[str, int], features: FeatureMetadata) -> dict[str, int]:
    """Return levels in which kraft.version is the finalized one, if the levels have it: it belongs to the quorum."""
    found = features.finalized_features.get(KRAFT_VERSION)
    own = {KRAFT_VERSION: 0 if found is None else found.max_version_level} if KRAFT_VERSION in levels else {}
    return {**levels, **own}


def _zookeeper_levels(
    features: FeatureMetadata, release: Release | None, named: Mapping[str, int], *, is_upgrade: bool
) -> TargetLevels:
    if release is not None and not release.has_zookeeper:
        raise OperationError(f"the node is a broker on ZooKeeper, and release {release} has none")
    # A downgrade to a release or to named levels assumes that no other feature is known there.
    goes_by_node = is_upgrade or (release is None and not named)
    supported = features.supported_features if goes_by_node else {}
    levels = {name: supported_range.max_version for name, supported_range in supported.items()}
    source = "the levels that the node supports" if goes_by_node else "the levels that were named"
    if release is not None:
        source = f"the levels of release {release}"
    newest = release or _newest_supported(features, IBP_FEATURE)
    if newest is not None:
        levels[IBP_FEATURE] = _ibp_level(newest)
    return TargetLevels(levels=levels | dict(named), source=source)


def _kraft_levels(release: Release, features: FeatureMetadata) -> dict[str, int]:
    version = release.latest_metadata_version
    levels = {METADATA_VERSION: version.level, **release.default_levels(version)}
    return with_own_kraft_version(levels, features)


def _newest_supported(features: FeatureMetadata, name: str) -> Release | None:
    """Return the newest release whose level of metadata.version or ibp-feature the node supports."""
    supported = features.supported_features.get(name)
    for release in reversed(all_releases()):
        level = _marker_levels(release).get(name)
        if supported is not None and level is not None and supported.min_version <= level <= supported.max_version:
            return release
    return None


@cache
def _marker_levels(release: Release) -> Mapping[str, int]:
    """Return the levels by which a release is recognized."""
    if release.tables.kraft is None:
        return {}
    levels: dict[str, int] = {METADATA_VERSION: release.latest_metadata_version.level}
    return levels | {IBP_FEATURE: _ibp_level(release)} if release.has_zookeeper else levels


def _ibp_level(release: Release) -> int:
    return inter_broker_protocol.feature_level(inter_broker_protocol.latest(release))
