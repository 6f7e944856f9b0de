"""Run one function on many items in Spark's workers.

Items go there, and results come back, as rows of a DataFrame: Spark Connect has nothing else.
"""

from __future__ import annotations

import pickle
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa
from pyspark.sql import functions as sf

from falkirk.pipeline.errors import PipelineError
from falkirk.pipeline.spark.job_progress import Progress, watched
from falkirk.pipeline.spark.session import PLANNED_ONCE, is_remote, with_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    T = TypeVar("T")
    R = TypeVar("R")

TASK_BYTES: Final = 16 * 1024 * 1024
TASKS_PER_CORE: Final = 4
_TASK: Final = "task"
_ITEM: Final = "item"
_RESULT: Final = "result"
_RESULTS: Final = pa.schema({_RESULT: pa.binary()})


def run_tasks(
    spark: SparkSession,
    function: Callable[[T], R],
    items: Sequence[T],
    weights: Sequence[int],
    *,
    title: str,
    progress: Progress,
) -> list[R]:
    """Return function(item) for each item, in no order. Function and items are pickled; weights are bytes to read.

    Heavy items begin first, and light ones share a task. A PipelineError of the function is raised here.
    """
    if not items:
        return []
    work, sizes = spread(spark, items, weights)
    # Tasks begin in order, so as many items as in the first ones are about those that are done.
    counts = list(accumulate(sizes, initial=0))
    watching = watched(spark, title, len(sizes), lambda done: progress.update(title, counts[done], len(items)))
    with with_settings(spark, PLANNED_ONCE), watching:
        done = work.mapInArrow(partial(_work, function), f"{_RESULT} binary").toArrow()
    results = [pickle.loads(each.as_py()) for each in done.column(_RESULT)]  # noqa: S301 - our own workers made them
    for result in results:
        if isinstance(result, PipelineError):
            raise result
    return results


def spread(spark: SparkSession, items: Sequence[T], weights: Sequence[int]) -> tuple[DataFrame, list[int]]:
    """Return items, at least one, as rows that are spread over tasks, and how many each task has.

    Heavy items are in the first tasks, and light ones share a task. Workers get them back by `unpacked`.
    """
    slices = _packed(items, weights, cores(spark))
    rows = [(task, pickle.dumps(item)) for task, part in enumerate(slices) for item in part]
    tasks, pickled = zip(*rows, strict=True)
    table = pa.table({_TASK: pa.array(tasks, pa.int32()), _ITEM: pa.array(pickled, pa.large_binary())})
    frame = spark.createDataFrame(table).repartitionById(len(slices), sf.col(_TASK)).select(_ITEM)
    return frame, list(map(len, slices))


def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:  # Any: T
    """Yield in a worker the items that were spread over tasks."""
    for batch in batches:
        for item in batch.column(_ITEM):
            yield pickle.loads(item.as_py())  # noqa: S301 - the driver made it


def _work(function: Callable[[Any], Any], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:  # Any: T, R
    """Run a task in a worker: yield the pickled result of each item, or its PipelineError."""
    for item in unpacked(batches):
        try:
            result = function(item)
        except PipelineError as error:
            result = error
        yield pa.RecordBatch.from_pydict({_RESULT: [pickle.dumps(result)]}, schema=_RESULTS)


def cores(spark: SparkSession) -> int:
    """Return how many tasks run at once, as far as Spark tells."""
    if not is_remote(spark):
        return spark.sparkContext.defaultParallelism
    parts = spark.range(1 << 20).select(sf.spark_partition_id().alias(_TASK))
    return max(parts.distinct().count(), 1)


def _packed(items: Sequence[T], weights: Sequence[int], cores: int) -> list[list[T]]:
    """Pack items into tasks: none much above its share of bytes, and no more tasks than keep all cores busy."""
    total = sum(weights)
    share = max(TASK_BYTES, total // (cores * TASKS_PER_CORE) + 1)
    count_max = max(-(-len(items) // (cores * TASKS_PER_CORE)), 1)
    slices: list[list[T]] = []
    filled = 0
    for index in sorted(range(len(items)), key=lambda index: -weights[index]):
        if not slices or filled + weights[index] > share or len(slices[-1]) >= count_max:
            slices.append([])
            filled = 0
        slices[-1].append(items[index])
        filled += weights[index]
    return slices
