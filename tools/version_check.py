"""Compares every fact about releases with the answer of `falkirk.versions`, leaf by leaf.

The comparison reads the finished tables, not the notation, and rebuilds each fact in the shape of its file, so it
shares nothing with the code that wrote the notation except the names of the facts.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import version_facts
from falkirk.versions.api_support import ApiSupport
from falkirk.versions.features import Feature
from falkirk.versions.metadata_version import METADATA_VERSIONS, MetadataVersion
from falkirk.versions.metadata_version_rows import METADATA_VERSION_ROWS
from falkirk.versions.record_support import CoordinatorRecordSupport
from falkirk.versions.release import Release, all_releases
from falkirk.versions.release_history import KraftTables
from falkirk.versions.supported_range import SupportedRange
from version_facts import Facts, VersionFacts

# A fact that the rebuilt tables do not have at all; None is a value of some facts.
ABSENT = object()


def check(facts: VersionFacts) -> int:
    """Print what was compared and each difference; return the exit status."""
    compared: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    differences: list[str] = []
    for area, release, wanted, rebuilt in _areas(facts):
        for path, fact, ours in _leaves(wanted, rebuilt, ""):
            reason = next((name for name in version_facts.LEFT_OUT if name in path.split("/")), None)
            if reason is not None:
                left_out[reason] += 1
                continue
            compared[area] += 1
            if fact != ours:
                shown = "nothing" if ours is ABSENT else repr(ours)
                differences.append(f"{area} {release}{path}: fact {fact!r}, tables {shown}")
    known = [release.name for release in all_releases()]
    if known != facts.releases():
        differences.append(f"releases: facts {facts.releases()}, tables {known}")
    for difference in differences:
        print(difference)
    for area, count in compared.items():
        print(f"{area}: {count} facts compared")
    for reason, count in left_out.items():
        print(f"left out {reason}, {count} times: {version_facts.LEFT_OUT[reason]}")
    print(f"{sum(compared.values())} facts compared, {len(differences)} differ")
    return 1 if differences else 0


def _areas(facts: VersionFacts) -> Iterator[tuple[str, str, Facts, Facts]]:
    for name, apis in facts.api_ranges.items():
        release = Release.parse(name)
        yield "api_ranges", name, apis, {str(key): _api(api) for key, api in release.apis.items()}
    for name, wanted in facts.features.items():
        yield "features", name, wanted, _features(Release.parse(name), wanted)
    for name, rows in facts.metadata_versions.items():
        yield "metadata_versions", name, _by(rows, "name"), _metadata_versions(Release.parse(name))
    for name, wanted in facts.record_versions.items():
        yield "record_versions", name, _keyed_records(wanted), _rebuilt_records(Release.parse(name), wanted)


def _leaves(wanted: Facts, rebuilt: Facts, path: str) -> Iterator[tuple[str, Facts, Facts]]:
    """Yield each fact with its counterpart. Only what the facts name is compared, and for records their existence."""
    if isinstance(wanted, Mapping) and wanted:
        other = rebuilt if isinstance(rebuilt, Mapping) else {}
        for name, fact in wanted.items():
            yield from _leaves(fact, other.get(name, ABSENT), f"{path}/{name}")
        for name in other:
            if name not in wanted and isinstance(other[name], Mapping):
                yield f"{path}/{name}", ABSENT, other[name]
    else:
        yield path, wanted, rebuilt


def _by(rows: list[Facts], name: str) -> Facts:
    return {str(row[name]): row for row in rows}


# --- APIs


def _api(api: ApiSupport) -> Facts:
    lowest, highest = _ends(api.versions)
    _, stable = _ends(api.stable_versions)
    deprecated = _ends(api.deprecated_versions)
    versions = range(lowest, highest + 1)
    return {
        "enum": re.sub(r"(?<=.)(?=[A-Z])", "_", api.name).upper(),
        "name": api.name,
        "min": lowest,
        "max": highest,
        "maxStable": stable,
        "latestVersionUnstable": stable != highest,
        "lowestDeprecated": deprecated[0],
        "highestDeprecated": deprecated[1],
        "listeners": [fact for fact in ("ZK_BROKER", "BROKER", "CONTROLLER") if fact in _listener_names(api)],
        "forwardable": api.forwardable,
        "clusterAction": api.cluster_action,
        "flexibleFrom": next((version for version in versions if api.is_flexible(version)), None),
        "requestHeaderVersions": [api.request_header_version(version) for version in versions],
        "responseHeaderVersions": [api.response_header_version(version) for version in versions],
    }


def _listener_names(api: ApiSupport) -> set[str]:
    return {listener.name for listener in api.listeners}


def _ends(versions: SupportedRange | None) -> tuple[int, int]:
    return (0, -1) if versions is None else (versions.lowest, versions.highest)


# --- features


def _features(release: Release, wanted: Facts) -> Facts:
    stable = {name: _range(levels) for name, levels in release.supported_features().items()}
    unstable = {name: _range(levels) for name, levels in release.supported_features(unstable=True).items()}
    minimum = str(release.kraft.metadata_versions[0])
    rebuilt = {
        "controllerSupported": stable,
        "brokerSupported": stable,
        "controllerSupportedUnstable": unstable,
        "brokerSupportedUnstable": unstable,
        "latestProductionMetadataVersion": str(release.latest_metadata_version),
        "latestTestingMetadataVersion": str(release.kraft.metadata_versions[-1]),
        "MetadataVersion.LATEST_PRODUCTION": str(release.latest_metadata_version),
        "MetadataVersion.MINIMUM_VERSION": minimum,
        "MetadataVersion.MINIMUM_KRAFT_VERSION": minimum,
        "MetadataVersion.MINIMUM_BOOTSTRAP_VERSION": str(release.kraft.minimum_bootstrap),
        "MetadataVersion.IBP_3_3_IV0": "3.3-IV0",  # a constant named after its value
        "features": {name: _feature(feature, wanted) for name, feature in release.features.items()},
    }
    for feature in wanted["features"].values():
        feature["levels"] = {str(level["level"]): _without_java_name(level) for level in feature["levels"]}
    if not wanted["features"]:
        rebuilt["features"] = dict[str, Facts]()
    return rebuilt


def _without_java_name(level: Facts) -> Facts:
    """Leave out the level's Java constant: `TV_1` repeats its number."""
    return {name: fact for name, fact in level.items() if name != "enum"}


def _feature(feature: Feature, wanted: Facts) -> Facts:
    _, latest_production = _ends(feature.supported)
    defaults = wanted["features"][feature.name]["defaultLevelByMetadataVersion"]
    return {
        "enum": feature.name.upper().replace(".", "_"),
        "latestProduction": max(latest_production, 0),
        "minimumProduction": feature.supported_unstable.lowest,
        "latestTesting": feature.supported_unstable.highest,
        "levels": {str(level.level): _level(feature, level.level) for level in feature.levels},
        "defaultLevelByMetadataVersion": {name: _default_level(feature, name) for name in defaults},
    }


def _level(feature: Feature, number: int) -> Facts:
    level = feature.level(number)
    return {
        "level": level.level,
        "bootstrapMetadataVersion": str(level.bootstrap_metadata_version),
        "dependencies": dict(level.dependencies),
        **{fact: name in level.abilities for fact, name in version_facts.LEVEL_ABILITIES.items()},
        **{fact: level.writes.get(name) for fact, name in version_facts.LEVEL_WRITTEN.items()},
    }


def _default_level(feature: Feature, metadata_version: str) -> int:
    """Below KRaft there is no initial level but 0."""
    known = {str(version) for version in METADATA_VERSIONS}
    return feature.default_level(MetadataVersion.parse(metadata_version)) if metadata_version in known else 0


def _range(levels: SupportedRange) -> Facts:
    return {"min": levels.lowest, "max": levels.highest}


# --- metadata.version


def _metadata_versions(release: Release) -> Facts:
    """Rebuild the older ones from the rows, those with a level from the release."""
    known = release.kraft.metadata_versions
    # The 3.x jars know every inter.broker.protocol.version too; below the lowest level that a cluster may run at.
    older = {} if known[0].level > 1 else _inter_broker_protocols()
    return older | {str(version): _metadata_version(version, release) for version in known}


def _metadata_version(version: MetadataVersion, release: Release) -> Facts:
    facts = _folded(version.name, version.level, version.abilities, version.writes, version.sends)
    return facts | {
        "didMetadataChange": version.changes_metadata,
        "isProduction": version <= release.latest_metadata_version,
        "isLatestProduction": version.level == release.latest_metadata_version.level,
        "isLatestTesting": version.level == release.kraft.metadata_versions[-1].level,
    }


def _inter_broker_protocols() -> Facts:
    rebuilt: dict[str, Facts] = {}
    abilities: set[str] = set()
    writes: dict[str, int] = {}
    sends: dict[str, int] = {}
    for row in METADATA_VERSION_ROWS:
        abilities |= set(row.supports.split())
        writes |= row.writes
        sends |= row.sends
        if row.level is None:
            rebuilt[row.name] = _folded(row.name, -1, abilities, writes, sends) | {
                "didMetadataChange": True,  # what the jars say of every version without a level
                "isProduction": True,
                "isLatestProduction": False,
                "isLatestTesting": False,
            }
    return rebuilt


def _folded(
    name: str,
    level: int,
    abilities: frozenset[str] | set[str],
    writes: Mapping[str, int],
    sends: Mapping[str, int],
) -> Facts:
    rebuilt: dict[str, Any] = {fact: ours in abilities for fact, ours in version_facts.ABILITIES.items()}
    rebuilt |= {fact: writes.get(ours) for fact, ours in version_facts.WRITTEN.items()}
    rebuilt |= {fact: sends.get(ours) for fact, ours in version_facts.SENT.items()}
    return rebuilt | {
        "name": name,
        "version": name,
        "shortVersion": name.partition("-")[0],
        "enum": f"IBP_{re.sub('[.-]', '_', name)}",
        "featureLevel": level,
        "featureName": "metadata.version",
        "highestSupportedRecordVersion": f"V{writes['record_batch']}",
        "offsetCommitValueVersion(true)": 1,  # with an expiry time of its own, always 1
    }


# --- records


def _records(kraft: KraftTables) -> Facts:
    return {
        "metadataRecords": [
            {
                "id": record.id,
                "enum": re.sub(r"(?<=.)(?=[A-Z])", "_", record.name).upper(),
                "name": re.sub(r"(?<=.)(?=[A-Z])", "_", record.name).upper(),
                "class": record.name,
                "min": record.versions.lowest,
                "max": record.versions.highest,
            }
            for record in kraft.metadata_records.values()
        ],
        "controlRecords": [{"enum": record.name, "type": record.type} for record in kraft.control_records.values()],
        "controlRecordVersions": {
            f"{record.name}_CURRENT_VERSION": record.version
            for record in kraft.control_records.values()
            if record.version is not None
        },
        "groupCoordinator": _coordinator(kraft.group_records),
        "transactionCoordinator": _coordinator(kraft.transaction_records),
        "shareCoordinator": _coordinator(kraft.share_records),
    }


def _coordinator(records: Mapping[int, CoordinatorRecordSupport]) -> Facts:
    types = []
    schemas: dict[str, Facts] = {}
    for record in records.values():
        name = record.key_name.removesuffix("Key")
        enum = re.sub(r"(?<=.)(?=[A-Z])", "_", name).upper()
        types.append(
            {
                "id": record.id,
                "enum": enum,
                "name": enum,
                "min": record.value_versions.lowest,
                "max": record.value_versions.highest,
                "keyClass": record.key_name,
                "valueClass": record.value_name,
            }
        )
        flexible = "none" if record.flexible_from is None else f"{record.flexible_from}+"
        schema = schemas.setdefault(record.key_name, {"key": record.key_name, "ids": []})
        schema["ids"].append(record.id)
        schema |= {
            "value": record.value_name,
            "valueVersions": str(record.value_versions),
            "valueFlexibleVersions": flexible,
        }
    return {"types": types, "schemas": list(schemas.values())}


def _keyed_records(records: Facts) -> Facts:
    """Key each list, and write a coordinator key's types as numbers, however the release writes them."""
    keyed = {
        "metadataRecords": _by(records["metadataRecords"], "id"),
        "controlRecords": _by(records["controlRecords"], "enum"),
        "controlRecordVersions": records["controlRecordVersions"],
    }
    for name in ("groupCoordinator", "transactionCoordinator", "shareCoordinator"):
        schemas = {}
        for schema in records[name]["schemas"]:
            plain = {fact: value for fact, value in schema.items() if not fact.startswith("key") or fact == "key"}
            schemas[schema["key"]] = plain | {"ids": " ".join(map(str, schema.get("ids") or _ids(schema)))}
        keyed[name] = {"types": _by(records[name]["types"] or [], "id"), "schemas": schemas}
    return keyed


def _rebuilt_records(release: Release, wanted: Facts) -> Facts:
    rebuilt = _keyed_records(_records(release.kraft))
    for name in ("groupCoordinator", "transactionCoordinator", "shareCoordinator"):
        if wanted[name]["types"] is None:  # to 4.0 the jars do not enumerate the types, there are only the schemas
            rebuilt[name]["types"] = dict[str, Facts]()
    return rebuilt


def _ids(schema: Facts) -> list[int]:
    if schema["keyApiKey"] is not None:
        return [schema["keyApiKey"]]
    lowest, _, highest = schema["keyVersions"].partition("-")
    return list(range(int(lowest), int(highest or lowest) + 1))
