"""The tables of a warehouse as Spark DataFrames."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from falkirk.pipeline.spark.rows import spark_schema
from falkirk.pipeline.spark.session import is_remote
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.tables.table import CLUSTER, CLUSTER_COMMENT
from falkirk.pipeline.warehouse.delta import data_files
from falkirk.pipeline.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

    from falkirk.pipeline.tables.table import Table
    from falkirk.pipeline.warehouse.commit import Mark

# No path has it.
_BETWEEN: Final = "\0"
_SCHEMES: Final = {"s3": "s3a"}
_LISTED_BY_DRIVER: Final = "spark.sql.sources.parallelPartitionDiscovery.threshold"
# Spark's reader takes some milliseconds for each file, PyArrow hardly one; but what PyArrow reads goes to Spark by a
# pipe, so of larger files only a part of the rows may.
_MANY: Final = 64
_SMALL_BYTES: Final = 1 << 14
_CHOSEN_BYTES: Final = 1 << 20
_PATH: Final = "path"
_BATCH_ROWS: Final = 1 << 14
Only = Mapping[str, Sequence[Any]]  # Any: values of columns
EVERYTHING: Final[Only] = {}


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
        self.spark = spark
        self._warehouse = warehouse
        self._clusters = clusters
        self._frames: dict[str, DataFrame] = {}
        self._given: dict[str, DataFrame] = {}
        self._paths: dict[str, dict[str, int]] = {}
        # The driver finds a few thousand local files faster than a job of Spark; in a store each is a request.
        spark.conf.set(_LISTED_BY_DRIVER, "100000" if warehouse.is_local else "32")

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self._frames:
            self._frames[name] = self._read(TABLES[name])
        return self._frames[name]

    def __or__(self, given: Mapping[str, DataFrame]) -> FleetTables:
        """Return these tables with others, or others in their places."""
        made = FleetTables(self.spark, self._warehouse, self.mark, clusters=self._clusters)
        made._given = self._given | dict(given)
        made._frames = self._frames | made._given
        made._paths = self._paths
        return made

    def __contains__(self, name: object) -> bool:
        return name in TABLES or name in self._given

    def chosen(self, name: str, columns: Sequence[str], only: Only = EVERYTHING) -> DataFrame:
        """Return columns of a table, and the rows that have one of the values `only` in each column of theirs.

        Many small files are read by PyArrow in the workers: Spark sees no more than is chosen.
        """
        files = {} if name in self._given else self._files(TABLES[name])
        size_max = _CHOSEN_BYTES if only else _SMALL_BYTES
        if len(files) >= _MANY and sum(files.values()) <= len(files) * size_max:
            return self._small_files(TABLES[name], list(files), columns, only)
        return chosen_rows(self[name], columns, only)

    def __iter__(self) -> Iterator[str]:
        return iter(TABLES | self._given)

    def __len__(self) -> int:
        return len(TABLES | self._given)

    def _read(self, table: Table) -> DataFrame:
        schema = _full_schema(table)
        paths = self._files(table)
        if not paths:
            return self.spark.createDataFrame([], schema)
        root = f"{spark_uri(self._warehouse)}/{table.name}"
        reader = self.spark.read.schema(schema).option("basePath", root)
        return _parquet(self.spark, reader, [f"{root}/{path}" for path in paths])

    def _files(self, table: Table) -> dict[str, int]:
        name = table.name
        if name not in self._paths:
            version, uri = self.mark.versions.get(name), self._warehouse.table_uri(name)
            self._paths[name] = {} if version is None else data_files(uri, version, self._clusters)
        return self._paths[name]

    def _small_files(self, table: Table, paths: Sequence[str], columns: Sequence[str], only: Only) -> DataFrame:
        schema = _full_schema(table)
        chosen = StructType([schema[name] for name in columns])
        files = self.spark.createDataFrame(pa.table({_PATH: paths}))
        read = partial(_read_files, uri=self._warehouse.uri, table=table.name, schema=chosen, only=dict(only))
        return files.mapInArrow(read, chosen)


def chosen_rows(frame: DataFrame, columns: Sequence[str], only: Only) -> DataFrame:
    """Return columns of a frame, and the rows that have one of the values `only` in each column of theirs."""
    for column, values in only.items():
        frame = frame.filter(sf.col(column).isin(list(values)))
    return frame.select(*columns)


def _full_schema(table: Table) -> StructType:
    # Spark puts partition columns, which come from paths, behind all others.
    return spark_schema(table).add(CLUSTER, "string", metadata={"comment": CLUSTER_COMMENT})


def _read_files(
    batches: Iterable[pa.RecordBatch], *, uri: str, table: str, schema: StructType, only: Only
) -> Iterator[pa.RecordBatch]:
    """Read data files of a table in a worker; a column that an older file lacks is null."""
    warehouse = Warehouse(uri)
    target = to_arrow_schema(schema, timezone="UTC")
    waiting: list[pa.Table] = []
    count = 0
    for batch in batches:
        for path in map(str, batch.column(_PATH).to_pylist()):
            rows = _read_file(warehouse, table, path, target, only)
            waiting.append(rows)
            count += rows.num_rows
            if count >= _BATCH_ROWS:
                yield from _batches(waiting)
                waiting, count = [], 0
    yield from _batches(waiting)


def _batches(tables: Sequence[pa.Table]) -> Iterator[pa.RecordBatch]:
    if tables:
        yield from pa.concat_tables(tables).combine_chunks().to_batches(max_chunksize=_BATCH_ROWS)


def _read_file(warehouse: Warehouse, table: str, path: str, target: pa.Schema, only: Only) -> pa.Table:
    wanted = list(dict.fromkeys([*target.names, *only]))
    with (
        warehouse.filesystem.open_input_file(warehouse.path(f"{table}/{path}")) as source,
        parquet.ParquetFile(source) as file,
    ):
        rows = file.read(columns=wanted, use_threads=False)
    for column, values in only.items():
        rows = rows.filter(pc.is_in(rows[column], value_set=pa.array(values, rows[column].type)))
    cluster = path.partition("/")[0].removeprefix(f"{CLUSTER}=")
    rows = rows.append_column(CLUSTER, pa.repeat(cluster, rows.num_rows))
    there = set(rows.schema.names)
    columns = [rows[name] if name in there else pa.nulls(rows.num_rows) for name in target.names]
    return pa.table(columns, names=target.names).cast(target)


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
