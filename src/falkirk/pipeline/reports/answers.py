"""The answers of the transforms for one target, each computed once, stored as Parquet, and read from there."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from pyspark.sql import functions as sf

from falkirk.pipeline.state.groups.group_answers import GROUP_ANSWERS
from falkirk.pipeline.tables.clusters import CLUSTERS, PROBLEMS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.api_usage import API_USAGE, api_usage
from falkirk.pipeline.transforms.blockers import blockers
from falkirk.pipeline.transforms.client_blockers import client_changes
from falkirk.pipeline.transforms.downgrade_losses import downgrade_losses
from falkirk.pipeline.transforms.downgrade_verdicts import downgrade_verdicts
from falkirk.pipeline.transforms.feature_use import feature_use
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
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from falkirk.pipeline.spark.tasks import Progress
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release

Row = dict[str, Any]  # Any: values of columns
Order: TypeAlias = "Sequence[str | tuple[str, Literal['ascending', 'descending']]]"
"""Columns, each alone (ascending) or with `ascending` or `descending`."""
Sums: TypeAlias = "dict[tuple[Any, ...], int]"  # Any: values of columns
_TITLE: Final = "asking the tables"
_SIMPLE: Final[dict[str, Callable[[Question], Callable[[Mapping[str, DataFrame]], DataFrame]]]] = {
    "levels": lambda _: levels(),
    "minimum_versions": lambda _: minimum_version(),
    "points_of_no_return": lambda _: point_of_no_return(),
    "blockers": lambda question: blockers(
        question.at, question.release, ghost_after=timedelta(days=question.ghost_days)
    ),
    "forgotten_finalisations": lambda _: forgotten_finalisations(),
    "client_changes": lambda question: client_changes(question.release, question.at),
    "feature_use": lambda _: feature_use(),
    "problems": lambda _: lambda tables: tables[PROBLEMS.name],
    "feature_levels": lambda _: lambda tables: tables["feature_levels"],
}
"""Answers that need only the tables; the last two are tables repeated in the report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The target of a report, and after how many days a fenced broker counts as gone."""

    at: MetadataVersion
    release: Release
    ghost_days: int


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
    """Name -> answer, each a directory of Parquet files below `folder`, an absolute path."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self.folder = folder.resolve()

    def keep(self, name: str, frame: DataFrame) -> DataFrame:
        """Compute an answer, store it, and return it as read back."""
        path = f"file://{self.folder / name}"
        frame.coalesce(1).write.parquet(path)
        return self._spark.read.schema(frame.schema).parquet(path)

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
        # Spark would need a job for each answer; the files are local.
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


def _first_of(table: pa.Table, columns: Sequence[str], count: int) -> pa.Table:
    """Keep the first rows of each combination of values, in their order."""
    places = table.select(columns).append_column("place", pa.array(range(table.num_rows)))
    grouped = places.group_by(list(columns), use_threads=False).aggregate([("place", "list")])
    of_groups: list[list[int]] = [each.as_py() for each in grouped["place_list"]]
    kept = sorted(place for of_group in of_groups for place in of_group[:count])
    return table.take(pa.array(kept, pa.int64()))


def ask(
    spark: SparkSession, tables: Mapping[str, DataFrame], question: Question, folder: Path, progress: Progress
) -> Answers:
    """Compute all answers. Raises MissingTableError for a warehouse that lacks a column."""
    answers = Answers(spark, folder)
    steps = _Steps(answers, tables, question)
    work = (
        steps.groups,
        steps.usage,
        steps.losses,
        steps.verdicts,
        *(lambda name=name: steps.simple(name) for name in _SIMPLE),
    )
    for number, step in enumerate(work):
        progress.update(_TITLE, number, len(work))
        step()
    progress.update(_TITLE, len(work), len(work))
    return answers


class _Steps:
    def __init__(self, answers: Answers, tables: Mapping[str, DataFrame], question: Question) -> None:
        self._answers = answers
        self._tables = dict(tables)
        self._question = question

    def groups(self) -> None:
        answers = group_answers(self._question.release)(self._tables)
        self._tables[GROUP_ANSWERS.name] = self._answers.keep(GROUP_ANSWERS.name, answers)
        self._answers.keep("groups", group_readiness()(self._tables))
        self._answers.keep("group_partitions", partition_readiness()(self._tables))
        self._tables["group_losses"] = group_losses()(self._tables)

    def usage(self) -> None:
        self._tables[API_USAGE] = self._answers.keep(API_USAGE, api_usage()(self._tables))

    def losses(self) -> None:
        # Nothing is written at a lower level of a cluster that goes up.
        own = sf.col("metadata_version")
        below = self._tables[CLUSTERS.name].filter(own < int(self._question.at.level)).select(CLUSTER)
        of_metadata = downgrade_losses(self._question.at, self._question.release)(self._tables)
        losses = of_metadata.unionByName(self._tables["group_losses"]).join(sf.broadcast(below), CLUSTER, "left_anti")
        self._tables["losses"] = self._answers.keep("losses", losses)

    def verdicts(self) -> None:
        verdicts = downgrade_verdicts(self._question.at, self._question.release, losses=self._tables["losses"])
        self._answers.keep("verdicts", verdicts(self._tables))

    def simple(self, name: str) -> None:
        self._answers.keep(name, _SIMPLE[name](self._question)(self._tables))
