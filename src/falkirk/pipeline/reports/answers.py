"""The answers of the transforms for one target, each computed once, stored as Parquet, and read from there."""

from __future__ import annotations

import itertools
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from falkirk.pipeline.spark.rows import no_rows
from falkirk.pipeline.spark.session import PLANNED_ONCE, with_settings
from falkirk.pipeline.spark.tasks import cores
from falkirk.pipeline.state.groups.group_answers import GROUP_ANSWERS
from falkirk.pipeline.tables.clusters import CLUSTERS, LOG_DIRS, PROBLEMS
from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS
from falkirk.pipeline.tables.metadata_state import BROKERS, CONTROLLERS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.tables.trends import TRENDS
from falkirk.pipeline.transforms.api_usage import API_USAGE, api_usage, client_days
from falkirk.pipeline.transforms.blockers import blockers
from falkirk.pipeline.transforms.client_blockers import client_changes
from falkirk.pipeline.transforms.cluster_question import ask_clusters, rows_of
from falkirk.pipeline.transforms.downgrade_losses import downgrade_losses
from falkirk.pipeline.transforms.downgrade_verdicts import downgrade_verdicts
from falkirk.pipeline.transforms.feature_use import FEATURE_USERS, feature_use, feature_users
from falkirk.pipeline.transforms.forgotten_finalisations import forgotten_finalisations
from falkirk.pipeline.transforms.group_readiness import (
    group_answers,
    group_losses,
    group_readiness,
    partition_readiness,
)
from falkirk.pipeline.transforms.levels import levels
from falkirk.pipeline.transforms.minimum_version import minimum_version
from falkirk.pipeline.transforms.point_of_no_return import point_of_no_return

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from falkirk.pipeline.spark.job_progress import Progress
    from falkirk.pipeline.transforms.cluster_question import ClusterQuestion
    from falkirk.pipeline.transforms.required import Tables, Transform
    from falkirk.pipeline.warehouse.fleet_tables import FleetTables
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release

Row = dict[str, Any]  # Any: values of columns
Order: TypeAlias = "Sequence[str | tuple[str, Literal['ascending', 'descending']]]"
"""Columns, each alone (ascending) or with `ascending` or `descending`."""
Sums: TypeAlias = "dict[tuple[Any, ...], int]"  # Any: values of columns
_TITLE: Final = "asking the tables"
_AT_ONCE: Final = 4
_LOSSES: Final = "losses"
_METADATA_LOSSES: Final = "metadata_losses"
_SHARED: Final[dict[str, list[str] | None]] = {
    API_USAGE: None,
    _LOSSES: [CLUSTER, "outcome", "kind"],
}
"""Answers that others are made of -> the columns that these need; None: all."""
_SMALL: Final = {
    FEATURE_LEVELS.name: rows_of(FEATURE_LEVELS),
    CLUSTERS.name: rows_of(CLUSTERS),
    LOG_DIRS.name: rows_of(LOG_DIRS, "node_id", "directory_id", "has_metadata"),
    BROKERS.name: rows_of(BROKERS, "broker_id", "log_dirs", "features", "fenced", "fenced_since"),
    CONTROLLERS.name: rows_of(CONTROLLERS, "controller_id", "features"),
}
"""Tables of a few rows for each cluster that nearly all answers need, with the columns that these ask for."""
_STORED: Final = (
    "minimum_versions",
    "points_of_no_return",
    GROUP_ANSWERS.name,
    FEATURE_LEVELS.name,
    PROBLEMS.name,
    TRENDS.name,
)
"""Answers that come from clusters as they are."""
_BY_CLUSTER: Final = PLANNED_ONCE | {
    # Most queries see few rows: to compile them takes longer than to run them.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Without compiled code it looks values up in a cache that costs more than most expressions.
    "spark.sql.subexpressionElimination.enabled": "false",
    # Most files are small, and a task has many.
    "spark.sql.files.openCostInBytes": "65536",
    # What is laid out by cluster is joined where it is.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
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

    def frame(self, spark: SparkSession, name: str, columns: list[str] | None) -> DataFrame:
        """Return columns of an answer (None: all) as a DataFrame: Spark need not plan again how it was made."""
        return _frame(spark, parquet.read_table(self.folder / name, columns=columns))

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
    spark = tables.spark
    count = cores(spark)
    of_clusters = ask_clusters(tables, _questions(question), progress)
    for name in _STORED:
        # Of a table the cluster comes last, as in Spark.
        columns = of_clusters[name].column_names
        answers.store(name, of_clusters[name].select([*columns[1:], CLUSTER] if name in tables else columns))
    frames = {name: _frame(spark, of_clusters[name]) for name in (GROUP_ANSWERS.name, _METADATA_LOSSES, FEATURE_USERS)}
    small = {name: _frame(spark, of_clusters[name]).repartition(count, CLUSTER) for name in _SMALL}
    found = tables.keeping(small) | frames
    with with_settings(spark, _BY_CLUSTER | {"spark.sql.shuffle.partitions": str(count)}):
        for frame in small.values():
            frame.persist()
        try:
            done, total = 0, sum(map(len, _ROUNDS))
            progress.update(_TITLE, done, total)
            for round_ in _ROUNDS:
                for _ in _stored(answers, {name: transform(question)(found) for name, transform in round_.items()}):
                    done += 1
                    progress.update(_TITLE, done, total)
                found |= {name: answers.frame(spark, name, _SHARED[name]) for name in round_ if name in _SHARED}
        finally:
            for frame in small.values():
                frame.unpersist()
    return answers


def _questions(question: Question) -> dict[str, ClusterQuestion]:
    """Return what is asked of each cluster: tables of a few rows, answers, and what other answers are made of."""
    return {
        # First: the others find in memory what these read.
        **_SMALL,
        PROBLEMS.name: rows_of(PROBLEMS),
        TRENDS.name: rows_of(TRENDS),
        "minimum_versions": minimum_version(),
        "points_of_no_return": point_of_no_return(),
        GROUP_ANSWERS.name: group_answers(question.release),
        _METADATA_LOSSES: downgrade_losses(question.at, question.release),
        FEATURE_USERS: feature_users(),
    }


def _stored(answers: Answers, frames: Mapping[str, DataFrame]) -> Iterator[None]:
    """Compute some answers, a few at a time: planning one takes one thread of Spark's. Yields with each."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        jobs = [
            pool.submit(lambda name=name, frame=frame: answers.store(name, frame.toArrow()))  # type: ignore[misc]
            for name, frame in frames.items()
        ]
        try:
            for job in as_completed(jobs):
                yield job.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _losses(question: Question) -> Transform:
    """Return the losses of metadata and groups. Nothing is written at a lower level of a cluster that goes up."""
    at = question.at

    def transform(tables: Tables) -> DataFrame:
        below = tables[CLUSTERS.name].filter(sf.col("metadata_version") < int(at.level)).select(CLUSTER)
        losses = tables[_METADATA_LOSSES].unionByName(group_losses()(tables))
        return losses.join(sf.broadcast(below), CLUSTER, "left_anti")

    return transform


def _verdicts(question: Question) -> Transform:
    return lambda tables: downgrade_verdicts(question.at, question.release, losses=tables[_LOSSES])(tables)


_ROUNDS: Final[tuple[dict[str, Callable[[Question], Transform]], ...]] = (
    {
        API_USAGE: lambda _: api_usage(),
        "levels": lambda _: levels(),
        "blockers": lambda question: blockers(
            question.at, question.release, ghost_after=timedelta(days=question.ghost_days)
        ),
        "forgotten_finalisations": lambda _: forgotten_finalisations(),
        "client_days": lambda _: client_days(),
    },
    {
        _LOSSES: _losses,
        "groups": lambda _: group_readiness(),
        "group_partitions": lambda _: partition_readiness(),
        "client_changes": lambda question: client_changes(question.release, question.at),
        "feature_use": lambda _: feature_use(),
    },
    {"verdicts": _verdicts},
)
"""The answers by name: those of a round need the tables, and the shared answers of the rounds before."""
