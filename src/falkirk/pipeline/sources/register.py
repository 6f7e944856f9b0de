"""Registers the data sources with Spark."""

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
    """Make the data sources available to `spark.read.format(name)`.

    The package falkirk must be installed where Spark's workers run.
    """
    for source in SOURCES:
        spark.dataSource.register(source)
