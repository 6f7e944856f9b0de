"""The sections of the page: each shows some rows of an answer, and says how many there are."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from falkirk.coordinator.prediction.groups import GroupVerdict
from falkirk.metadata.losses.loss import Outcome
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

    from falkirk.pipeline.reports.answers import Answers

    Document = dict[str, Any]  # Any: JSON values
    Row = dict[str, Any]  # Any: same

ROWS_SHOWN: Final = 200
"""Rows of each table on the page; nobody reads more, and all are in the JSON."""
_LOSSES_SHOWN: Final = 5
_APIS_SHOWN: Final = 40
_CLIENTS_SHOWN: Final = 8
_BLOCKERS_FIRST: Final = (("is_blocker", "descending"), "cluster", "api", "api_version")


def make_sections(document: Document, answers: Answers) -> list[Section]:
    """Return the sections in page order. Numbers are of all rows, and not of those in the report's JSON."""
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
    return [make(document, answers) for make in makers]


def _clusters(document: Document, answers: Answers) -> Section:
    minimum = {row["cluster"]: row["metadata_version"] for row in answers.rows("minimum_versions")[0]}
    levels = {row["cluster"]: row for row in answers.rows("levels")[0]}
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


def _levels(document: Document, answers: Answers) -> Section:
    of_version, _ = answers.rows(
        "feature_levels", where=~pc.field("timestamp").is_null() & (pc.field("feature") == METADATA_VERSION)
    )
    changes = [
        LevelChange(cluster=row["cluster"], time=row["timestamp"], level=row["to_level"])
        for row in of_version
        if row["to_level"]
    ]
    until = {row["cluster"]: row["last_timestamp"] for row in answers.rows("levels")[0] if row["last_timestamp"]}
    target = document["to"]["level"]
    changed, count = answers.rows(
        "feature_levels", ("cluster", "feature", "offset"), ROWS_SHOWN, where=~pc.field("from_level").is_null()
    )
    rows = [
        (row["cluster"], row["feature"], _level(row, "from_level"), _level(row, "to_level"), row["offset"], _day(row))
        for row in changed
    ]
    return _section(
        "How the levels got there",
        "metadata.version over time, as far back as logs and snapshots go, and every change of a feature level.",
        ("cluster", "feature", "from", "to", "offset", "when"),
        rows,
        count,
        plot=levels_over_time(changes, until, target) if changes else None,
        nothing="No log has a change of a level: the levels come from the oldest snapshots.",
    )


def _losses(document: Document, answers: Answers) -> Section:
    lost, _ = answers.rows(
        "losses",
        ("cluster", "kind", "key"),
        ROWS_SHOWN,
        where=pc.field("outcome") == Outcome.LOST.value,
        first_of=(("cluster", "kind"), _LOSSES_SHOWN),
    )
    counts: Counter[str] = Counter()
    for verdict in document["verdicts"]:
        counts.update(verdict["losses"])
    ordered = dict(sorted(counts.items(), key=lambda item: -item[1]))
    rows = [
        (row["cluster"], row["kind"].replace("_", " "), row["key"], row["record"], row["offset"], row["detail"])
        for row in lost
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


def _returns(document: Document, _answers: Answers) -> Section:
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


def _blockers(document: Document, _answers: Answers) -> Section:
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


def _forgotten(document: Document, _answers: Answers) -> Section:
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


def _groups(_document: Document, answers: Answers) -> Section:
    counts: dict[str, Counter[str]] = {}
    for (type_, verdict), count in answers.sums("groups", ("type", "verdict")).items():
        counts.setdefault(type_, Counter())[verdict] += count
    changed, count = answers.rows(
        "groups", ("cluster", "group"), ROWS_SHOWN, where=pc.field("verdict") != GroupVerdict.READABLE.value
    )
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
        for row in changed
    ]
    return _section(
        "Groups",
        "What the target's group coordinator would load of each group (KIP-915); listed are those that change.",
        ("cluster", "group", "type", "members", "offsets", "at the target", "what that means"),
        rows,
        count,
        plot=groups_by_type(dict(sorted(counts.items()))) if counts else None,
        nothing="Every group is the same afterwards." if counts else "No groups are here.",
    )


def _partitions(_document: Document, answers: Answers) -> Section:
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
        for row in answers.rows("group_partitions", ("cluster", "partition"))[0]
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


def _apis(_document: Document, answers: Answers) -> Section:
    software = ("software_name", "software_version")
    changed = answers.sums("client_changes", (*software, "api", "api_version"))
    used = answers.sums(
        "api_usage",
        (*software, "api", "api_version"),
        "requests",
        where=~pc.field("is_inter_broker") & ~pc.field("is_forwarded"),
    )
    requests: Counter[str] = Counter()
    versions: dict[tuple[str, str], dict[int, bool]] = {}
    for (name, of_name, api, version), count in used.items():
        client = _software(name, of_name)
        requests[client] += count
        versions.setdefault((api, client), {})[version] = (name, of_name, api, version) not in changed
    shown = {client for client, _ in requests.most_common(_CLIENTS_SHOWN)}
    cells = [
        ApiVersions(api=api, software=client, versions=tuple(sorted(of_api)), works=all(of_api.values()))
        for (api, client), of_api in sorted(versions.items())
        if client in shown
    ]
    apis = sorted({cell.api for cell in cells})[:_APIS_SHOWN]
    cells = [cell for cell in cells if cell.api in apis]
    rows = requests.most_common()
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


def _clients(document: Document, answers: Answers) -> Section:
    rows = [
        (
            row["cluster"],
            row["is_blocker"],
            _software(row["software_name"], row["software_version"]),
            row["client_id"],
            row["principal"],
            f"{row['api']} {row['api_version']}",
            row["detail"],
            row["what_to_do"],
        )
        for row in answers.rows("client_changes", _BLOCKERS_FIRST, ROWS_SHOWN)[0]
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


def _features(document: Document, _answers: Answers) -> Section:
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


def _problems(document: Document, _answers: Answers) -> Section:
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


def _software(name: str | None, version: str | None) -> str:
    return "unknown" if name is None else f"{name} {version or ''}".strip()


def _level(row: Row, name: str) -> str | None:
    level = row[name]
    if level is None:
        return None
    if level == 0:
        return "off"
    return str(MetadataVersion.of_level(level)) if row["feature"] == METADATA_VERSION else str(level)


def _by_type(counts: dict[str, int] | None) -> str | None:
    return ", ".join(f"{type_}: {count:,}" for type_, count in (counts or {}).items()) or None


def _day(row: Row, name: str = "timestamp") -> str | None:
    """Return a time of a row, which is a text in the report's JSON."""
    time: datetime | None = datetime.fromisoformat(row[name]) if isinstance(row[name], str) else row[name]
    return None if time is None else time.strftime("%Y-%m-%d %H:%M")
