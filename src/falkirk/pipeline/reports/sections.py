"""The sections of the pages: a fleet's, and those of one cluster. Numbers are of all rows, not of those shown."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from falkirk.pipeline.reports.cluster_files import cluster_page
from falkirk.pipeline.reports.page import Badge, Link, Section
from falkirk.pipeline.reports.plots import (
    ApiVersions,
    LevelChange,
    api_versions_by_client,
    groups_by_type,
    levels_over_time,
)
from falkirk.pipeline.reports.views import LEVELS, LOSSES, VIEWS, software_text
from falkirk.pipeline.reports.words import blocker_title, change_words, loss_words
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.pipeline.reports.answers import Answers, ClusterRows

    Document = dict[str, Any]  # Any: JSON values
    Row = dict[str, Any]  # Any: same

ROWS_SHOWN: Final = 200
"""Rows of each table on a page, but for the clusters, which are all there; the files beside it have all rows."""
RUNBOOK: Final = "runbook.html"
CLUSTERS: Final = "clusters"
_LOSSES_SHOWN: Final = 5
_APIS_SHOWN: Final = 40
_CLIENTS_SHOWN: Final = 8
_ORDER: Final = {"blocked": 0, "lossy": 1, "clear": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """What the clusters' table has beside verdicts, by cluster."""

    lowest_levels: Mapping[str, str]
    levels: Mapping[str, Row]

    def releases(self, cluster: str) -> str | None:
        """Return the releases that run the cluster's level."""
        releases = self.levels.get(cluster, {}).get("releases") or []
        return f"{releases[0]} to {releases[-1]}" if releases else None


def read_cluster_facts(answers: Answers) -> ClusterFacts:
    """Return the facts of all clusters."""
    return ClusterFacts(
        lowest_levels={row["cluster"]: row["metadata_version"] for row in answers.rows("minimum_versions")[0]},
        levels={row["cluster"]: row for row in answers.rows("levels")[0]},
    )


def fleet_sections(document: Document, answers: Answers, facts: ClusterFacts) -> list[Section]:
    """Return the sections of the fleet's page, in order."""
    verdicts = document["verdicts"]
    plots = {LEVELS.name: _levels_plot(document, answers, facts), "groups": _groups_plot(answers)}
    sections = [_clusters(verdicts, facts), *_news(document["since"]), _blockers(verdicts), *_kinds(verdicts)]
    for view in VIEWS:
        first_of = (("cluster", "kind"), _LOSSES_SHOWN) if view.answer == LOSSES.answer else None
        order = view.fleet_order or ("cluster", *view.order)
        rows, count = answers.rows(view.answer, order, ROWS_SHOWN, where=view.where)
        if first_of is not None and count > ROWS_SHOWN:
            rows, _ = answers.rows(view.answer, order, ROWS_SHOWN, where=view.where, first_of=first_of)
        sections.append(
            Section(
                name=view.name,
                title=view.title,
                text=view.text,
                columns=("cluster", *view.columns),
                rows=[(_to_cluster(row["cluster"]), *view.cells(row)) for row in rows],
                rows_in_all=count,
                plot=plots.get(view.name),
                files=_files(view.answer),
                chosen_by=view.chosen_by,
                nothing=view.nothing,
            )
        )
    return [*sections, _apis(answers)]


def cluster_sections(verdict: Row, rows: Mapping[str, ClusterRows]) -> list[Section]:
    """Return the sections of one cluster's page that have rows. `rows` are those of the views, by name."""
    sections = [_own_blockers(verdict), _own_warnings(verdict)]
    for view in VIEWS:
        found, count = rows[view.name].of(verdict["cluster"], ROWS_SHOWN)
        sections.append(
            Section(
                name=view.name,
                title=view.title,
                text=view.text,
                columns=view.columns,
                rows=[view.cells(row) for row in found],
                rows_in_all=count,
                files=[Link(f"{file.text} of all clusters", f"../{file.address}") for file in _files(view.answer)],
                chosen_by=view.chosen_by,
            )
        )
    return [section for section in sections if section.rows]


def _clusters(verdicts: Iterable[Row], facts: ClusterFacts) -> Section:
    tags = sorted({name for verdict in verdicts for name in verdict["tags"]})
    rows = []
    for verdict in sorted(verdicts, key=lambda each: (_ORDER[each["verdict"]], each["cluster"])):
        cluster = verdict["cluster"]
        rows.append(
            (
                Badge(verdict["verdict"]),
                _to_cluster(cluster),
                *(verdict["tags"].get(name) for name in tags),
                verdict["from"] and verdict["from"]["name"],
                facts.releases(cluster),
                facts.lowest_levels.get(cluster),
                len(verdict["blockers"]),
                sum(verdict["losses"].values()),
                sum(verdict["changes"].values()),
                verdict["summary"],
            )
        )
    return Section(
        name=CLUSTERS,
        title="Clusters",
        text="Each cluster's verdict, its level and the releases that run it, the lowest level that holds its metadata "
        "without loss, and what is in its way.",
        columns=(
            "verdict",
            "cluster",
            *tags,
            "level now",
            "runs on Kafka",
            "lowest without loss",
            "blockers",
            "losses",
            "changes",
            "in short",
        ),
        rows=rows,
        rows_in_all=len(rows),
        files=[Link("CSV", f"csv/{CLUSTERS}.csv"), Link("JSON", "report.json")],
        chosen_by=("verdict", *tags, "level now", "lowest without loss"),
        nothing="No cluster is here.",
    )


def _news(since: Document | None) -> Iterable[Section]:
    if since is None:
        return
    moved = since["verdicts"]
    rows = [
        (_to_cluster(each["cluster"]), each["what"], each["before"], each["after"]) for each in since["differences"]
    ]
    yield Section(
        name="since",
        title="What is new",
        text=f"Since the last report, made at {since['before']}. Verdicts: {moved['better']:,} better, "
        f"{moved['worse']:,} worse, {moved['new']:,} new clusters, {moved['gone']:,} gone.",
        columns=("cluster", "what", "before", "now"),
        rows=rows[:ROWS_SHOWN],
        rows_in_all=len(rows),
        files=[Link("JSON", "report.json")],
        chosen_by=("what",),
        nothing="Nothing has changed.",
    )


def _blockers(verdicts: Iterable[Row]) -> Section:
    counts: Counter[str] = Counter()
    clusters: dict[str, set[str]] = defaultdict(set)
    for verdict in verdicts:
        for blocker in verdict["blockers"]:
            counts[blocker["kind"]] += 1
            clusters[blocker["kind"]].add(verdict["cluster"])
    return Section(
        name="in-the-way",
        title="What is in the way",
        text="Blockers by kind: each has to be settled before its cluster can go. The runbook says how.",
        columns=("what", "clusters", "blockers", "runbook"),
        rows=[
            (blocker_title(kind), len(clusters[kind]), count, Link("what to do", f"{RUNBOOK}#{kind}"))
            for kind, count in counts.most_common()
        ],
        rows_in_all=len(counts),
        nothing="Nothing is in the way.",
    )


def _kinds(verdicts: Sequence[Row]) -> Iterable[Section]:
    lossy = "By kind; a cluster with any of it is lossy."
    for name, words_of, title, text, nothing in (
        ("losses", loss_words, "What would be lost", lossy, "Nothing would be lost."),
        (
            "changes",
            change_words,
            "What would change",
            "By kind: written in another form, switched off, or without effect there. No cluster is lossy by it.",
            "Nothing would change.",
        ),
    ):
        counts: Counter[str] = Counter()
        clusters: Counter[str] = Counter()
        for verdict in verdicts:
            counts.update(verdict[name])
            clusters.update(verdict[name].keys())
        words = {kind: words_of(kind) for kind in counts}
        yield Section(
            name=f"kinds-of-{name}",
            title=title,
            text=text,
            columns=("what", "clusters", "how many", "what it means"),
            rows=[
                (words[kind].title, clusters[kind], count, words[kind].meaning) for kind, count in counts.most_common()
            ],
            rows_in_all=len(counts),
            nothing=nothing,
        )


def _own_blockers(verdict: Row) -> Section:
    rows = [
        (blocker_title(each["kind"]), each["text"], Link("what to do", f"../{RUNBOOK}#{each['kind']}"))
        for each in verdict["blockers"]
    ]
    return Section(
        name="in-the-way",
        title="What is in the way",
        text="Each of these has to be settled before the cluster can go.",
        columns=("what", "more", "runbook"),
        rows=rows,
        rows_in_all=len(rows),
    )


def _own_warnings(verdict: Row) -> Section:
    rows = [(each["kind"].replace("_", " "), each["text"]) for each in verdict["warnings"]]
    return Section(
        name="warnings",
        title="What to know",
        text="Nothing of this is in the way.",
        columns=("what", "more"),
        rows=rows,
        rows_in_all=len(rows),
    )


def _levels_plot(document: Document, answers: Answers, facts: ClusterFacts) -> str | None:
    of_version, _ = answers.rows(
        "feature_levels", where=~pc.field("timestamp").is_null() & (pc.field("feature") == METADATA_VERSION)
    )
    changes = [
        LevelChange(cluster=row["cluster"], time=row["timestamp"], level=row["to_level"])
        for row in of_version
        if row["to_level"]
    ]
    until = {cluster: row["last_timestamp"] for cluster, row in facts.levels.items() if row["last_timestamp"]}
    return levels_over_time(changes, until, document["to"]["level"]) if changes else None


def _groups_plot(answers: Answers) -> str | None:
    counts: dict[str, Counter[str]] = {}
    for (type_, verdict), count in answers.sums("groups", ("type", "verdict")).items():
        counts.setdefault(type_, Counter())[verdict] += count
    return groups_by_type(dict(sorted(counts.items()))) if counts else None


def _apis(answers: Answers) -> Section:
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
        client = software_text(name, of_name)
        requests[client] += count
        versions.setdefault((api or "unknown API", client), {})[version] = (name, of_name, api, version) not in changed
    shown = {client for client, _ in requests.most_common(_CLIENTS_SHOWN)}
    cells = [
        ApiVersions(api=api, software=client, versions=tuple(sorted(of_api)), works=all(of_api.values()))
        for (api, client), of_api in sorted(versions.items())
        if client in shown
    ]
    apis = sorted({cell.api for cell in cells})[:_APIS_SHOWN]
    cells = [cell for cell in cells if cell.api in apis]
    return Section(
        name="apis",
        title="APIs that clients use",
        text="Versions of each API by client software, from the request logs; what the target's release does not serve "
        "stands out. Traffic between brokers is left out.",
        columns=("client software", "requests"),
        rows=requests.most_common(ROWS_SHOWN),
        rows_in_all=len(requests),
        plot=api_versions_by_client(cells) if cells else None,
        files=_files("api_usage"),
        nothing="No request log is here.",
    )


def _to_cluster(cluster: str) -> Link:
    return Link(cluster, cluster_page(cluster))


def _files(answer: str) -> list[Link]:
    return [Link("CSV", f"csv/{answer}.csv"), Link("Parquet", f"tables/{answer}/")]
