"""Folds the changes of each release into complete tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from falkirk.versions.api_support import ApiSupport, Listener
from falkirk.versions.features import Feature, LevelOfFeature
from falkirk.versions.metadata_version import FeatureLevel, MetadataVersion, fold_rows
from falkirk.versions.metadata_version_rows import METADATA_VERSION_ROWS
from falkirk.versions.record_support import ControlRecordSupport, CoordinatorRecordSupport, MetadataRecordSupport
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from falkirk.versions import notation


@dataclass(frozen=True, slots=True, kw_only=True)
class KraftTables:
    """All of a release but its APIs."""

    # Every level that the release knows and a cluster may run at, lowest first; drafts as they stood there.
    metadata_versions: tuple[MetadataVersion, ...]
    # The lowest level that the release formats a cluster at.
    minimum_bootstrap: MetadataVersion
    latest_production: MetadataVersion
    # In the order in which Kafka's tools print them.
    features: "Mapping[str, Feature]"
    metadata_records: "Mapping[int, MetadataRecordSupport]"
    control_records: "Mapping[int, ControlRecordSupport]"
    group_records: "Mapping[int, CoordinatorRecordSupport]"
    transaction_records: "Mapping[int, CoordinatorRecordSupport]"
    share_records: "Mapping[int, CoordinatorRecordSupport]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseTables:
    """One release, folded. `kraft` is None where only the API ranges were read."""

    name: str
    read_from: "notation.Source"
    derived: str | None
    apis: "Mapping[int, ApiSupport]"
    kraft: KraftTables | None


def fold(releases: Iterable[notation.ReleaseChanges]) -> Iterator[ReleaseTables]:
    """Yield complete tables of each release; `releases` are in order, each naming the one before it."""
    before: ReleaseTables | None = None
    for changes in releases:
        before = fold_next(before, changes)
        yield before


def fold_next(before: ReleaseTables | None, changes: notation.ReleaseChanges) -> ReleaseTables:
    """Return the tables of the release that follows `before`; None: the oldest one."""
    name = before.name if before else None
    assert changes.since == name, f"{changes.release} follows {changes.since}, not {name}"
    kraft = before.kraft if before else None
    assert kraft is None or changes.metadata_versions is not None, "what is not read cannot be changed further on"
    return ReleaseTables(
        name=changes.release,
        read_from=changes.read_from,
        derived=changes.derived,
        apis=_fold_apis(before.apis if before else {}, changes),
        kraft=_fold_kraft(kraft, changes, changes.metadata_versions) if changes.metadata_versions else None,
    )


def _fold_apis(before: Mapping[int, ApiSupport], changes: notation.ReleaseChanges) -> dict[int, ApiSupport]:
    apis = dict(before)
    if changes.removes_zookeeper:
        apis = {key: replace(api, listeners=api.listeners - {Listener.ZK_BROKER}) for key, api in apis.items()}
    for row in changes.apis:
        apis[row.key] = _fold_api(apis.get(row.key), row)
    return dict(sorted(apis.items()))


def _fold_api(before: ApiSupport | None, row: notation.Api) -> ApiSupport:
    api = before or ApiSupport(
        key=row.key,
        name=row.name,
        versions=None,
        stable_versions=None,
        deprecated_versions=None,
        flexible_from=None,
        listeners=frozenset(),
        forwardable=False,
        cluster_action=False,
    )
    api = replace(api, name=row.name)
    if row.versions is not None:
        api = replace(
            api,
            versions=SupportedRange.parse(row.versions),
            stable_versions=SupportedRange.parse(row.stable or row.versions),
            deprecated_versions=SupportedRange.parse(row.deprecated or "none"),
        )
    if row.listeners is not None:
        api = replace(api, listeners=frozenset(Listener(name) for name in row.listeners.split()))
    return replace(
        api,
        flexible_from=api.flexible_from if row.flexible is None else row.flexible,
        forwardable=api.forwardable if row.forwardable is None else row.forwardable,
        cluster_action=api.cluster_action if row.cluster_action is None else row.cluster_action,
    )


def _fold_kraft(
    before: KraftTables | None, changes: notation.ReleaseChanges, known: notation.MetadataVersions
) -> KraftTables:
    versions = _known_metadata_versions(known)
    by_name = {version.name: version for version in versions}
    features = dict(before.features) if before else {}
    # Level 0 needs no metadata.version of its own, so it follows the lowest that the release still knows.
    features = {name: _at_minimum(feature, versions[0]) for name, feature in features.items()}
    for feature in changes.features:
        features[feature.name] = _fold_feature(feature, versions[0])
    return KraftTables(
        metadata_versions=versions,
        minimum_bootstrap=by_name[known.minimum_bootstrap or known.minimum],
        latest_production=by_name[known.latest_production],
        features=features,
        metadata_records=_fold_metadata_records(before.metadata_records if before else {}, changes.metadata_records),
        control_records={
            **(before.control_records if before else {}),
            **{row.type: _control_record(row) for row in changes.control_records},
        },
        group_records=_fold_coordinator_records(before.group_records if before else {}, changes.group_records),
        transaction_records=_fold_coordinator_records(
            before.transaction_records if before else {}, changes.transaction_records
        ),
        share_records=_fold_coordinator_records(before.share_records if before else {}, changes.share_records),
    )


def _known_metadata_versions(known: notation.MetadataVersions) -> tuple[MetadataVersion, ...]:
    drafts = {draft.name: draft for draft in known.drafts}
    names = [row.name for row in METADATA_VERSION_ROWS]
    rows = METADATA_VERSION_ROWS[: names.index(known.latest_testing) + 1]
    minimum = MetadataVersion.parse(known.minimum)
    latest_production = MetadataVersion.parse(known.latest_production)
    return tuple(
        replace(version, unstable=version > latest_production)
        for version in fold_rows(drafts.get(row.name, row) for row in rows)
        if version >= minimum
    )


def _fold_feature(feature: notation.Feature, minimum: MetadataVersion) -> Feature:
    levels = tuple(
        LevelOfFeature(
            level=FeatureLevel(level.level),
            bootstrap_metadata_version=MetadataVersion.parse(level.bootstrap) if level.bootstrap else minimum,
            dependencies={name: FeatureLevel(needed) for name, needed in sorted(level.requires.items())},
            abilities=frozenset(level.brings.split()),
            writes=level.writes,
        )
        for level in feature.levels
    )
    return Feature(
        name=feature.name,
        supported=SupportedRange.parse(feature.supported),
        supported_unstable=SupportedRange(levels[0].level, levels[-1].level),
        levels=levels,
    )


def _at_minimum(feature: Feature, minimum: MetadataVersion) -> Feature:
    first, *others = feature.levels
    return replace(feature, levels=(replace(first, bootstrap_metadata_version=minimum), *others))


def _fold_metadata_records(
    before: Mapping[int, MetadataRecordSupport], rows: Iterable[notation.Record]
) -> dict[int, MetadataRecordSupport]:
    records = dict(before)
    for row in rows:
        versions = SupportedRange.parse(row.versions)
        assert versions is not None, "no release takes a metadata record away: old logs hold it"
        records[row.id] = MetadataRecordSupport(id=row.id, name=row.name, versions=versions)
    return dict(sorted(records.items()))


def _control_record(row: notation.ControlRecord) -> ControlRecordSupport:
    return ControlRecordSupport(type=row.type, name=row.name, version=row.version)


def _fold_coordinator_records(
    before: Mapping[int, CoordinatorRecordSupport], rows: Iterable[notation.Record]
) -> dict[int, CoordinatorRecordSupport]:
    records = dict(before)
    for row in rows:
        versions = SupportedRange.parse(row.versions)
        if versions is None:
            del records[row.id]
            continue
        records[row.id] = CoordinatorRecordSupport(
            id=row.id,
            key_name=f"{row.name}Key",
            value_name=f"{row.name}Value",
            value_versions=versions,
            flexible_from=row.flexible,
        )
    return dict(sorted(records.items()))
