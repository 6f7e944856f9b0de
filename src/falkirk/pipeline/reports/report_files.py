"""The files of a report beside its JSON: pages of the fleet and of each cluster, the runbook, and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from falkirk.pipeline.reports.cluster_files import FOLDER, cluster_page
from falkirk.pipeline.reports.csv_files import write_answer_csv, write_rows_csv
from falkirk.pipeline.reports.page import Badge, Card, Link, Page, render_page
from falkirk.pipeline.reports.runbook import render_runbook
from falkirk.pipeline.reports.sections import (
    CLUSTERS,
    RUNBOOK,
    cluster_sections,
    fleet_sections,
    read_cluster_facts,
)
from falkirk.pipeline.reports.verdicts import BLOCKED, CLEAR, LOSSY
from falkirk.pipeline.reports.views import VIEWS

if TYPE_CHECKING:
    from pathlib import Path

    from falkirk.pipeline.reports.answers import Answers
    from falkirk.pipeline.reports.sections import ClusterFacts
    from falkirk.pipeline.spark.job_progress import Progress

    Document = dict[str, Any]  # Any: JSON values

PAGE: Final = "report.html"
DOCUMENT: Final = "report.json"
TABLES: Final = "tables"
_CSV: Final = "csv"
_TITLE: Final = "writing pages"
_PROGRESS_EVERY: Final = 100


def write_files(document: Document, answers: Answers, out: Path, progress: Progress) -> None:
    """Write the JSON, the pages, and CSV, into an existing directory."""
    (out / DOCUMENT).write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=1))
    facts = read_cluster_facts(answers)
    _write_pages(document, answers, facts, out, progress)
    _write_csv_files(document, answers, facts, out / _CSV)


def _write_pages(document: Document, answers: Answers, facts: ClusterFacts, out: Path, progress: Progress) -> None:
    title = f"A fleet on its way to {document['to']['name']}"
    made = f"Made by falkirk {document['falkirk']} at {document['made_at']}."
    counts = document["clusters"]
    fleet = Page(
        title=title,
        headline=document["headline"],
        made=made,
        cards=[
            Card(counts[CLEAR], "clear: nothing is lost", CLEAR),
            Card(counts[LOSSY], "lossy: would lose something", LOSSY),
            Card(counts[BLOCKED], "blocked", BLOCKED),
            Card(document["rows_in_all"]["problems"], "problems in files"),
        ],
        sections=fleet_sections(document, answers, facts),
    )
    _write(out / PAGE, render_page(fleet))
    _write(out / RUNBOOK, render_runbook(Link(title, PAGE)))
    (out / FOLDER).mkdir()
    rows = {view.name: answers.by_cluster(view.answer, view.order, where=view.where) for view in VIEWS}
    back = Link(title, f"../{PAGE}")
    verdicts = document["verdicts"]
    for number, verdict in enumerate(verdicts):
        if number % _PROGRESS_EVERY == 0:
            progress.update(_TITLE, number, len(verdicts))
        page = Page(
            title=verdict["cluster"],
            headline=verdict["summary"],
            made=made,
            badge=Badge(verdict["verdict"]),
            back=back,
            facts=_facts(verdict, facts, document),
            sections=cluster_sections(verdict, rows),
        )
        _write(out / cluster_page(verdict["cluster"]), render_page(page))


def _write_csv_files(document: Document, answers: Answers, facts: ClusterFacts, folder: Path) -> None:
    """Write all rows of each answer that a page shows, and the clusters with their verdicts."""
    folder.mkdir()
    for name in sorted({view.answer for view in VIEWS} | {"api_usage"}):
        write_answer_csv(answers.folder / name, folder / f"{name}.csv")
    verdicts = document["verdicts"]
    tags = sorted({name for verdict in verdicts for name in verdict["tags"]})
    columns = (
        "cluster", "verdict", *tags, "level", "releases", "lowest_lossless_level", "blockers", "losses", "changes",
        "summary",
    )  # fmt: skip
    rows = (
        (
            verdict["cluster"],
            verdict["verdict"],
            *(verdict["tags"].get(name) for name in tags),
            verdict["from"] and verdict["from"]["name"],
            facts.releases(verdict["cluster"]),
            facts.lowest_levels.get(verdict["cluster"]),
            len(verdict["blockers"]),
            sum(verdict["losses"].values()),
            sum(verdict["changes"].values()),
            verdict["summary"],
        )
        for verdict in verdicts
    )
    write_rows_csv(columns, rows, folder / f"{CLUSTERS}.csv")


def _facts(verdict: dict[str, Any], facts: ClusterFacts, document: Document) -> list[tuple[str, Any]]:  # Any: JSON
    cluster = verdict["cluster"]
    own = facts.levels.get(cluster, {})
    found = [
        ("Target", f"{document['to']['name']} (Kafka {document['to']['release']})"),
        ("Level now", verdict["from"] and verdict["from"]["name"]),
        ("Runs on Kafka", facts.releases(cluster)),
        ("Lowest level without loss", facts.lowest_levels.get(cluster)),
        ("Losses", sum(verdict["losses"].values())),
        ("Changes", sum(verdict["changes"].values())),
        ("Features switched off", verdict["dropped_features"]),
        ("Features lowered", verdict["lowered_features"]),
        ("controller.quorum.voters", verdict["controller_quorum_voters"]),
        ("Cluster id", own.get("cluster_id")),
        *sorted(verdict["tags"].items()),
    ]
    return [(term, value) for term, value in found if value is not None and value != []]


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
