"""Run one function on many items in Spark's workers, and report progress."""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from falkirk.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    T = TypeVar("T")
    R = TypeVar("R")

TASK_BYTES: Final = 16 * 1024 * 1024
TASKS_PER_CORE: Final = 4
_POLL_SECONDS: Final = 0.2


class Progress(Protocol):
    """Receives the number of finished tasks."""

    def update(self, title: str, done: int, total: int) -> None:
        """Report that `done` of `total` tasks are finished."""


@dataclass(frozen=True, slots=True)
class NoProgress:
    """Ignores progress."""

    def update(self, title: str, done: int, total: int) -> None:
        """Ignore it."""


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
    context = spark.sparkContext
    slices = _packed(items, weights, context.defaultParallelism)
    group = f"falkirk-{uuid.uuid4().hex}"
    done = threading.Event()

    def report(completed: int) -> None:
        progress.update(title, min(completed, len(slices)), len(slices))

    watcher = threading.Thread(target=_watch, args=(spark, group, done, report), daemon=True)
    context.setJobGroup(group, title)
    watcher.start()
    try:
        done_items = context.parallelize(slices, len(slices)).flatMap(
            lambda part: [_attempt(function, it) for it in part]
        )
        found = done_items.collect()
    finally:
        done.set()
        watcher.join()
        report(len(slices))
    for result in found:
        if isinstance(result, PipelineError):
            raise result
    return [result for result in found if not isinstance(result, PipelineError)]


def _attempt(function: Callable[[T], R], item: T) -> R | PipelineError:
    try:
        return function(item)
    except PipelineError as error:
        return error


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


def _watch(spark: SparkSession, group: str, done: threading.Event, report: Callable[[int], None]) -> None:
    tracker = spark.sparkContext.statusTracker()
    while not done.wait(_POLL_SECONDS):
        completed = 0
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            for stage in [] if info is None else info.stageIds:
                of_stage = tracker.getStageInfo(stage)
                completed += 0 if of_stage is None else of_stage.numCompletedTasks
        report(completed)
