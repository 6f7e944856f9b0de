"""The sections of the page, made of the report's JSON."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from falkirk.pipeline.reports.page import Section
from falkirk.pipeline.reports.plots import (
    ApiVersions,
    LevelChange,
    api_versions_by_client,
    groups_by_type,
    levels_over_time,
    losses_by_kind,
)
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Sequence

    Document = dict[str, Any]  # Any: JSON values
    Row = dict[str, Any]  # Any: same

ROWS_SHOWN: Final = 200
"""Rows of each table on the page; nobody reads more, and all are in the JSON."""
_LOSSES_SHOWN: Final = 5
_APIS_SHOWN: Final = 40
_CLIENTS_SHOWN: Final = 8


def make_sections(document: Document) -> list[Section]:
    """Return the sections in page order."""
    makers = (
        _clusters,
        _levels,
        _losses,
        _returns,
        _blockers,
        _forgotten,
        _groups,
        _partitions,
        _apis,
        _clients,
        _features,
        _problems,
    )
    return [make(document) for make in makers]


def _clusters(document: Document) -> Section:
    minimum = {row["cluster"]: row["metadata_version"] for row in document["minimum_versions"]}
    levels = {row["cluster"]: row for row in document["levels"]}
    rows = []
    for verdict in document["verdicts"]:
        cluster = verdict["cluster"]
        releases = levels.get(cluster, {}).get("releases") or []
        rows.append(
            (
                verdict["verdict"],
                cluster,
                verdict["from"] and verdict["from"]["name"],
                f"{releases[0]} to {releases[-1]}" if releases else None,
                minimum.get(cluster),
                verdict["summary"],
            )
        )
    order = {"blocked": 0, "lossy": 1, "clear": 2}
    rows.sort(key=lambda row: (order[row[0]], row[1]))
    return _section(
        "Clusters",
        "Each cluster's verdict, where it is now, which releases run that level, and the lowest level that holds its "
        "metadata without loss.",
        ("", "cluster", "level now", "runs on Kafka", "lowest without loss", "on the way"),
        rows,
        len(rows),
    )


def _levels(document: Document) -> Section:
    of_version = [row for row in document["feature_levels"] if row["feature"] == METADATA_VERSION and row["timestamp"]]
    changes = [
        LevelChange(cluster=row["cluster"], time=_time(row["timestamp"]), level=row["to_level"])
        for row in of_version
        if row["to_level"]
    ]
    until = {row["cluster"]: _time(row["last_timestamp"]) for row in document["levels"] if row["last_timestamp"]}
    target = document["to"]["level"]
    rows = [
        (row["cluster"], row["feature"], _level(row, "from_level"), _level(row, "to_level"), row["offset"], _day(row))
        for row in document["feature_levels"]
        if row["from_level"] is not None
    ]
    return _section(
        "How the levels got there",
        "metadata.version over time, as far back as logs and snapshots go, and every change of a feature level.",
        ("cluster", "feature", "from", "to", "offset", "when"),
        rows,
        len(rows),
        plot=levels_over_time(changes, until, target) if changes else None,
        nothing="No log has a change of a level: the levels come from the oldest snapshots.",
    )


def _losses(document: Document) -> Section:
    lost = [row for row in document["losses"] if row["outcome"] == "lost"]
    counts: Counter[str] = Counter()
    for verdict in document["verdicts"]:
        counts.update(verdict["losses"])
    ordered = dict(sorted(counts.items(), key=lambda item: -item[1]))
    rows = [
        (row["cluster"], row["kind"].replace("_", " "), row["key"], row["record"], row["offset"], row["detail"])
        for _, of_kind in groupby(lost, key=itemgetter("cluster", "kind"))
        for row in islice(of_kind, _LOSSES_SHOWN)
    ]
    return _section(
        "What would be lost",
        f"What the target cannot hold, and the record that wrote it last; the first {_LOSSES_SHOWN} of each kind and "
        "cluster.",
        ("cluster", "kind", "what", "record", "offset", "what it means"),
        rows,
        max(sum(counts.values()), len(rows)),
        plot=losses_by_kind(ordered) if ordered else None,
        nothing="Nothing would be lost.",
    )


def _returns(document: Document) -> Section:
    rows = [
        (
            row["cluster"],
            _level(row | {"feature": METADATA_VERSION}, "from_level"),
            _level(row | {"feature": METADATA_VERSION}, "to_level"),
            _day(row, "upgrade_timestamp"),
            row["kind"] and row["kind"].replace("_", " "),
            row["key"],
            row["offset"],
            _day(row),
        )
        for row in document["points_of_no_return"]
    ]
    return _section(
        "Points of no return",
        "For each upgrade the first record behind it that the level before cannot hold. Without one the upgrade can "
        "still be taken back.",
        ("cluster", "from", "to", "upgraded", "first loss", "what", "offset", "when"),
        rows,
        document["rows_in_all"]["points_of_no_return"],
        nothing="No log has an upgrade.",
    )


def _blockers(document: Document) -> Section:
    rows = [
        (
            row["cluster"],
            f"{row['role']} {row['node_id']}",
            row["feature"],
            row["level"],
            None if row["max_supported"] is None else f"{row['min_supported']} to {row['max_supported']}",
            _day(row, "fenced_since"),
            row["is_ghost"],
            row["what_to_do"],
        )
        for row in document["blockers"]
    ]
    return _section(
        "Nodes in the way",
        "Registered nodes that do not support a level of the target, and brokers that have long been gone.",
        ("cluster", "node", "feature", "needed", "has", "fenced since", "gone", "what to do"),
        rows,
        document["rows_in_all"]["blockers"],
        nothing="Every registered node supports the target.",
    )


def _forgotten(document: Document) -> Section:
    rows = [
        (row["cluster"], row["feature"], _level(row, "finalized_level"), _level(row, "highest_level"))
        for row in document["forgotten_finalisations"]
    ]
    return _section(
        "Forgotten finalisations",
        "Features that every node supports at a higher level than is finalized.",
        ("cluster", "feature", "finalized", "could be"),
        rows,
        document["rows_in_all"]["forgotten_finalisations"],
        nothing="Everything is finalized as high as it can be.",
    )


def _groups(document: Document) -> Section:
    counts: dict[str, Counter[str]] = {}
    for row in document["groups"]:
        counts.setdefault(row["type"], Counter())[row["verdict"]] += 1
    rows = [
        (
            row["cluster"],
            row["group"],
            row["type"],
            ", ".join(f"{count} {protocol}" for protocol, count in row["members_by_protocol"].items()),
            row["committed_offsets"],
            row["verdict"].replace("_", " "),
            row["detail"],
        )
        for row in document["groups"]
        if row["verdict"] != "readable"
    ]
    return _section(
        "Groups",
        "What the target's group coordinator would load of each group (KIP-915); listed are those that change.",
        ("cluster", "group", "type", "members", "offsets", "at the target", "what that means"),
        rows,
        len(rows),
        plot=groups_by_type(dict(sorted(counts.items()))) if counts else None,
        nothing="Every group is the same afterwards." if counts else "No groups are here.",
    )


def _partitions(document: Document) -> Section:
    rows = [
        (
            row["cluster"],
            row["partition"],
            row["load_fails"],
            row["first_failing_reason"],
            _by_type(row["skipped"]),
            _by_type(row["orphaned"]),
            _by_type(row["unknown_types"]),
            row["tombstones"],
        )
        for row in document["group_partitions"]
        if row["load_fails"] or row["skipped"] or row["orphaned"] or row["unknown_types"]
    ]
    return _section(
        "Partitions of __consumer_offsets",
        "Partitions that the target would not load, or that hold records which it steps over, which nobody writes at "
        "the cluster's levels, or which no release knows (record type: how many).",
        ("cluster", "partition", "load fails", "why", "stepped over", "orphaned", "unknown", "tombstones"),
        rows,
        len(rows),
        nothing="Every partition loads, and nothing in it is strange.",
    )


def _apis(document: Document) -> Section:
    changed = {(_software(row), row["api"], row["api_version"]) for row in document["client_changes"]}
    requests: Counter[str] = Counter()
    versions: dict[tuple[str, str], dict[int, bool]] = {}
    for row in document["api_usage"]:
        if row["is_inter_broker"] or row["is_forwarded"]:
            continue
        software = _software(row)
        requests[software] += row["requests"]
        works = (software, row["api"], row["api_version"]) not in changed
        versions.setdefault((row["api"], software), {})[row["api_version"]] = works
    shown = {software for software, _ in requests.most_common(_CLIENTS_SHOWN)}
    cells = [
        ApiVersions(api=api, software=software, versions=tuple(of_api), works=all(of_api.values()))
        for (api, software), of_api in sorted(versions.items())
        if software in shown
    ]
    apis = sorted({cell.api for cell in cells})[:_APIS_SHOWN]
    cells = [cell for cell in cells if cell.api in apis]
    rows = [(software, count) for software, count in requests.most_common()]
    return _section(
        "APIs that clients use",
        "Versions of each API by client software, from the request logs; what the target's release does not serve "
        "stands out. Traffic between brokers is left out.",
        ("client software", "requests"),
        rows,
        len(rows),
        plot=api_versions_by_client(cells) if cells else None,
        nothing="No request log is here.",
    )


def _clients(document: Document) -> Section:
    rows = [
        (
            row["cluster"],
            row["is_blocker"],
            _software(row),
            row["client_id"],
            row["principal"],
            f"{row['api']} {row['api_version']}",
            row["detail"],
            row["what_to_do"],
        )
        for row in sorted(document["client_changes"], key=lambda row: not row["is_blocker"])
    ]
    return _section(
        "Clients that notice",
        "Versions in use that the target's release does not offer, as the release tables have it. A client that asks "
        "for a node's versions falls back by itself, unless the API needs a feature that the target drops; the others "
        "stop working.",
        ("cluster", "stops working", "client software", "client id", "principal", "uses", "there", "what to do"),
        rows,
        document["rows_in_all"]["client_changes"],
        nothing="No client in the request logs would notice.",
    )


def _features(document: Document) -> Section:
    rows = [
        (
            row["cluster"],
            row["feature"],
            row["level"],
            row["needed_level"],
            row["used_by"],
            f"{row['count']:,} {row['unit']}" if row["count"] is not None else None,
            _day(row, "last_timestamp"),
        )
        for row in document["feature_use"]
    ]
    return _section(
        "Features in use",
        "The users of each feature, from groups, transactions, partitions, voters and request logs.",
        ("cluster", "feature", "finalized", "needed", "used by", "how much", "last"),
        rows,
        document["rows_in_all"]["feature_use"],
        nothing="No use is known.",
    )


def _problems(document: Document) -> Section:
    rows = [
        (row["cluster"], row["kind"], row["source"], row["position"], row["count"], row["detail"])
        for row in document["problems"]
    ]
    return _section(
        "Problems in files",
        "Bytes without rows, and facts that make rows doubtful.",
        ("cluster", "kind", "file", "byte", "how many", "what is wrong"),
        rows,
        document["rows_in_all"]["problems"],
        nothing="All files were read to their ends.",
    )


def _section(
    title: str,
    text: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],  # Any: values of columns
    rows_in_all: int,
    *,
    plot: str | None = None,
    nothing: str = "Nothing.",
) -> Section:
    return Section(
        title=title,
        text=text,
        columns=columns,
        rows=rows[:ROWS_SHOWN],
        rows_in_all=rows_in_all,
        plot=plot,
        nothing=nothing,
    )


def _software(row: Row) -> str:
    if row["software_name"] is None:
        return "unknown"
    return f"{row['software_name']} {row['software_version'] or ''}".strip()


def _level(row: Row, name: str) -> str | None:
    level = row[name]
    if level is None:
        return None
    if level == 0:
        return "off"
    return str(MetadataVersion.of_level(level)) if row["feature"] == METADATA_VERSION else str(level)


def _by_type(counts: dict[str, int] | None) -> str | None:
    return ", ".join(f"{type_}: {count:,}" for type_, count in (counts or {}).items()) or None


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _day(row: Row, name: str = "timestamp") -> str | None:
    return row[name] and _time(row[name]).strftime("%Y-%m-%d %H:%M")
