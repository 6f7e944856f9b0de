"""One ingest: survey all clusters, read what is new, commit cluster by cluster."""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from falkirk.pipeline.fleet import UNKNOWN_CLUSTER, FleetCluster
from falkirk.pipeline.ingest.run_unit import run_unit
from falkirk.pipeline.ingest.survey import ClusterSurvey, IngestOptions, survey_cluster
from falkirk.pipeline.spark.tasks import NoProgress, Progress, run_tasks
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.warehouse.manifest import Manifest, Piece

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from falkirk.pipeline.inventory import Fleet
    from falkirk.pipeline.warehouse.warehouse import Warehouse

SPLIT_BYTES: Final = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """Result of an ingest. `rows` counts what the warehouse now holds of the clusters, `new_rows` what was added."""

    clusters: int
    changed: tuple[str, ...]
    rows: dict[str, int] = field(default_factory=dict)
    new_rows: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the document of `fleet ingest --json`."""
        return {
            "clusters": self.clusters,
            "changed": list(self.changed),
            "rows": self.rows,
            "new_rows": self.new_rows,
        }


def ingest(
    spark: SparkSession,
    warehouse: Warehouse,
    fleet: Fleet,
    *,
    tables: frozenset[str] = frozenset(TABLES),
    split_bytes: int = SPLIT_BYTES,
    rebuild: bool = False,
    progress: Progress | None = None,
) -> IngestReport:
    """Bring the tables of a fleet up to its files; clusters of the warehouse that are not in the fleet stay.

    Reads only what is new, with `rebuild` everything. The tables of a cluster change when its manifest is replaced.
    Raises WarehouseError.
    """
    progress = NoProgress() if progress is None else progress
    with warehouse.writing():
        options = IngestOptions(
            warehouse=warehouse.uri,
            run=uuid.uuid4().hex[:12],
            tables=tables,
            split_bytes=split_bytes,
            keep_secrets=warehouse.keeps_secrets(),
            rebuild=rebuild,
        )
        surveys = _survey(spark, _with_unknown(fleet, warehouse), options, progress)
        units = [unit for survey in surveys for unit in survey.units]
        done = run_tasks(
            spark,
            partial(run_unit, options=options),
            units,
            [unit.end - unit.start for unit in units],
            title="reading what is new",
            progress=progress,
        )
        made: dict[str, list[Piece]] = {}
        for cluster, piece in done:
            made.setdefault(cluster, []).append(piece)
        committed = [_commit(warehouse, options.run, survey, made.get(survey.cluster, ())) for survey in surveys]
        warehouse.end_run(options.run)
    return _report(surveys, committed)


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


def _commit(warehouse: Warehouse, run: str, survey: ClusterSurvey, made: Sequence[Piece]) -> Manifest:
    pieces = {piece.key: piece for piece in (*survey.pieces, *made)}
    manifest = Manifest(cluster=survey.cluster, cluster_id=survey.cluster_id, pieces=pieces)
    if survey.before is None or manifest.pieces != survey.before.pieces:
        warehouse.commit(manifest, run, survey.before)
    return manifest


def _report(surveys: Sequence[ClusterSurvey], committed: Sequence[Manifest]) -> IngestReport:
    rows: Counter[str] = Counter()
    new: Counter[str] = Counter()
    changed = []
    for survey, manifest in zip(surveys, committed, strict=True):
        old = set() if survey.before is None else survey.before.paths()
        files = [file for piece in manifest.pieces.values() for file in piece.files]
        rows.update(_count({file.path: (file.table, file.rows) for file in files}))
        new.update(_count({file.path: (file.table, file.rows) for file in files if file.path not in old}))
        if survey.before is None or manifest.pieces != survey.before.pieces:
            changed.append(manifest.cluster)
    return IngestReport(
        clusters=len(surveys), changed=tuple(sorted(changed)), rows=_ordered(rows), new_rows=_ordered(new)
    )


def _count(files: Mapping[str, tuple[str, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for table, rows in files.values():
        found[table] += rows
    return found


def _ordered(rows: Counter[str]) -> dict[str, int]:
    return {table: rows[table] for table in TABLES if rows[table]}
