"""The report on a move to a level: pages, the same as JSON, and every answer in full as Parquet and as CSV."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

import falkirk
from falkirk.pipeline.errors import WarehouseError
from falkirk.pipeline.reports.answers import Question, ask
from falkirk.pipeline.reports.report_diff import read_document, what_is_new
from falkirk.pipeline.reports.report_files import DOCUMENT, TABLES, write_files
from falkirk.pipeline.reports.verdicts import BLOCKED, CLEAR, LOSSY, make_verdicts
from falkirk.pipeline.spark.job_progress import NoProgress
from falkirk.pipeline.warehouse.fleet_tables import FleetTables

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from falkirk.pipeline.reports.answers import Answers
    from falkirk.pipeline.reports.verdicts import Verdict
    from falkirk.pipeline.spark.job_progress import Progress
    from falkirk.pipeline.warehouse.warehouse import Warehouse
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release

ROWS_MAX: Final = 10_000
"""Rows of each answer in the JSON; all rows are in the Parquet files."""
ORDERS: Final[dict[str, tuple[str, ...]]] = {
    "verdicts": ("cluster",),
    "levels": ("cluster",),
    "feature_levels": ("cluster", "feature", "offset"),
    "losses": ("cluster", "outcome", "kind", "key"),
    "minimum_versions": ("cluster",),
    "points_of_no_return": ("cluster", "upgrade_offset"),
    "blockers": ("cluster", "node_id", "role", "feature"),
    "forgotten_finalisations": ("cluster", "feature"),
    "groups": ("cluster", "group"),
    "group_partitions": ("cluster", "partition"),
    "api_usage": ("cluster", "api", "api_version"),
    "client_changes": ("cluster", "is_blocker", "api", "api_version"),
    "feature_use": ("cluster", "feature"),
    "problems": ("cluster", "source", "position"),
}
"""Answer in the JSON -> the order of its rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetReport:
    """The contents of the report. `document` is that of report.json."""

    document: dict[str, Any]  # Any: JSON values
    verdicts: list[dict[str, Any]]  # Any: same
    headline: str

    @property
    def status(self) -> int:
        """Exit status: 1 if a cluster is blocked, else 3 if one would lose something, else 0."""
        words = {verdict["verdict"] for verdict in self.verdicts}
        return 1 if BLOCKED in words else 3 if LOSSY in words else 0


def make_report(
    spark: SparkSession,
    warehouse: Warehouse,
    out: Path,
    at: MetadataVersion,
    release: Release,
    *,
    ghost_days: int = 7,
    progress: Progress | None = None,
) -> FleetReport:
    """Answer all questions and write the report to `out`, whole or not at all, replacing an older report there.

    What is new since that one is part of the report, if it has the same target. Raises WarehouseError if `out` is
    neither a report nor an empty directory.
    """
    if out.exists() and not (out / DOCUMENT).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise WarehouseError(f"{out}: not empty, and no report; name a new or empty directory")
    tables = FleetTables(spark, warehouse)
    if not tables.mark.number:
        raise WarehouseError(f"{warehouse.uri}: holds no cluster yet; `falkirk fleet ingest` brings some in")
    aside = out.with_name(f"{out.name}.aside")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    question = Question(at=at, release=release, ghost_days=ghost_days)
    try:
        answers = ask(tables, question, aside / TABLES, progress or NoProgress())
        report = report_document(answers, question, since=_last_report(out))
        write_files(report.document, answers, aside, progress or NoProgress())
        if out.exists():
            shutil.rmtree(out)
        aside.rename(out)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return report


def _last_report(out: Path) -> dict[str, Any] | None:  # Any: JSON values
    return read_document(out) if (out / DOCUMENT).is_file() else None


def report_document(
    answers: Answers,
    question: Question,
    since: dict[str, Any] | None = None,  # Any: JSON values
) -> FleetReport:
    """Return the contents of the report on these answers; `since` is the document of the last report."""
    found = {name: answers.rows(name, order, ROWS_MAX) for name, order in ORDERS.items()}
    rows = {name: of_name for name, (of_name, _) in found.items()}
    # Verdicts depend on all rows, not only on those shown.
    stopped, nodes, clients = (answers.rows(name)[0] for name in ("verdicts", "blockers", "client_changes"))
    verdicts = make_verdicts(question.at, stopped, nodes, clients, answers.counts("problems"))
    counts = Counter(verdict.word for verdict in verdicts)
    headline = _headline(verdicts, counts, question)
    document = {
        "falkirk": falkirk.__version__,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "to": {"level": question.at.level, "name": str(question.at), "release": question.release.name},
        "headline": headline,
        "clusters": {word: counts[word] for word in (CLEAR, LOSSY, BLOCKED)},
        "rows_in_all": {name: count for name, (_, count) in found.items()},
        "verdicts": [verdict.as_json() for verdict in verdicts],
        **{name: of_name for name, of_name in rows.items() if name != "verdicts"},
    }
    plain = msgspec.to_builtins(document, builtin_types=(), str_keys=True)
    plain["since"] = None if since is None or since["to"] != plain["to"] else what_is_new(since, plain)
    return FleetReport(document=plain, verdicts=plain["verdicts"], headline=headline)


def _headline(verdicts: list[Verdict], counts: Counter[str], question: Question) -> str:
    target = f"{question.at} (Kafka {question.release.word})"
    if not verdicts:
        return f"No cluster's metadata is here, so nothing is said of {target}."
    if counts[CLEAR] == len(verdicts):
        return f"To {target}, of {len(verdicts):,} clusters: all can go and lose nothing."
    lost = sum(sum(verdict.losses.values()) for verdict in verdicts)
    return (
        f"To {target}, of {len(verdicts):,} clusters: {counts[CLEAR]:,} can go and lose nothing, "
        f"{counts[LOSSY]:,} would lose something, {counts[BLOCKED]:,} are blocked. "
        f"Losses in all, those of blocked clusters too: {lost:,}."
    )
