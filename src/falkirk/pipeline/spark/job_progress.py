"""How far a job of Spark has come, told while it runs."""

from __future__ import annotations

import threading
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from falkirk.pipeline.spark.session import is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell.progress import StageInfo

_POLL_SECONDS: Final = 0.2


class Progress(Protocol):
    """Receives how much of some work is done."""

    def update(self, title: str, done: int, total: int) -> None:
        """Report that `done` of `total` are finished."""


@dataclass(frozen=True, slots=True)
class NoProgress:
    """Ignores progress."""

    def update(self, title: str, done: int, total: int) -> None:
        """Ignore it."""


@contextmanager
def watched(spark: SparkSession, title: str, tasks: int, report: Callable[[int], None]) -> Iterator[None]:
    """While the block runs a job, report how many of the `tasks` of its last stage are finished; at its end all."""
    report(0)
    with (_pushed if is_remote(spark) else _polled)(spark, title, tasks, report):
        yield
    report(tasks)


@contextmanager
def _pushed(spark: SparkSession, _: str, tasks: int, report: Callable[[int], None]) -> Iterator[None]:
    def on_progress(stages: Iterable[StageInfo] | None, **_: object) -> None:
        report(_of_last_stage(((each.num_tasks, each.num_completed_tasks) for each in stages or ()), tasks))

    spark.registerProgressHandler(on_progress)  # type: ignore[arg-type]  # any callable does
    try:
        yield
    finally:
        spark.removeProgressHandler(on_progress)  # type: ignore[arg-type]  # same


@contextmanager
def _polled(spark: SparkSession, title: str, tasks: int, report: Callable[[int], None]) -> Iterator[None]:
    context, tracker = spark.sparkContext, spark.sparkContext.statusTracker()
    group, done = f"falkirk-{uuid.uuid4().hex}", threading.Event()

    def stages() -> Iterator[tuple[int, int]]:
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            for stage in [] if info is None else info.stageIds:
                found = tracker.getStageInfo(stage)
                if found is not None:
                    yield found.numTasks, found.numCompletedTasks

    def poll() -> None:
        while not done.wait(_POLL_SECONDS):
            report(_of_last_stage(stages(), tasks))

    watcher = threading.Thread(target=poll, daemon=True)
    context.setJobGroup(group, title)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _of_last_stage(stages: Iterable[tuple[int, int]], tasks: int) -> int:
    """Return the finished tasks of the stage that has so many; those before it hand out the items."""
    return max((min(completed, tasks) for count, completed in stages if count == tasks), default=0)
