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
from falkirk.pipeline.fleet import TAGS, names_chosen
from falkirk.pipeline.reports.answers import Question, ask
from falkirk.pipeline.reports.report_diff import read_document, what_is_new
from falkirk.pipeline.reports.report_files import DOCUMENT, TABLES, write_files
from falkirk.pipeline.reports.verdicts import BLOCKED, CLEAR, LOSSY, STATUSES, make_verdicts
from falkirk.pipeline.spark.job_progress import NoProgress
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.warehouse.fleet_tables import FleetTables

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from falkirk.pipeline.reports.answers import Answers
    from falkirk.pipeline.reports.verdicts import Verdict
    from falkirk.pipeline.spark.job_progress import Progress
    from falkirk.pipeline.warehouse.warehouse import Warehouse
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release

    Tags = Mapping[str, Collection[str]]
    """Name of a tag -> the values of which a cluster has one."""

_BY_WEIGHT: Final = (0, 3, 1)
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
    "client_days": ("cluster", "day"),
    "feature_use": ("cluster", "feature"),
    "trends": ("cluster", "day"),
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
        """Exit status: 1 if a cluster that counts is blocked, else 3 if one would lose something, else 0."""
        status: int = self.document["status"]
        return status


def make_report(
    spark: SparkSession,
    warehouse: Warehouse,
    out: Path,
    at: MetadataVersion,
    release: Release,
    *,
    clusters: Sequence[str] = (),
    status_of: Tags | None = None,
    ghost_days: int = 7,
    progress: Progress | None = None,
) -> FleetReport:
    """Answer all questions and write the report to `out`, whole or not at all, replacing an older report there.

    What is new since that one is part of the report, if it has the same target and clusters. The report is on
    `clusters` (names, patterns; none: all), and clusters with the tags `status_of` decide its status. Raises
    WarehouseError if `out` is neither a report nor an empty directory, or no cluster has the tags, and InventoryError
    for a pattern that matches no cluster.
    """
    if out.exists() and not (out / DOCUMENT).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise WarehouseError(f"{out}: not empty, and no report; name a new or empty directory")
    chosen = names_chosen(warehouse.clusters(), clusters, among=warehouse.uri) if clusters else None
    tables = FleetTables(spark, warehouse, clusters=chosen)
    if not tables.mark.number:
        raise WarehouseError(f"{warehouse.uri}: holds no cluster yet; `falkirk fleet ingest` brings some in")
    aside = out.with_name(f"{out.name}.aside")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    question = Question(at=at, release=release, ghost_days=ghost_days, clusters=tuple(clusters))
    try:
        answers = ask(tables, question, aside / TABLES, progress or NoProgress())
        report = report_document(answers, question, since=_last_report(out), status_of=status_of)
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
    *,
    status_of: Tags | None = None,
) -> FleetReport:
    """Return the contents of the report on these answers; `since` is the document of the last report.

    Raises WarehouseError if no cluster has the tags `status_of`.
    """
    found = {name: answers.rows(name, order, ROWS_MAX) for name, order in ORDERS.items()}
    rows = {name: of_name for name, (of_name, _) in found.items()}
    # Verdicts depend on all rows, not only on those shown.
    stopped, nodes, clients = (answers.rows(name)[0] for name in ("verdicts", "blockers", "client_changes"))
    verdicts = make_verdicts(question.at, stopped, nodes, clients, answers.counts("problems"))
    counts = Counter(verdict.word for verdict in verdicts)
    headline = _headline(verdicts, counts, question)
    tags = {row[CLUSTER]: {name: row[name] for name in TAGS if row[name]} for row in answers.rows("levels")[0]}
    document = {
        "falkirk": falkirk.__version__,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "to": {"level": question.at.level, "name": str(question.at), "release": question.release.name},
        "only": question.clusters or None,
        "status": _status(verdicts, tags, status_of or {}),
        "status_of": status_of or {},
        "headline": headline,
        "clusters": {word: counts[word] for word in (CLEAR, LOSSY, BLOCKED)},
        "rows_in_all": {name: count for name, (_, count) in found.items()},
        "verdicts": [verdict.as_json() | {"tags": tags.get(verdict.cluster, {})} for verdict in verdicts],
        **{name: of_name for name, of_name in rows.items() if name != "verdicts"},
    }
    plain = msgspec.to_builtins(document, builtin_types=(), str_keys=True)
    is_comparable = since is not None and (since["to"], since.get("only")) == (plain["to"], plain["only"])
    plain["since"] = what_is_new(since, plain) if since is not None and is_comparable else None
    return FleetReport(document=plain, verdicts=plain["verdicts"], headline=headline)


def _status(verdicts: list[Verdict], tags: Mapping[str, Mapping[str, str]], wanted: Tags) -> int:
    """Return the exit status by the clusters that have the wanted tags. Of those that were not read none are known."""
    words = {
        verdict.word
        for verdict in verdicts
        if verdict.cluster not in tags or all(tags[verdict.cluster].get(name) in wanted[name] for name in wanted)
    }
    if wanted and not words:
        named = " and ".join(f"{name}={' or '.join(sorted(values))}" for name, values in sorted(wanted.items()))
        raise WarehouseError(f"--status-of: no cluster of the report has {named}")
    return max((STATUSES[word] for word in words), key=_BY_WEIGHT.index, default=0)


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
