"""What a machine needs once, so that fleet commands start in half the time: Spark's classes in a file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from falkirk.pipeline.ingest.run import ingest
from falkirk.pipeline.inventory import find_fleet
from falkirk.pipeline.made_fleet import FleetShape, make_fleet
from falkirk.pipeline.reports.fleet_report import make_report
from falkirk.pipeline.spark.class_archive import keep_classes
from falkirk.pipeline.spark.session import check_java, start_session
from falkirk.pipeline.spark.spark_log import open_log
from falkirk.pipeline.warehouse.warehouse import Warehouse
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from falkirk.pipeline.spark.job_progress import Progress

_TITLE: Final = "preparing"
_CLUSTERS: Final = 3
_TARGET: Final = "3.9"


def prepare(progress: Progress) -> Path:
    """Keep the classes that an ingest and a report of a made fleet load; return the file.

    Raises SparkUnavailableError, and OSError if the cache cannot be written.
    """
    java_version = check_java()

    def work(spark: SparkSession) -> None:
        with tempfile.TemporaryDirectory(prefix="falkirk-prepare-") as name:
            fleet, warehouse = Path(name) / "fleet", Warehouse.make(str(Path(name) / "warehouse"))
            make_fleet(fleet, FleetShape(clusters=_CLUSTERS))
            ingest(spark, warehouse, find_fleet([str(fleet)]))
            progress.update(_TITLE, 1, 3)
            at, release = MetadataVersion.parse(_TARGET), Release.parse(_TARGET)
            make_report(spark, warehouse, Path(name) / "report", at, release)
            progress.update(_TITLE, 2, 3)

    progress.update(_TITLE, 0, 3)
    with open_log() as log:
        file = keep_classes(
            java_version, lambda options: start_session(log=log, few_rows=True, java_options=options), work
        )
    progress.update(_TITLE, 3, 3)
    return file
