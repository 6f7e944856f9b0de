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

from falkirk.pipeline.state.groups.group_answers import GROUP_ANSWERS
from falkirk.pipeline.tables.clusters import CLUSTERS, PROBLEMS
from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.tables.trends import TRENDS
from falkirk.pipeline.transforms.api_usage import API_USAGE, api_usage, client_days
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

    from pyspark.sql import DataFrame

    from falkirk.pipeline.spark.job_progress import Progress
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release

Row = dict[str, Any]  # Any: values of columns
Order: TypeAlias = "Sequence[str | tuple[str, Literal['ascending', 'descending']]]"
"""Columns, each alone (ascending) or with `ascending` or `descending`."""
Sums: TypeAlias = "dict[tuple[Any, ...], int]"  # Any: values of columns
_TITLE: Final = "asking the tables"
_AT_ONCE: Final = 4
_LOSSES: Final = "losses"
_SHARED: Final = (GROUP_ANSWERS.name, API_USAGE, _LOSSES)
"""Answers that others are made of."""
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
    "client_days": lambda _: client_days(),
    "feature_levels": lambda _: lambda tables: tables[FEATURE_LEVELS.name],
    "trends": lambda _: lambda tables: tables[TRENDS.name],
}
"""Answers that need only the tables; some are tables, repeated in the report."""


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

    def store(self, name: str, frame: DataFrame) -> None:
        """Compute an answer and store it; the order of its rows depends on nothing but the rows."""
        path = self.folder / name
        path.mkdir(parents=True)
        found = frame.toArrow()
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


def _first_of(table: pa.Table, columns: Sequence[str], count: int) -> pa.Table:
    """Keep the first rows of each combination of values, in their order."""
    places = table.select(columns).append_column("place", pa.array(range(table.num_rows)))
    grouped = places.group_by(list(columns), use_threads=False).aggregate([("place", "list")])
    of_groups: list[list[int]] = [each.as_py() for each in grouped["place_list"]]
    kept = sorted(place for of_group in of_groups for place in of_group[:count])
    return table.take(pa.array(kept, pa.int64()))


def ask(tables: Mapping[str, DataFrame], question: Question, folder: Path, progress: Progress) -> Answers:
    """Compute all answers. Raises MissingTableError for a warehouse that lacks a column."""
    answers = Answers(folder)
    frames = _frames(dict(tables), question)
    for name in _SHARED:
        frames[name].persist()
    try:
        # Planning an answer takes one thread of Spark's, and often longer than to compute it.
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            # What others need comes first.
            names = sorted(frames, key=lambda name: name not in _SHARED)
            jobs = [pool.submit(answers.store, name, frames[name]) for name in names]
            try:
                for number, job in enumerate(as_completed(jobs)):
                    progress.update(_TITLE, number, len(jobs))
                    job.result()
            finally:
                pool.shutdown(cancel_futures=True)
        progress.update(_TITLE, len(jobs), len(jobs))
    finally:
        for name in _SHARED:
            frames[name].unpersist()
    return answers


def _frames(tables: dict[str, DataFrame], question: Question) -> dict[str, DataFrame]:
    """Return each answer, not computed yet."""
    at, release = question.at, question.release
    found = {GROUP_ANSWERS.name: group_answers(release)(tables), API_USAGE: api_usage()(tables)}
    tables |= found
    # Nothing is written at a lower level of a cluster that goes up.
    below = tables[CLUSTERS.name].filter(sf.col("metadata_version") < int(at.level)).select(CLUSTER)
    losses = downgrade_losses(at, release)(tables).unionByName(group_losses()(tables))
    found[_LOSSES] = losses.join(sf.broadcast(below), CLUSTER, "left_anti")
    found |= {
        "groups": group_readiness()(tables),
        "group_partitions": partition_readiness()(tables),
        "verdicts": downgrade_verdicts(at, release, losses=found[_LOSSES])(tables),
    }
    return found | {name: transform(question)(tables) for name, transform in _SIMPLE.items()}
