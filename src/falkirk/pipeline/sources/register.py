"""Makes our sources known to Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.pipeline.sources.kafka_segments import KafkaSegmentsSource
from falkirk.pipeline.sources.kraft_log import KraftLogSource
from falkirk.pipeline.sources.log_dirs import LogDirsSource
from falkirk.pipeline.sources.request_log import RequestLogSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCES: Final = (KraftLogSource, KafkaSegmentsSource, RequestLogSource, LogDirsSource)


def register_sources(spark: SparkSession) -> None:
    """Have `spark.read.format(name)` and `spark.readStream.format(name)` find our sources.

    Workers find them by the package, which has to be installed where they run.
    """
    for source in SOURCES:
        spark.dataSource.register(source)
