"""The tables of a warehouse as Spark DataFrames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.tables.table import CLUSTER, comment_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from falkirk.pipeline.ingest.warehouse import Warehouse
    from falkirk.pipeline.tables.table import Table


class FleetTables(Mapping[str, "DataFrame"]):
    """Name -> DataFrame, of the data files that count at the moment of making; column `cluster` comes last.

    A table is looked up when it is asked for; one without rows is empty, not absent.
    """

    def __init__(self, spark: SparkSession, warehouse: Warehouse) -> None:
        self._spark = spark
        self._warehouse = warehouse
        self._manifests = warehouse.manifests()
        self._frames: dict[str, DataFrame] = {}

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self._frames:
            self._frames[name] = self._read(TABLES[name])
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(TABLES)

    def __len__(self) -> int:
        return len(TABLES)

    def _read(self, table: Table) -> DataFrame:
        schema = spark_schema(table)
        paths = [file.path for manifest in self._manifests for file in manifest.files(table.name)]
        if not paths:
            return self._spark.createDataFrame([], schema)
        root = spark_uri(self._warehouse)
        reader = self._spark.read.schema(schema).option("basePath", f"{root}/{table.name}")
        return reader.parquet(*(f"{root}/{path}" for path in paths))


def spark_schema(table: Table) -> StructType:
    """Give a table's columns as Spark has them, comments included, `cluster` last as Spark puts what is in paths."""
    fields = [*table.schema, table.full_schema.field(CLUSTER)]
    schema = StructType([])
    for field in fields:
        [of_spark] = from_arrow_schema(pa.schema([field])).fields
        schema.add(of_spark.name, of_spark.dataType, True, {"comment": comment_of(field)})
    return schema


def spark_uri(warehouse: Warehouse) -> str:
    """Give the warehouse's place as Spark calls it: Hadoop's name for S3 is s3a."""
    scheme, separator, rest = warehouse.uri.partition("://")
    return f"{_SCHEMES.get(scheme, scheme)}://{rest}" if separator else f"file://{warehouse.uri}"


_SCHEMES: Final = {"s3": "s3a"}
