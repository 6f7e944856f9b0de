"""Kafka releases by name: APIs, features, metadata.versions and records of each.

    release = Release.parse("3.9")
    release.api_ranges(Listener.BROKER)[1]      # Fetch: 0-17
    release.supported_features()["metadata.version"]  # 1-21
    release.unsupported_features({"share.version": 1})

Callers never compare release names: they ask a release for what it supports.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.versions import features as feature_rules
from falkirk.versions.api_support import Listener
from falkirk.versions.errors import (
    IncompleteReleaseError,
    UnknownFeatureError,
    UnknownMetadataVersionError,
    UnknownReleaseError,
)
from falkirk.versions.metadata_version import METADATA_VERSION, FeatureLevel, MetadataVersion
from falkirk.versions.release_history import KraftTables, ReleaseTables, fold
from falkirk.versions.releases import RELEASE_CHANGES
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.api_support import ApiSupport
    from falkirk.versions.features import Feature, UnsupportedFeature
    from falkirk.versions.notation import Source


CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"
SHARE_GROUP_STATE: Final = "__share_group_state"
_INTERNAL_TOPICS: Final = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE})
_INTERNAL_TOPICS_SINCE_SHARE_GROUPS: Final = _INTERNAL_TOPICS | {SHARE_GROUP_STATE}
_SHARE_GROUP_HEARTBEAT: Final = 76
_FETCH = 1
_UPDATE_FEATURES = 57
# UpdateFeatures 2 has no result for each feature.
_TOGETHER_FROM = 2

# Facts of no table: read off freshly formatted directories of each release, and off the answers of live ones.
_BOOTSTRAPS_FROM_SNAPSHOT_SINCE = "4.4.0"
_UPDATES_KRAFT_VERSION_SINCE = "4.1.1"
_NAMES_BOTH_LEVELS_SINCE = "4.2.1"
_ACCEPTS_COMMITS_OF_PAST_EPOCHS_SINCE = "4.3.1"
_MIXES_GROUP_PROTOCOLS_SINCE = "3.8.1"
_KEEPS_GROUP_PROTOCOLS_APART_SINCE = "4.3.1"
_LEAVE_GROUP_REMOVES_CONSUMERS_SINCE = "4.0.0"
_ASKS_FOR_DEFAULT_PARTITIONS_SINCE = "4.3.1"
_NEW_CONSUMER_GROUPS_HAVE_AN_EPOCH_SINCE = "4.3.1"
_TELLS_LIMITS_OF_GROUP_CONFIGS_SINCE = "4.4.0"


@dataclass(frozen=True, slots=True)
class Release:
    """One release; compared by name."""

    tables: ReleaseTables

    @classmethod
    def parse(cls, text: str) -> Release:
        """Read `3.9.1`, or `3.9` for the patch release that the tables hold. Raises UnknownReleaseError.

        Other patch releases are refused.
        """
        release = _by_name().get(text)
        if release is None:
            known = ", ".join(f"{release.word} ({release})" for release in all_releases())
            raise UnknownReleaseError(f"unknown release '{text}': the tables hold {known}")
        return release

    @property
    def name(self) -> str:
        """Return the full name, `3.9.1`."""
        return self.tables.name

    @property
    def word(self) -> str:
        """Return the short name that operators use, `3.9`."""
        return self.name.rpartition(".")[0]

    @property
    def read_from(self) -> Source:
        """Return the source of its tables (see falkirk.versions.notation)."""
        return self.tables.read_from

    @property
    def kraft(self) -> KraftTables:
        """Return its features, metadata.versions and records. Raises IncompleteReleaseError."""
        if self.tables.kraft is None:
            raise IncompleteReleaseError(f"only the API ranges of release {self} are in the tables")
        return self.tables.kraft

    @property
    def bootstraps_from_snapshot(self) -> bool:
        """Return whether formatting writes bootstrap records into the metadata partition, not bootstrap.checkpoint."""
        return self._is_from(_BOOTSTRAPS_FROM_SNAPSHOT_SINCE)

    @property
    def internal_topics(self) -> frozenset[str]:
        """Return the internal topics of Kafka's coordinators."""
        return _INTERNAL_TOPICS_SINCE_SHARE_GROUPS if _SHARE_GROUP_HEARTBEAT in self.apis else _INTERNAL_TOPICS

    # --- APIs

    @property
    def apis(self) -> Mapping[int, ApiSupport]:
        """Return every API that the release knows, by key."""
        return self.tables.apis

    @property
    def has_zookeeper(self) -> bool:
        """Return whether brokers of this release can run on ZooKeeper."""
        return any(Listener.ZK_BROKER in api.listeners for api in self.apis.values())

    def api_ranges(self, listener: Listener, *, unstable: bool = False) -> dict[int, SupportedRange]:
        """Return the versions that a listener offers, by API key; `unstable`: with unstable.api.versions.enable."""
        offered = (
            (key, api.offered_versions(unstable=unstable))
            for key, api in self.apis.items()
            if listener in api.listeners
        )
        return {key: versions for key, versions in offered if versions is not None}

    @property
    def converts_messages(self) -> bool:
        """Return whether brokers down-convert records for clients from before Kafka 0.11.

        It ended when such clients could no longer fetch (KIP-896).
        """
        fetch = self.apis[_FETCH].stable_versions
        return fetch is not None and fetch.lowest == 0

    # --- Features

    @property
    def features(self) -> Mapping[str, Feature]:
        """Return every feature but metadata.version, in the order in which Kafka's tools print them."""
        return self.kraft.features

    def feature(self, name: str) -> Feature:
        """Return one feature. Raises UnknownFeatureError."""
        feature = self.features.get(name)
        if feature is None:
            raise UnknownFeatureError(f"release {self} has no feature {name}")
        return feature

    def supported_features(self, *, unstable: bool = False) -> dict[str, SupportedRange]:
        """Return the levels that its brokers and controllers support, by name, sorted.

        They agree in every release. `unstable`: with unstable.feature.versions.enable.
        """
        supported = {METADATA_VERSION: self._metadata_version_range(unstable=unstable)}
        for name, feature in self.features.items():
            levels = feature.supported_unstable if unstable else feature.supported
            if levels is not None:
                supported[name] = levels
        return dict(sorted(supported.items()))

    def unsupported_features(
        self, finalized: Mapping[str, int], *, unstable: bool = False
    ) -> tuple[UnsupportedFeature, ...]:
        """Return the finalized features (metadata.version too) that this release does not support."""
        return feature_rules.unsupported_features(finalized, self.supported_features(unstable=unstable))

    def default_levels(self, metadata_version: MetadataVersion) -> dict[str, FeatureLevel]:
        """Return the level of each feature in a cluster that this release formats at a level; 0: not enabled."""
        return {name: feature.default_level(metadata_version) for name, feature in self.features.items()}

    @property
    def updates_features_together(self) -> bool:
        """Return whether an update of several features is atomic and refused for unknown features.

        Before, each feature had its own result, and lowering an unknown feature to 0 succeeded.
        """
        update_features = self.apis[_UPDATE_FEATURES].stable_versions
        return update_features is not None and update_features.highest >= _TOGETHER_FROM

    @property
    def updates_kraft_version(self) -> bool:
        """Return whether UpdateFeatures can raise kraft.version; before, such an update changed nothing."""
        return self._is_from(_UPDATES_KRAFT_VERSION_SINCE)

    @property
    def names_both_levels(self) -> bool:
        """Return whether the error for a refused lowering of metadata.version names the current level as well."""
        return self._is_from(_NAMES_BOTH_LEVELS_SINCE)

    @property
    def accepts_commits_of_past_epochs(self) -> bool:
        """Return whether a consumer group member may commit at a past epoch, for partitions that it still has."""
        return self._is_from(_ACCEPTS_COMMITS_OF_PAST_EPOCHS_SINCE)

    @property
    def mixes_group_protocols(self) -> bool:
        """Return whether consumer groups may have members of the classic protocol."""
        return self._is_from(_MIXES_GROUP_PROTOCOLS_SINCE)

    @property
    def new_consumer_group_epoch(self) -> int:
        """Return the epoch of a consumer group before its first change: its first members get the next one."""
        return 1 if self._is_from(_NEW_CONSUMER_GROUPS_HAVE_AN_EPOCH_SINCE) else 0

    @property
    def tells_limits_of_group_configs(self) -> bool:
        """Return whether a group config that is refused is told its limits, not the keys that set them."""
        return self._is_from(_TELLS_LIMITS_OF_GROUP_CONFIGS_SINCE)

    @property
    def asks_for_default_partitions(self) -> bool:
        """Return whether brokers leave the size of automatically created topics to the controller (KAFKA-19655).

        That is so as far as their server.properties does not name it.
        """
        return self._is_from(_ASKS_FOR_DEFAULT_PARTITIONS_SINCE)

    @property
    def leave_group_removes_consumers(self) -> bool:
        """Return whether LeaveGroup removes members of the consumer protocol as well."""
        return self._is_from(_LEAVE_GROUP_REMOVES_CONSUMERS_SINCE)

    @property
    def keeps_group_protocols_apart(self) -> bool:
        """Return whether group.consumer.migration.policy=disabled keeps classic members out of consumer groups."""
        return self._is_from(_KEEPS_GROUP_PROTOCOLS_APART_SINCE)

    # --- metadata.version

    @property
    def latest_metadata_version(self) -> MetadataVersion:
        """Return the metadata.version of a new cluster of this release."""
        return self.kraft.latest_production

    def metadata_version(self, level: int) -> MetadataVersion:
        """Return a level as this release defines it, drafts included. Raises UnknownMetadataVersionError."""
        for version in self.kraft.metadata_versions:
            if version.level == level:
                return version
        known = self.kraft.metadata_versions
        raise UnknownMetadataVersionError(
            f"release {self} does not know metadata.version level {level}: it knows {known[0]} to {known[-1]}"
        )

    def find_metadata_version(self, text: str) -> MetadataVersion | None:
        """Parse the name of a level or a release as Kafka's tools do; None if this release does not know it.

        What follows the second dot is ignored: 4.0.1 is 4.0, and 4.0-IV1.x is 4.0-IV1. A level that is not production
        here is known by its name, but not by the name of the coming release.
        """
        requested = ".".join(text.split(".")[:2])
        for known in reversed(self.kraft.metadata_versions):
            if requested == known.name or (known <= self.latest_metadata_version and requested == known.release):
                return known
        return None

    def _metadata_version_range(self, *, unstable: bool) -> SupportedRange:
        known = self.kraft.metadata_versions
        highest = known[-1] if unstable else self.latest_metadata_version
        return SupportedRange(known[0].level, highest.level)

    def _is_from(self, name: str) -> bool:
        order = [release.name for release in all_releases()]
        return order.index(self.name) >= order.index(name)

    def __str__(self) -> str:
        """Return the full name."""
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


@functools.cache
def all_releases() -> tuple[Release, ...]:
    """Return every release in the tables, oldest first."""
    return tuple(Release(tables) for tables in fold(RELEASE_CHANGES))


def latest_release() -> Release:
    """Return the newest release in the tables."""
    return all_releases()[-1]


@functools.cache
def _by_name() -> dict[str, Release]:
    releases = all_releases()
    return {release.word: release for release in releases} | {release.name: release for release in releases}
