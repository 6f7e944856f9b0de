"""The answers of the transforms for one target, each computed once, stored as Parquet, and read from there."""

from __future__ import annotations

import itertools
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from falkirk.pipeline.spark.rows import no_rows
from falkirk.pipeline.spark.session import PLANNED_ONCE, with_settings
from falkirk.pipeline.spark.tasks import cores
from falkirk.pipeline.tables.clusters import PROBLEMS
from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS
from falkirk.pipeline.tables.requests import REQUESTS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.tables.trends import TRENDS
from falkirk.pipeline.transforms.api_usage import API_USAGE, api_usage, client_days
from falkirk.pipeline.transforms.blockers import blockers
from falkirk.pipeline.transforms.client_blockers import client_changes
from falkirk.pipeline.transforms.cluster_question import ask_clusters, rows_of
from falkirk.pipeline.transforms.downgrade_verdicts import counted, downgrade_verdicts
from falkirk.pipeline.transforms.feature_use import client_users, feature_users
from falkirk.pipeline.transforms.forgotten_finalisations import forgotten_finalisations
from falkirk.pipeline.transforms.group_readiness import group_readiness, partition_readiness
from falkirk.pipeline.transforms.levels import levels
from falkirk.pipeline.transforms.minimum_version import minimum_version
from falkirk.pipeline.transforms.move_losses import move_losses
from falkirk.pipeline.transforms.point_of_no_return import point_of_no_return
from falkirk.pipeline.transforms.stopped_cluster import stopped_clusters

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from falkirk.pipeline.spark.job_progress import Progress
    from falkirk.pipeline.transforms.cluster_question import ClusterQuestion
    from falkirk.pipeline.transforms.required import Transform
    from falkirk.pipeline.warehouse.fleet_tables import FleetTables
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release

Row = dict[str, Any]  # Any: values of columns
Order: TypeAlias = "Sequence[str | tuple[str, Literal['ascending', 'descending']]]"
"""Columns, each alone (ascending) or with `ascending` or `descending`."""
Sums: TypeAlias = "dict[tuple[Any, ...], int]"  # Any: values of columns
_TITLE: Final = "asking request logs"
_TABLES: Final = (FEATURE_LEVELS, PROBLEMS, TRENDS)
_LOSSES: Final = "losses"
_STOPPED: Final = "stopped"
_FEATURE_USE: Final = "feature_use"
_CLIENT_USERS: Final = "client_users"
_FEW_ROWS: Final = PLANNED_ONCE | {
    # Most queries see few rows: to compile them takes longer than to run them.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Without compiled code it looks values up in a cache that costs more than most expressions.
    "spark.sql.subexpressionElimination.enabled": "false",
    # Most files are small, and a task has many.
    "spark.sql.files.openCostInBytes": "65536",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The target of a report, and after how many days a fenced broker counts as gone.

    `clusters` are the names and patterns that the report is on; none: all of them.
    """

    at: MetadataVersion
    release: Release
    ghost_days: int
    clusters: tuple[str, ...] = ()


class ClusterRows:
    """Rows of an answer by cluster. `table` is sorted by cluster."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        # Counts come in the order of the rows.
        names, counts = table[CLUSTER].value_counts().flatten()
        ends = itertools.accumulate((int(count or 0) for count in counts.to_pylist()), initial=0)
        self._ranges = dict(zip(map(str, names.to_pylist()), itertools.pairwise(ends), strict=True))

    def of(self, cluster: str, limit: int) -> tuple[list[Row], int]:
        """Return the first rows of a cluster, and how many it has."""
        start, end = self._ranges.get(cluster, (0, 0))
        return self._table.slice(start, min(limit, end - start)).to_pylist(maps_as_pydicts="strict"), end - start


class Answers:
    """Name -> answer, each a directory with a Parquet file below `folder`.

    Rows come to this process, so workers need not see the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def store(self, name: str, found: pa.Table) -> None:
        """Store an answer; the order of its rows depends on nothing but the rows."""
        path = self.folder / name
        path.mkdir(parents=True)
        plain = [field.name for field in found.schema if not pa.types.is_nested(field.type)]
        found = found.sort_by([(each, "ascending") for each in plain])
        parquet.write_table(found, path / f"{name}.parquet", compression="zstd")

    def rows(
        self,
        name: str,
        order: Order = (),
        limit: int | None = None,
        *,
        where: pc.Expression | None = None,
        first_of: tuple[Sequence[str], int] | None = None,
    ) -> tuple[list[Row], int]:
        """Return the first rows of an answer in some order (`limit` None: all), and how many it has.

        `where` chooses rows; `first_of` (columns, count) keeps the first rows of each combination of values.
        """
        table = self._read(name, order, where)
        if first_of is not None:
            table = _first_of(table, *first_of)
        rows: list[Row] = table.slice(0, limit).to_pylist(maps_as_pydicts="strict")
        return rows, table.num_rows

    def by_cluster(self, name: str, order: Order, *, where: pc.Expression | None = None) -> ClusterRows:
        """Return the rows of each cluster, in some order."""
        return ClusterRows(self._read(name, (CLUSTER, *order), where))

    def _read(self, name: str, order: Order, where: pc.Expression | None) -> pa.Table:
        # Spark would need a job for each answer; the files are local. Rows that are equal here stay as they are stored.
        table = parquet.read_table(self.folder / name, filters=where)
        if not order:
            return table
        return table.sort_by([each if isinstance(each, tuple) else (each, "ascending") for each in order])

    def sums(self, name: str, by: Sequence[str], of: str | None = None, *, where: pc.Expression | None = None) -> Sums:
        """Return for each combination of values how many rows have it, or the sum of a column `of` theirs."""
        table = parquet.read_table(self.folder / name, columns=[*by, *([of] if of else [])], filters=where)
        summed = table.group_by(list(by)).aggregate([([], "count_all") if of is None else (of, "sum")])
        values = summed["count_all" if of is None else f"{of}_sum"].to_pylist()
        keys = zip(*(summed[column].to_pylist() for column in by), strict=True)
        return dict(zip(keys, values, strict=True))

    def counts(self, name: str) -> Counter[str]:
        """Count the rows of each cluster."""
        clusters = parquet.read_table(self.folder / name, columns=[CLUSTER])[CLUSTER]
        return Counter(str(cluster) for cluster in clusters.to_pylist())


def _frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    schema = from_arrow_schema(table.schema)
    # Spark Connect takes no empty table of Arrow.
    return spark.createDataFrame(table, schema) if table.num_rows else no_rows(spark, schema)


def _first_of(table: pa.Table, columns: Sequence[str], count: int) -> pa.Table:
    """Keep the first rows of each combination of values, in their order."""
    places = table.select(columns).append_column("place", pa.array(range(table.num_rows)))
    grouped = places.group_by(list(columns), use_threads=False).aggregate([("place", "list")])
    of_groups: list[list[int]] = [each.as_py() for each in grouped["place_list"]]
    kept = sorted(place for of_group in of_groups for place in of_group[:count])
    return table.take(pa.array(kept, pa.int64()))


def ask(tables: FleetTables, question: Question, folder: Path, progress: Progress) -> Answers:
    """Compute all answers. Raises MissingTableError for a warehouse that lacks a column."""
    answers = Answers(folder)
    found = ask_clusters(tables, _questions(question), progress)
    found["verdicts"] = downgrade_verdicts(found.pop(_STOPPED), counted(found[_LOSSES]))
    of_levels = _frame(tables.spark, found[FEATURE_LEVELS.name])
    found |= _of_clients(tables.keeping({FEATURE_LEVELS.name: of_levels}), question, progress)
    found[_FEATURE_USE] = pa.concat_tables([found[_FEATURE_USE], found.pop(_CLIENT_USERS)], promote_options="default")
    for name, rows in found.items():
        answers.store(name, rows)
    return answers


def _questions(question: Question) -> dict[str, ClusterQuestion]:
    """Return what is asked of each cluster."""
    at, release = question.at, question.release
    return {
        **{table.name: rows_of(table) for table in _TABLES},
        "levels": levels(),
        "blockers": blockers(at, release, ghost_after=timedelta(days=question.ghost_days)),
        "forgotten_finalisations": forgotten_finalisations(),
        _STOPPED: stopped_clusters(at, release),
        "minimum_versions": minimum_version(),
        "points_of_no_return": point_of_no_return(),
        "groups": group_readiness(release),
        "group_partitions": partition_readiness(release),
        _LOSSES: move_losses(at, release),
        _FEATURE_USE: feature_users(),
    }


def _of_clients(tables: FleetTables, question: Question, progress: Progress) -> dict[str, pa.Table]:
    """Answer what request logs show, in rounds: the second is made of the first one's answer.

    Each is a query of Spark, a few of them at a time: planning one takes one of its threads.
    """
    rounds: list[dict[str, Transform]] = [
        {API_USAGE: api_usage(), "client_days": client_days()},
        {"client_changes": client_changes(question.release, question.at), _CLIENT_USERS: client_users()},
    ]
    found: dict[str, pa.Table] = {}
    compute = DataFrame.toArrow if tables.has_rows(REQUESTS) else _none_of
    settings = _FEW_ROWS | {"spark.sql.shuffle.partitions": str(cores(tables.spark))}
    with with_settings(tables.spark, settings), ThreadPoolExecutor() as pool:
        for done, round_ in enumerate(rounds):
            progress.update(_TITLE, done, len(rounds))
            frames = [transform(tables) for transform in round_.values()]
            found |= zip(round_, pool.map(compute, frames), strict=True)
            tables |= {API_USAGE: _frame(tables.spark, found[API_USAGE])}
    progress.update(_TITLE, len(rounds), len(rounds))
    return found


def _none_of(frame: DataFrame) -> pa.Table:
    """Return a frame's columns without rows: a new JVM takes seconds for plans that find nothing."""
    return to_arrow_schema(frame.schema, timezone="UTC").empty_table()
