"""Keep the tables of a warehouse current while files grow.

Each round is an ingest, which reads only what is new and commits it at one moment. The manifests in the warehouse are
the checkpoints: after a kill, the next run continues behind the committed bytes, so every record is in the tables once.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

from falkirk.pipeline.ingest.run import IngestReport, ingest
from falkirk.pipeline.inventory import find_fleet, only_clusters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

    from pyspark.sql import SparkSession

    from falkirk.pipeline.warehouse.warehouse import Warehouse


def stream(
    spark: SparkSession,
    warehouse: Warehouse,
    inputs: Sequence[str],
    *,
    request_logs: Sequence[str] = (),
    clusters: Sequence[str] = (),
    tables: frozenset[str],
    interval_seconds: float,
    rounds: int | None = None,
    before_round: Callable[[], object] = lambda: None,
) -> Iterator[tuple[int, IngestReport]]:
    """Ingest again and again; yield (number, report) of each round.

    Inputs are expanded anew each round, so new clusters and files join. Ends after `rounds`, or after the round in
    which SIGINT or SIGTERM arrived. Calls `before_round` before each round, to fetch what is not in files yet. Raises
    what that, `find_fleet` and `ingest` raise.
    """
    with _stop_signals() as stopped:
        for number in count(1):
            before_round()
            fleet = only_clusters(find_fleet(inputs, request_logs=request_logs), clusters)
            yield number, ingest(spark, warehouse, fleet, tables=tables, wait=True)
            if number == rounds or stopped.wait(interval_seconds):
                return


@contextmanager
def _stop_signals() -> Iterator[threading.Event]:
    """Set an event on SIGINT and SIGTERM instead of interrupting the round."""
    stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
