"""The tables of a warehouse as Spark DataFrames."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from falkirk.pipeline.spark.rows import spark_schema
from falkirk.pipeline.spark.session import is_remote
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.tables.table import CLUSTER, CLUSTER_COMMENT
from falkirk.pipeline.warehouse.delta import data_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

    from falkirk.pipeline.tables.table import Table
    from falkirk.pipeline.warehouse.commit import Mark
    from falkirk.pipeline.warehouse.warehouse import Warehouse

# No path has it.
_BETWEEN: Final = "\0"
_SCHEMES: Final = {"s3": "s3a"}
_LISTED_BY_DRIVER: Final = "spark.sql.sources.parallelPartitionDiscovery.threshold"


class FleetTables(Mapping[str, "DataFrame"]):
    """Name -> DataFrame over the data files of a commit, by default the last one; column `cluster` comes last.

    A table is read on first access; one without rows is empty, not absent. Later commits change nothing here. With
    `clusters`, the tables have only these.
    """

    def __init__(
        self,
        spark: SparkSession,
        warehouse: Warehouse,
        mark: Mark | None = None,
        *,
        clusters: Collection[str] | None = None,
    ) -> None:
        self.mark = warehouse.mark() if mark is None else mark
        self._spark = spark
        self._warehouse = warehouse
        self._clusters = clusters
        self._frames: dict[str, DataFrame] = {}
        # The driver finds a few thousand local files faster than a job of Spark; in a store each is a request.
        spark.conf.set(_LISTED_BY_DRIVER, "100000" if warehouse.is_local else "32")

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self._frames:
            self._frames[name] = self._read(TABLES[name])
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(TABLES)

    def __len__(self) -> int:
        return len(TABLES)

    def _read(self, table: Table) -> DataFrame:
        # Spark puts partition columns, which come from paths, behind all others.
        schema = spark_schema(table).add(CLUSTER, "string", metadata={"comment": CLUSTER_COMMENT})
        version = self.mark.versions.get(table.name)
        uri = self._warehouse.table_uri(table.name)
        paths = [] if version is None else data_files(uri, version, self._clusters)
        if not paths:
            return self._spark.createDataFrame([], schema)
        root = f"{spark_uri(self._warehouse)}/{table.name}"
        reader = self._spark.read.schema(schema).option("basePath", root)
        return _parquet(self._spark, reader, [f"{root}/{path}" for path in paths])


def _parquet(spark: SparkSession, reader: DataFrameReader, paths: Sequence[str]) -> DataFrame:
    """Read Parquet files: all paths go to Spark's JVM as one text, for Py4J takes a call for each element of a list."""
    if is_remote(spark):
        return reader.parquet(*paths)
    jvm, jreader = spark._jvm, reader._jreader  # noqa: SLF001 - there is no other way past Py4J's lists
    assert jvm is not None, "the session runs"
    texts = jvm.java.util.regex.Pattern.compile(_BETWEEN).split(_BETWEEN.join(paths))
    return reader._df(jreader.parquet(texts))  # noqa: SLF001 - same


def spark_uri(warehouse: Warehouse) -> str:
    """Return the warehouse's URI as Spark spells it: Hadoop's name for S3 is s3a."""
    scheme, separator, rest = warehouse.uri.partition("://")
    return f"{_SCHEMES.get(scheme, scheme)}://{rest}" if separator else f"file://{warehouse.uri}"
