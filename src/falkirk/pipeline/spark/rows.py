"""Schemas and rows in Spark's types: times in microseconds, comments in the metadata of fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import StructField, StructType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from falkirk.pipeline.tables.table import Table


def spark_schema(table: Table) -> StructType:
    """Return a table's columns without `cluster`."""
    return StructType([_field(field) for field in table.schema])


def no_rows(spark: SparkSession, schema: StructType) -> DataFrame:
    """Return a frame without rows. What Spark makes of it, it leaves out of its plans."""
    return spark.createDataFrame([], schema).filter(sf.lit(False))


def spark_batches(batches: Iterable[pa.RecordBatch], schema: StructType) -> Iterator[pa.RecordBatch]:
    """Cast rows of a table to the types that Spark accepts from a data source."""
    target = to_arrow_schema(schema, timezone="UTC")
    for batch in batches:
        yield batch.cast(target)


def _field(field: pa.Field[pa.DataType]) -> StructField:
    comment = (field.metadata or {}).get(b"comment", b"").decode()
    return StructField(field.name, from_arrow_type(field.type), field.nullable, {"comment": comment})
