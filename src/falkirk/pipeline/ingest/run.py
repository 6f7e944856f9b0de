"""One ingest: survey all clusters, read what is new, commit all of it at one moment."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from falkirk.pipeline.errors import InventoryError
from falkirk.pipeline.fleet import UNKNOWN_CLUSTER, FleetCluster
from falkirk.pipeline.ingest.run_unit import run_units
from falkirk.pipeline.ingest.survey import ClusterSurvey, IngestOptions, survey_cluster
from falkirk.pipeline.ingest.unit import batched
from falkirk.pipeline.spark.job_progress import NoProgress, Progress
from falkirk.pipeline.spark.tasks import run_tasks
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.warehouse.commit import Change
from falkirk.pipeline.warehouse.manifest import Manifest, Piece

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

    from falkirk.pipeline.inventory import Fleet
    from falkirk.pipeline.warehouse.manifest import DataFile
    from falkirk.pipeline.warehouse.warehouse import Warehouse

SPLIT_BYTES: Final = 32 * 1024 * 1024
_COMMIT: Final = "committing"


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """Result of an ingest. `rows` counts what the warehouse now holds of the clusters, `new_rows` what was added.

    Whatever was in the files `at_ms` is in the tables. `new_bytes` of files were read, and it took `seconds`.
    """

    clusters: int
    changed: tuple[str, ...]
    rows: dict[str, int] = field(default_factory=dict)
    new_rows: dict[str, int] = field(default_factory=dict)
    new_bytes: int = 0
    at_ms: int = 0
    seconds: float = 0

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the document of `fleet ingest --json`."""
        return {
            "clusters": self.clusters,
            "changed": list(self.changed),
            "rows": self.rows,
            "new_rows": self.new_rows,
            "new_bytes": self.new_bytes,
            "as_of_ms": self.at_ms,
            "seconds": round(self.seconds, 3),
        }


def ingest(
    spark: SparkSession,
    warehouse: Warehouse,
    fleet: Fleet,
    *,
    tables: frozenset[str] = frozenset(TABLES),
    split_bytes: int = SPLIT_BYTES,
    rebuild: bool = False,
    wait: bool = False,
    progress: Progress | None = None,
) -> IngestReport:
    """Bring the tables of a fleet up to its files; clusters of the warehouse that are not in the fleet stay.

    Reads only what is new, with `rebuild` everything. All tables change at one moment. With `wait`, waits for another
    writer to end. Raises WarehouseError, and InventoryError for a directory that workers do not see.
    """
    progress = NoProgress() if progress is None else progress
    with warehouse.writing(wait=wait):
        at_ms, began = time.time_ns() // 1_000_000, time.monotonic()
        options = IngestOptions(
            warehouse=warehouse.uri,
            tables=tables,
            split_bytes=split_bytes,
            keep_secrets=warehouse.keeps_secrets(),
            rebuild=rebuild,
            at_ms=at_ms,
        )
        surveys = _survey(spark, _with_unknown(fleet, warehouse), options, progress)
        _check_seen(surveys)
        batches = batched((unit for survey in surveys for unit in survey.units), split_bytes)
        done = run_tasks(
            spark,
            partial(run_units, options=options),
            batches,
            [sum(unit.end - unit.start for unit in batch) for batch in batches],
            title="reading what is new",
            progress=progress,
        )
        made: dict[str, list[Piece]] = {}
        for cluster, piece in chain.from_iterable(done):
            made.setdefault(cluster, []).append(piece)
        changes = [_change(survey, made.get(survey.cluster, ())) for survey in surveys]
        if changed := [change for change in changes if _is_changed(change)]:
            progress.update(_COMMIT, 0, 1)
            warehouse.commit(changed)
            progress.update(_COMMIT, 1, 1)
    report = _report(changes)
    new_bytes = sum(unit.end - unit.start for batch in batches for unit in batch)
    return replace(report, at_ms=at_ms, new_bytes=new_bytes, seconds=time.monotonic() - began)


def _with_unknown(fleet: Fleet, warehouse: Warehouse) -> Fleet:
    """Survey UNKNOWN_CLUSTER again if the last run recorded problems there, so that solved ones go."""
    if UNKNOWN_CLUSTER in fleet.problems or warehouse.manifest(UNKNOWN_CLUSTER) is None:
        return fleet
    return replace(fleet, problems=fleet.problems | {UNKNOWN_CLUSTER: []})


def _survey(spark: SparkSession, fleet: Fleet, options: IngestOptions, progress: Progress) -> list[ClusterSurvey]:
    known = {cluster.name for cluster in fleet.clusters}
    others = (FleetCluster(name=name, cluster_id=None) for name in fleet.problems if name not in known)
    clusters = (*fleet.clusters, *others)
    work = [(cluster, fleet.problems.get(cluster.name, [])) for cluster in clusters]
    return run_tasks(
        spark,
        lambda item: survey_cluster(*item, options),
        work,
        [1] * len(work),  # looking up the sizes takes longer than a bad distribution costs
        title="looking at clusters",
        progress=progress,
    )


def _check_seen(surveys: Sequence[ClusterSurvey]) -> None:
    """Raise InventoryError if a directory is here, and a worker on another machine does not see it."""
    for survey in surveys:
        for uri in survey.unseen:
            if Path(uri).is_dir():
                raise InventoryError(
                    f"{uri}: not seen by Spark's worker on {survey.host}: "
                    "name a directory that all workers share, or an object store"
                )


def _change(survey: ClusterSurvey, made: Sequence[Piece]) -> Change:
    pieces = {piece.key: piece for piece in (*survey.pieces, *made)}
    after = Manifest(cluster=survey.cluster, cluster_id=survey.cluster_id, pieces=pieces)
    return Change(survey.cluster, survey.before, after)


def _is_changed(change: Change) -> bool:
    assert change.after is not None, "an ingest forgets no cluster"
    return change.before is None or change.before.pieces != change.after.pieces


def _report(changes: Sequence[Change]) -> IngestReport:
    rows: Counter[str] = Counter()
    new: Counter[str] = Counter()
    for change in changes:
        old = {} if change.before is None else change.before.files()
        files = {} if change.after is None else change.after.files()
        rows.update(_count(files.values()))
        new.update(_count(file for path, file in files.items() if path not in old))
    return IngestReport(
        clusters=len(changes),
        changed=tuple(sorted(change.cluster for change in changes if _is_changed(change))),
        rows=_ordered(rows),
        new_rows=_ordered(new),
    )


def _count(files: Iterable[DataFile]) -> Counter[str]:
    found: Counter[str] = Counter()
    for file in files:
        found[file.table] += file.rows
    return found


def _ordered(rows: Counter[str]) -> dict[str, int]:
    return {table: rows[table] for table in TABLES if rows[table]}
