"""Live topics through Spark's own Kafka connector, which is a package of its own; docs/reference/fleet-sources.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from falkirk.pipeline.errors import SparkUnavailableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def require_connector(spark: SparkSession) -> None:
    """Make sure that Spark has its Kafka connector; nothing is read. Raises SparkUnavailableError."""
    try:
        # No broker is asked before rows are.
        spark.read.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:9").option("subscribe", "any").load()
    except AnalysisException as error:
        raise SparkUnavailableError(
            "Spark has no Kafka connector: start it with the package "
            f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version} (spark.jars.packages), "
            "or with the jars of that package (spark.jars)"
        ) from error
