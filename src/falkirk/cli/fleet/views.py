"""The output of `falkirk fleet`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from falkirk.cli.console.terminal import print_json, print_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from falkirk.pipeline.ingest.run import IngestReport
    from falkirk.pipeline.made_fleet import FleetShape
    from falkirk.pipeline.reports.fleet_report import FleetReport
    from falkirk.pipeline.tables.table import Table
    from falkirk.pipeline.warehouse.commit import Mark
    from falkirk.pipeline.warehouse.manifest import Manifest

_NAMES_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class IngestView:
    """A `Result` of `ingest`."""

    report: IngestReport

    def text(self) -> Iterator[str]:
        """Yield the tables with their rows."""
        report = self.report
        yield f"{_count(report.clusters, 'cluster')}, {len(report.changed)} of them changed"
        for table, rows in report.rows.items():
            new = report.new_rows.get(table, 0)
            yield f"  {table:<20} {rows:>12,} rows" + (f"  ({new:,} new)" if new else "")
        problems = report.rows.get("problems", 0)
        if problems:
            yield f"{_count(problems, 'problem')}: see the table `problems`"

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `ingest --json`."""
        return self.report.as_json()


@dataclass(frozen=True, slots=True)
class StreamRound:
    """One round of a stream."""

    number: int
    report: IngestReport

    def show(self, *, json: bool) -> None:
        """Print one line, and flush it."""
        report = self.report
        if json:
            print_json({"round": self.number, **report.as_json()}, indented=False)
        else:
            rows = sum(report.new_rows.values())
            added = f"{_count(rows, 'new row')} of {report.new_bytes:,} new bytes in {report.seconds:.1f} s"
            print_text(f"round {self.number}: {_some(report.changed)}: {added}")
            sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class ReportView:
    """A `Result` of `report`."""

    report: FleetReport
    out: Path

    def text(self) -> Iterator[str]:
        """Yield the verdict of each cluster that is not clear."""
        report = self.report
        yield report.headline
        for verdict in report.verdicts:
            if verdict["status"]:
                yield f"  {verdict['cluster']}: {verdict['summary']}"
        yield f"Written: {self.out / 'report.html'}, {self.out / 'report.json'}, {self.out / 'tables'}"

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `report --json`: the contents of report.json."""
        return self.report.document


@dataclass(frozen=True, slots=True)
class DiffView:
    """A `Result` of `diff`."""

    news: dict[str, Any]  # Any: JSON values

    def text(self) -> Iterator[str]:
        """Yield how many verdicts moved, and each difference."""
        counts = ", ".join(f"{count:,} {what}" for what, count in self.news["verdicts"].items())
        yield f"from {self.news['before']} to {self.news['after']}: verdicts {counts}"
        for each in self.news["differences"]:
            values = ("none" if each[name] is None else each[name] for name in ("before", "after"))
            yield f"  {each['cluster']}: {each['what']}: {' -> '.join(map(str, values))}"

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `diff --json`."""
        return self.news


@dataclass(frozen=True, slots=True)
class ExportView:
    """A `Result` of `export`."""

    out: str
    rows: dict[str, int]

    def text(self) -> Iterator[str]:
        """Yield the tables with their rows."""
        yield f"{self.out}:"
        for table, rows in self.rows.items():
            yield f"  {table:<20} {rows:>12,} rows"

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `export --json`."""
        return {"out": self.out, "rows": self.rows}


@dataclass(frozen=True, slots=True)
class ForgottenView:
    """A `Result` of `forget`."""

    manifests: Sequence[Manifest]

    def text(self) -> Iterator[str]:
        """Yield each cluster with its rows."""
        for manifest in self.manifests:
            yield f"{manifest.cluster}: {_count(sum(manifest.rows().values()), 'row')} forgotten"

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `forget --json`."""
        return {"forgotten": {manifest.cluster: manifest.rows() for manifest in self.manifests}}


@dataclass(frozen=True, slots=True)
class VacuumView:
    """A `Result` of `vacuum`."""

    removed: Mapping[str, int]
    dry_run: bool

    def text(self) -> Iterator[str]:
        """Yield the tables with their files."""
        word = "would be removed" if self.dry_run else "removed"
        yield f"{_count(sum(self.removed.values()), 'file')} {word}"
        for table, files in self.removed.items():
            yield f"  {table:<20} {files:>12,}"

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `vacuum --json`."""
        return {"dry_run": self.dry_run, "removed": dict(self.removed)}


@dataclass(frozen=True, slots=True)
class HistoryView:
    """A `Result` of `history`."""

    marks: Sequence[Mark]

    def text(self) -> Iterator[str]:
        """Yield the commits with their times and clusters, the oldest first."""
        for mark in self.marks:
            yield f"{mark.number:>8}  {_time(mark)}  {_some(mark.changed)}"

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `history --json`."""
        return {
            "commits": [
                {"number": mark.number, "at": _time(mark), "changed": list(mark.changed), "versions": mark.versions}
                for mark in self.marks
            ]
        }


@dataclass(frozen=True, slots=True)
class MigratedView:
    """A `Result` of `migrate`."""

    rows: Mapping[str, int]

    def text(self) -> Iterator[str]:
        """Yield the tables with their rows."""
        yield f"{_count(len(self.rows), 'table')} of Delta Lake"
        for table, rows in self.rows.items():
            yield f"  {table:<20} {rows:>12,} rows"

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `migrate --json`."""
        return {"rows": dict(self.rows)}


@dataclass(frozen=True, slots=True)
class TablesView:
    """A `Result` of `tables`."""

    tables: Mapping[str, Table]

    def text(self) -> Iterator[str]:
        """Yield each table with its columns."""
        from falkirk.pipeline.tables.table import comment_of  # noqa: PLC0415 - the extra `spark` may be missing

        for table in self.tables.values():
            yield f"{table.name}: {table.comment}"
            for field in table.full_schema:
                yield f"  {field.name} ({field.type}): {comment_of(field)}"

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `tables --json`."""
        from falkirk.pipeline.tables.table import comment_of  # noqa: PLC0415 - same

        return {
            table.name: {
                "comment": table.comment,
                "columns": [
                    {"name": field.name, "type": str(field.type), "comment": comment_of(field)}
                    for field in table.full_schema
                ],
            }
            for table in self.tables.values()
        }


@dataclass(frozen=True, slots=True)
class PreparedView:
    """A `Result` of `prepare`."""

    file: Path
    size: int

    def text(self) -> Iterator[str]:
        """Yield where the classes are."""
        yield f"{self.file}: Spark's classes, {self.size // 1_000_000:,} MB; it can be removed at any time"

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `prepare --json`."""
        return {"file": str(self.file), "bytes": self.size}


@dataclass(frozen=True, slots=True)
class GeneratedView:
    """A `Result` of `generate`."""

    out: Path
    shape: FleetShape

    def text(self) -> Iterator[str]:
        """Yield what was generated."""
        clusters, partitions = _count(self.shape.clusters, "cluster"), _count(self.shape.partitions, "partition")
        yield f"{self.out}: {clusters} of {partitions} each"

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `generate --json`."""
        return {"out": str(self.out), "clusters": self.shape.clusters, "partitions": self.shape.partitions}


def _time(mark: Mark) -> str:
    return datetime.fromtimestamp(mark.at_ms / 1000, UTC).isoformat(timespec="milliseconds")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMES_MAX
    return ", ".join(names[:_NAMES_MAX]) + (f" and {more:,} more" if more > 0 else "")
