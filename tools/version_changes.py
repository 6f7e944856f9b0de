"""Turns joined facts into the notation of `falkirk.versions.notation`: the changes of each release."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import version_facts
from falkirk.versions import notation
from version_facts import Facts, VersionFacts

LISTENERS = {"ZK_BROKER": "zkBroker", "BROKER": "broker", "CONTROLLER": "controller"}
COORDINATORS = {
    "group_records": "groupCoordinator",
    "transaction_records": "transactionCoordinator",
    "share_records": "shareCoordinator",
}


def release_changes(facts: VersionFacts) -> Iterator[notation.ReleaseChanges]:
    """Yield the changes of every release, oldest first."""
    since: str | None = None
    since_full: str | None = None
    flexible = _first_flexible(facts)
    for release in facts.releases():
        full = release in facts.metadata_versions
        removes_zookeeper = since is not None and _has_zookeeper(facts, since) and not _has_zookeeper(facts, release)
        yield notation.ReleaseChanges(
            release=release,
            since=since,
            read_from=_source(facts, release),
            derived=_derived(facts, release),
            removes_zookeeper=removes_zookeeper,
            apis=tuple(_apis(facts, release, since, flexible, removes_zookeeper=removes_zookeeper)),
            **(_full_changes(facts, release, since_full) if full else {}),
        )
        since = release
        since_full = release if full else since_full


def metadata_version_rows(facts: VersionFacts) -> Iterator[notation.MetadataVersionRow]:
    """Yield every metadata.version as defined by the newest release that knows it, lowest first."""
    truth: dict[str, Facts] = {}
    for release in facts.releases():
        for row in facts.metadata_versions.get(release, []):
            truth[row["name"]] = truth.get(row["name"], {}) | row
    below: Facts = {}
    for row in truth.values():
        yield _metadata_version_row(row, below)
        below = below | row


def _source(facts: VersionFacts, release: str) -> notation.Source:
    return "jars" if release in facts.metadata_versions else "api ranges"


def _derived(facts: VersionFacts, release: str) -> str | None:
    if any("listeners" in api for api in facts.api_ranges[release].values()):
        return None
    return "listeners: the jars before 2.8 name none, and there were only ZooKeeper brokers to serve an API"


def _full_changes(facts: VersionFacts, release: str, since: str | None) -> dict[str, Any]:
    records = facts.record_versions[release]
    before = facts.record_versions[since] if since else None
    return {
        "metadata_versions": _metadata_versions(facts, release),
        "features": tuple(_changed(_features(facts, release), _features(facts, since) if since else [])),
        "metadata_records": tuple(_changed(_metadata_records(records), _metadata_records(before))),
        "control_records": tuple(_changed(_control_records(records), _control_records(before))),
        **{
            part: tuple(_record_changes(_coordinator_records(records, name), _coordinator_records(before, name)))
            for part, name in COORDINATORS.items()
        },
    }


# --- APIs


def _first_flexible(facts: VersionFacts) -> dict[str, int]:
    """Return each API's first flexible version; a release's own fact starts at the lowest version that it still has."""
    flexible: dict[str, int] = {}
    for apis in facts.api_ranges.values():
        for key, api in apis.items():
            if api["flexibleFrom"] is not None:
                flexible[key] = min(flexible.get(key, api["flexibleFrom"]), api["flexibleFrom"])
    return flexible


def _has_zookeeper(facts: VersionFacts, release: str) -> bool:
    return any("ZK_BROKER" in api.get("listeners", ["ZK_BROKER"]) for api in facts.api_ranges[release].values())


def _api_row(key: str, api: Facts, flexible: dict[str, int]) -> notation.Api:
    stable = _range(api["min"], api.get("maxStable", api["max"]))
    versions = _range(api["min"], api["max"])
    first_flexible = flexible.get(key)
    return notation.Api(
        key=int(key),
        name=api["name"],
        versions=versions,
        stable=stable if stable != versions else None,
        deprecated=_deprecated(api),
        flexible=first_flexible if first_flexible is not None and first_flexible <= api["max"] else None,
        listeners=" ".join(LISTENERS[listener] for listener in api.get("listeners", ["ZK_BROKER"])),
        forwardable=api.get("forwardable", False),
        cluster_action=api["clusterAction"],
    )


def _apis(
    facts: VersionFacts, release: str, since: str | None, flexible: dict[str, int], *, removes_zookeeper: bool
) -> Iterator[notation.Api]:
    before = facts.api_ranges[since] if since else {}
    for key, api in facts.api_ranges[release].items():
        now = _api_row(key, api, flexible)
        if key not in before:
            yield notation.Api(
                now.key, now.name, now.versions, now.stable, now.deprecated, now.flexible, now.listeners,
                now.forwardable or None, now.cluster_action or None,
            )  # fmt: skip
            continue
        old = _api_row(key, before[key], flexible)
        listeners = old.listeners or ""
        if removes_zookeeper:
            listeners = listeners.removeprefix("zkBroker").strip()
        versions_changed = (old.versions, old.stable, old.deprecated) != (now.versions, now.stable, now.deprecated)
        row = notation.Api(
            now.key,
            now.name,
            versions=now.versions if versions_changed else None,
            stable=now.stable if versions_changed else None,
            deprecated=now.deprecated if versions_changed else None,
            flexible=now.flexible if now.flexible is not None and old.flexible is None else None,
            listeners=now.listeners if listeners != now.listeners else None,
            forwardable=now.forwardable if old.forwardable != now.forwardable else None,
            cluster_action=now.cluster_action if old.cluster_action != now.cluster_action else None,
        )
        if row != notation.Api(now.key, now.name) or now.name != old.name:
            yield row


def _deprecated(api: Facts) -> str | None:
    deprecated = _range(api.get("lowestDeprecated", 0), api.get("highestDeprecated", -1))
    return None if deprecated == "none" else deprecated


# --- metadata.version and features


def _metadata_versions(facts: VersionFacts, release: str) -> notation.MetadataVersions:
    features = facts.features[release]
    minimum = features.get("MetadataVersion.MINIMUM_VERSION") or features["MetadataVersion.MINIMUM_KRAFT_VERSION"]
    bootstrap = features.get("MetadataVersion.MINIMUM_BOOTSTRAP_VERSION", minimum)
    truth = {row.name: row for row in metadata_version_rows(facts)}
    drafts = []
    below: Facts = {}
    for row in facts.metadata_versions[release]:
        here = _metadata_version_row(row, below)
        below = below | row
        settled = dataclasses.replace(here, unstable=truth[row["name"]].unstable)
        if not row["isProduction"] and settled != truth[row["name"]]:
            drafts.append(here)
    return notation.MetadataVersions(
        minimum=minimum,
        latest_production=features["latestProductionMetadataVersion"],
        latest_testing=features["latestTestingMetadataVersion"],
        minimum_bootstrap=bootstrap if bootstrap != minimum else None,
        drafts=tuple(drafts),
    )


def _metadata_version_row(row: Facts, below: Facts) -> notation.MetadataVersionRow:
    def began(names: dict[str, str], value: object) -> str:
        gained = (
            name for fact, name in names.items() if row.get(fact) is value and below.get(fact, False) is (not value)
        )
        return " ".join(sorted(gained))

    def changed(names: dict[str, str]) -> dict[str, int]:
        return {
            name: version_facts.metadata_version_value(row[fact])
            for fact, name in names.items()
            if row.get(fact) is not None and row[fact] != below.get(fact)
        }

    level = row["featureLevel"]
    return notation.MetadataVersionRow(
        name=row["name"],
        level=level if level > 0 else None,
        changes_metadata=row["didMetadataChange"] and level > 0,
        unstable=not row["isProduction"],
        supports=began(version_facts.ABILITIES, value=True),
        ends=began(version_facts.ABILITIES, value=False),
        writes=changed(version_facts.WRITTEN),
        sends=changed(version_facts.SENT),
    )


def _features(facts: VersionFacts, release: str) -> list[notation.Feature]:
    minimum = _metadata_versions(facts, release).minimum
    return [
        notation.Feature(
            name=name,
            supported=_range(feature["minimumProduction"] or 0, feature["latestProduction"])
            if feature["latestProduction"]
            else "none",
            levels=tuple(_level(level, minimum) for level in feature["levels"]),
        )
        for name, feature in facts.features[release]["features"].items()
        if name not in version_facts.LEFT_OUT
    ]


def _level(level: Facts, minimum: str) -> notation.Level:
    assert level["level"] or level["bootstrapMetadataVersion"] == minimum, "level 0 needs no metadata.version"
    return notation.Level(
        level["level"],
        bootstrap=level["bootstrapMetadataVersion"] if level["level"] else None,
        requires=level["dependencies"],
        brings=" ".join(name for fact, name in version_facts.LEVEL_ABILITIES.items() if level.get(fact)),
        writes={name: level[fact] for fact, name in version_facts.LEVEL_WRITTEN.items() if level.get(fact) is not None},
    )


# --- records


def _metadata_records(records: Facts | None) -> list[notation.Record]:
    if records is None:
        return []
    return [
        notation.Record(record["id"], record["class"], _range(record["min"], record["max"]))
        for record in records["metadataRecords"]
    ]


def _control_records(records: Facts | None) -> list[notation.ControlRecord]:
    if records is None:
        return []
    versions = records["controlRecordVersions"]
    return [
        notation.ControlRecord(record["type"], record["enum"], versions.get(f"{record['enum']}_CURRENT_VERSION"))
        for record in records["controlRecords"]
        if record["enum"] not in version_facts.LEFT_OUT
    ]


def _coordinator_records(records: Facts | None, coordinator: str) -> list[notation.Record]:
    """Up to 4.0 a key's versions are the types it stands for; since 4.1 the type is a separate number."""
    if records is None:
        return []
    found = []
    for pair in records[coordinator]["schemas"]:
        low, _, high = pair["keyVersions"].partition("-")
        own = pair["keyApiKey"]
        types = range(int(low), int(high or low) + 1) if own is None else [own]
        flexible = pair["valueFlexibleVersions"]
        found += [
            notation.Record(
                type_id,
                pair["key"].removesuffix("Key"),
                pair["valueVersions"],
                flexible=None if flexible == "none" else int(flexible.removesuffix("+")),
            )
            for type_id in types
        ]
    return found


def _record_changes(now: list[notation.Record], before: list[notation.Record]) -> Iterator[notation.Record]:
    yield from _changed(now, before)
    present = {record.id for record in now}
    for record in before:
        if record.id not in present:
            yield notation.Record(record.id, record.name, "none")


def _changed(now: list[Any], before: list[Any]) -> Iterator[Any]:
    return (entry for entry in now if entry not in before)


def _range(low: int, high: int) -> str:
    if high < low:
        return "none"
    return str(low) if low == high else f"{low}-{high}"
