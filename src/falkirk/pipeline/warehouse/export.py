"""Export a warehouse in another format that Spark writes: ORC, or one of a package (Delta, Iceberg)."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from falkirk.pipeline.errors import WarehouseError
from falkirk.pipeline.fleet import names_chosen
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.warehouse.fleet_tables import FleetTables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from falkirk.pipeline.spark.job_progress import Progress
    from falkirk.pipeline.warehouse.warehouse import Warehouse


def export(
    spark: SparkSession,
    warehouse: Warehouse,
    out: str,
    *,
    format_: str,
    tables: frozenset[str],
    clusters: Sequence[str] = (),
    progress: Progress,
) -> dict[str, int]:
    """Write each table to a directory below `out`, a path or URI as Spark has it; return the rows of each.

    Output is partitioned by cluster and replaces what is there of each cluster, so a second run changes nothing; of
    `clusters` (names, patterns) alone if there are any. Raises WarehouseError, before anything is written, for a format
    that this Spark cannot write, InventoryError for a pattern that matches no cluster.
    """
    chosen = names_chosen(warehouse.clusters(), clusters, among=warehouse.uri) if clusters else None
    _check_format(spark, format_, out)
    found = FleetTables(spark, warehouse, clusters=chosen)
    rows = {}
    for number, name in enumerate(sorted(tables)):
        progress.update(f"writing {format_}", number, len(tables))
        frame = found[name]
        writer = frame.write.format(format_).partitionBy(CLUSTER).mode("overwrite")
        writer.option("partitionOverwriteMode", "dynamic").save(f"{out}/{name}")
        rows[name] = frame.count()
    progress.update(f"writing {format_}", len(tables), len(tables))
    return rows


def _check_format(spark: SparkSession, format_: str, out: str) -> None:
    """Write and read a table of one row, beside what will be in `out` if that is a path. Raises WarehouseError."""
    wanted = Path(out).resolve()
    beside = None if "://" in out else next(each for each in (wanted, *wanted.parents) if each.is_dir())
    with tempfile.TemporaryDirectory(dir=beside, prefix=".trial-") as folder:
        path = f"file://{folder}/table"
        try:
            spark.range(1).write.format(format_).save(path)
            rows = spark.read.schema("id long").format(format_).load(path).count()
        except (PySparkException, Py4JError) as error:
            reason = str(error).strip().splitlines()[0]
            raise WarehouseError(
                f"format {format_}: this Spark ({spark.version}) cannot write and read it: {reason} "
                "(a package for it is named with --spark-conf spark.jars.packages=...)"
            ) from error
    if rows != 1:
        raise WarehouseError(f"{out}: what Spark's workers write there is not seen here: name a place that all share")
