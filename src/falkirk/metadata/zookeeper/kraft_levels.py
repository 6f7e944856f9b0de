"""The KRaft feature levels that correspond to what a cluster on ZooKeeper has finalized, and what is in the way.

The inter-broker protocol becomes the metadata.version of the same name. A feature that KRaft has keeps its level; KRaft
has no min levels (KIP-778), and other features than Kafka on ZooKeeper, which never had one in a release.
A cluster moves by KIP-866; the last release that has both can do that last.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.metadata.zookeeper.finalized_features import incompatibilities
from falkirk.versions.errors import UnknownInterBrokerProtocolError, UnknownMetadataVersionError
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.inter_broker_protocol import (
    IBP_CONFIG,
    IBP_FEATURE,
    MIGRATION_IBP,
    EffectiveProtocol,
    IbpSource,
    effective,
    latest,
    of_feature_level,
)
from falkirk.versions.metadata_version import FLOOR, METADATA_VERSION, METADATA_VERSIONS, MetadataVersion
from falkirk.versions.release import Release, all_releases, latest_release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.zookeeper.broker_znode import BrokerZnode
    from falkirk.metadata.zookeeper.finalized_features import FeatureState, FinalizedRange
    from falkirk.versions.inter_broker_protocol import InterBrokerProtocol

# The first that could be run in production (Kafka 3.3), and that a bootstrap.checkpoint can hold (KIP-778).
_FIRST_FORMATTED: Final = MetadataVersion.parse("3.3-IV0")

_FIRST_MIGRATING: Final = next(version for version in METADATA_VERSIONS if version.migration_supported)

# Given as --release-version, and by what is said of the quorum's first voters (KIP-853).
_NOT_GIVEN: Final = frozenset({METADATA_VERSION, KRAFT_VERSION})


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterpart:
    """The counterpart in KRaft of a feature that is finalized in ZooKeeper."""

    name: str
    levels: "FinalizedRange"
    # The same in KRaft; None: there is nothing that corresponds.
    kraft_name: str | None = None
    kraft_level: int | None = None
    # The oldest release that runs it at the cluster's metadata.version; None: none does.
    since: Release | None = None
    # Why nothing corresponds, or what is lost or needed besides.
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How a release formats a cluster at these levels."""

    release: Release
    arguments: tuple[str, ...]  # of kafka-storage format: `--release-version 3.9-IV0 --feature group.version=1`


@dataclass(frozen=True, slots=True, kw_only=True)
class KraftLevels:
    """The levels of an equivalent KRaft cluster."""

    # What the brokers speak; None: nothing says it.
    protocol: EffectiveProtocol | None
    metadata_version: MetadataVersion | None
    features: tuple[Counterpart, ...]  # sorted by name
    obstacles: tuple[str, ...]  # sentences; () if nothing is in the way
    # By the last release on ZooKeeper, and by the first that has the features that it lacks; () if it cannot.
    formats: tuple[Format, ...]


def kraft_levels(state: FeatureState, *, ibp: InterBrokerProtocol | None) -> KraftLevels:
    """Return the KRaft levels of a state of finalized features.

    `ibp`: the inter.broker.protocol.version that the brokers are configured with, None if unknown; from 2.7-IV0 on a
    finalized ibp-feature overrides it.
    """
    protocol, unknown = _protocol(state, ibp)
    version = None if protocol is None else _metadata_version(protocol.protocol)
    obstacles = unknown or _obstacles(protocol)
    features = tuple(
        _counterpart(name, levels, version) for name, levels in sorted(state.features.items()) if state.is_enabled
    )
    return KraftLevels(
        protocol=protocol,
        metadata_version=version,
        features=features,
        obstacles=obstacles,
        formats=() if version is None else _formats(version, features),
    )


def broker_obstacles(state: FeatureState, brokers: Mapping[int, BrokerZnode], levels: KraftLevels) -> tuple[str, ...]:
    """Return a sentence for each live broker that does not fit the finalized features or the inter-broker protocol."""
    found = []
    for broker_id, znode in sorted(brokers.items()):
        if znode.features is not None:
            found += [f"broker {broker_id}: {sentence}" for sentence in incompatibilities(znode.features, state)]
        elif levels.protocol is not None and levels.protocol.protocol.supports_features:
            found.append(
                f"broker {broker_id} does not advertise supported features: its {IBP_CONFIG} is below {MIGRATION_IBP}"
            )
    return tuple(found)


def last_on_zookeeper() -> Release:
    """Return the last release whose brokers run on ZooKeeper."""
    return [release for release in all_releases() if release.has_zookeeper][-1]


# --- The protocol


def _protocol(state: FeatureState, ibp: InterBrokerProtocol | None) -> tuple[EffectiveProtocol | None, tuple[str, ...]]:
    """Return the effective protocol, or why it is not known."""
    levels = state.features.get(IBP_FEATURE) if state.is_enabled else None
    try:
        if ibp is not None:
            return effective(ibp, None if levels is None else levels.max_level), ()
        if levels is not None:
            return EffectiveProtocol(of_feature_level(levels.max_level), IbpSource.FEATURE), ()
    except UnknownInterBrokerProtocolError as error:
        return None, (str(error),)
    return None, (
        f"nothing says which {IBP_CONFIG} the brokers have: {IBP_FEATURE} is not finalized, and it was not given",
    )


def _metadata_version(protocol: InterBrokerProtocol) -> MetadataVersion | None:
    try:
        return MetadataVersion.parse(protocol.name)
    except UnknownMetadataVersionError:
        return None


def _obstacles(effective_protocol: EffectiveProtocol | None) -> tuple[str, ...]:
    """Return what a cluster of this protocol cannot do yet; the last sentence has the remedy."""
    assert effective_protocol is not None
    protocol = effective_protocol.protocol
    last = last_on_zookeeper()
    if protocol > latest(last):
        return (f"no broker on ZooKeeper speaks {protocol}: the last is {latest(last)}, of Kafka {last.word}",)
    version = _metadata_version(protocol)
    found = []
    if version is None:
        found.append(f"{protocol} is no metadata.version: the first is {METADATA_VERSIONS[0]}")
    elif version < _FIRST_FORMATTED:
        found.append(f"KRaft is made for production from {_FIRST_FORMATTED} on, not at {version}")
    if version is None or not version.migration_supported:
        found.append(f"the migration of KIP-866 needs {_FIRST_MIGRATING}, not {protocol}")
    if version is None or version < FLOOR:
        found.append(f"falkirk runs KRaft clusters from {FLOOR} on, not at {protocol}")
        found.append(
            f"first bring the brokers to Kafka {last.word} and {latest(last)}, still on ZooKeeper: "
            "there the migration ends"
        )
    return tuple(found)


# --- The features


def _counterpart(name: str, levels: FinalizedRange, version: MetadataVersion | None) -> Counterpart:
    if name == IBP_FEATURE:
        return _of_protocol(name, levels)
    if name == METADATA_VERSION:
        remark = "brokers on ZooKeeper ignore it: the inter-broker protocol counts"
        return Counterpart(name=name, levels=levels, remarks=(remark,))
    knowing = [release for release in _kraft_releases() if name in release.features]
    if not knowing:
        return Counterpart(name=name, levels=levels, remarks=("KRaft has no feature of this name",))
    level = levels.max_level
    supporting = [release for release in knowing if level in release.supported_features().get(name, ())]
    if not supporting:
        highest = max(release.feature(name).supported_unstable.highest for release in knowing)
        remark = f"no release up to {latest_release().word} runs {name} {level}: the highest level is {highest}"
        return Counterpart(name=name, levels=levels, remarks=(remark,))
    remarks = []
    if name == KRAFT_VERSION:
        remarks.append("it follows from how the quorum is formatted (KIP-853)")
    if levels.min_level > 1:
        remarks.append(f"the minimum {levels.min_level} is lost: KRaft keeps none (KIP-778)")
    hosts = [release for release in supporting if _runs(release, name, level, version)]
    if not hosts:
        needed = min(_needed(release, name, level) for release in supporting)
        remarks.append(f"it needs metadata.version {MetadataVersion.of_level(needed)}, so it comes after that")
    return Counterpart(
        name=name,
        levels=levels,
        kraft_name=name,
        kraft_level=level,
        since=hosts[0] if hosts else None,
        remarks=tuple(remarks),
    )


def _of_protocol(name: str, levels: FinalizedRange) -> Counterpart:
    """Return the metadata.version that corresponds to a level of ibp-feature."""
    try:
        protocol = of_feature_level(levels.max_level)
    except UnknownInterBrokerProtocolError as error:
        return Counterpart(name=name, levels=levels, remarks=(str(error),))
    version = _metadata_version(protocol)
    if version is None:
        return Counterpart(name=name, levels=levels, remarks=(f"{protocol} is no metadata.version",))
    since = next((release for release in _kraft_releases() if version <= release.latest_metadata_version), None)
    return Counterpart(name=name, levels=levels, kraft_name=METADATA_VERSION, kraft_level=version.level, since=since)


@functools.cache
def _kraft_releases() -> tuple[Release, ...]:
    """Return the releases whose KRaft features are in the tables, oldest first."""
    return tuple(release for release in all_releases() if release.tables.kraft is not None)


def _needed(release: Release, name: str, level: int) -> int:
    """Return the lowest metadata.version at which a release runs a level of a feature."""
    return release.feature(name).level(level).dependencies.get(METADATA_VERSION, METADATA_VERSIONS[0].level)


def _runs(release: Release, name: str, level: int, version: MetadataVersion | None) -> bool:
    return version is None or _needed(release, name, level) <= version.level <= release.latest_metadata_version.level


# --- Formatting


def _formats(version: MetadataVersion, features: tuple[Counterpart, ...]) -> tuple[Format, ...]:
    last = last_on_zookeeper()
    if not _FIRST_FORMATTED <= version <= last.latest_metadata_version:
        return ()
    given = [feature for feature in features if feature.since and feature.kraft_name not in _NOT_GIVEN]
    releases = [last, *(feature.since for feature in given if feature.since is not None)]
    newest = max(releases, key=all_releases().index)
    return tuple(
        Format(release=release, arguments=_arguments(version, [each for each in given if _has(release, each)]))
        for release in dict.fromkeys((last, newest))
    )


def _has(release: Release, feature: Counterpart) -> bool:
    return feature.kraft_level in release.supported_features().get(feature.name, ())


def _arguments(version: MetadataVersion, features: list[Counterpart]) -> tuple[str, ...]:
    chosen = (("--feature", f"{feature.kraft_name}={feature.kraft_level}") for feature in features)
    return ("--release-version", version.name, *(word for pair in chosen for word in pair))
