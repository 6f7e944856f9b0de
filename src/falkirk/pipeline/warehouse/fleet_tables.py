"""The tables of a warehouse as Spark DataFrames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from falkirk.pipeline.spark.rows import no_rows, spark_schema
from falkirk.pipeline.spark.session import is_remote
from falkirk.pipeline.spark.tasks import TASK_BYTES, spread, unpacked
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.tables.table import CLUSTER, CLUSTER_COMMENT
from falkirk.pipeline.warehouse.cluster_rows import ClusterRows, rows_in_files, with_cluster
from falkirk.pipeline.warehouse.delta import data_files
from falkirk.pipeline.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

    from falkirk.pipeline.tables.table import Table
    from falkirk.pipeline.warehouse.commit import Mark

# No path has it.
_BETWEEN: Final = "\0"
_SCHEMES: Final = {"s3": "s3a"}
_LISTED_BY_DRIVER: Final = "spark.sql.sources.parallelPartitionDiscovery.threshold"
# Spark's reader takes some milliseconds for each file, PyArrow hardly one; but what PyArrow reads goes to Spark by a
# pipe.
_MANY: Final = 64
_SMALL_BYTES: Final = 1 << 14
_BATCH_ROWS: Final = 1 << 14
_SHARE_BYTES: Final = TASK_BYTES

ClusterWork = Callable[[ClusterRows], pa.Table]
"""What a worker makes of one cluster; the rows lack the column `cluster`."""


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
        self._given: frozenset[str] = frozenset()
        self._paths: dict[str, dict[str, int]] = {}
        # The driver finds a few thousand local files faster than a job of Spark; in a store each is a request.
        spark.conf.set(_LISTED_BY_DRIVER, "100000" if warehouse.is_local else "32")

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self._frames:
            self._frames[name] = self._read(TABLES[name])
        return self._frames[name]

    def __or__(self, given: Mapping[str, DataFrame]) -> FleetTables:
        """Return these tables with others, or others in their places."""
        made = self.keeping(given)
        made._given = self._given | given.keys()
        return made

    def keeping(self, frames: Mapping[str, DataFrame]) -> FleetTables:
        """Return these tables, some of them as frames that have the same rows, and the columns that are asked for."""
        made = FleetTables(self.spark, self._warehouse, self.mark, clusters=self._clusters)
        made._frames = self._frames | dict(frames)
        made._given = self._given - frames.keys()
        made._paths = self._paths
        return made

    def __contains__(self, name: object) -> bool:
        return name in TABLES or name in self._given

    def chosen(self, table: Table, columns: Sequence[str]) -> DataFrame:
        """Return columns of a table. Many small files are read by PyArrow in the workers."""
        files = {} if table.name in self._frames else self._files(table)
        if len(files) < _MANY or sum(files.values()) > len(files) * _SMALL_BYTES:
            return self[table.name].select(*columns)
        names = [name for name in columns if name != CLUSTER]
        schema = pa.schema([table.schema.field(name) for name in names])
        return self.each_cluster([table], partial(columns_of, table=table.name, names=names), schema).select(*columns)

    def each_cluster(
        self, tables: Iterable[Table], work: ClusterWork, schema: pa.Schema, *, shared: bool = False
    ) -> DataFrame:
        """Return the rows that `work` makes, in a worker, of each cluster with rows in one of the tables.

        The name of their cluster comes first. With `shared`, a large cluster is worked on in shares.
        """
        target = rows_schema(schema)
        units = self.units(tables, shared=shared)
        if not units:
            return no_rows(self.spark, target)
        rows, _ = spread(self.spark, units, [unit.size for unit in units])
        return rows.mapInArrow(partial(_work_on, uri=self.uri, work=work, target=arrow_schema(schema)), target)

    @property
    def uri(self) -> str:
        """Where the warehouse is."""
        return self._warehouse.uri

    def are_files(self, tables: Iterable[Table]) -> bool:
        """Return whether these tables are all as the warehouse has them."""
        return self._given.isdisjoint(table.name for table in tables)

    def has_rows(self, table: Table) -> bool:
        """Return whether the warehouse has rows of a table."""
        return bool(self._files(table))

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*TABLES, *self._given]))

    def __len__(self) -> int:
        return len(TABLES.keys() | self._given)

    def _read(self, table: Table) -> DataFrame:
        schema = _full_schema(table)
        paths = self._files(table)
        if not paths:
            return no_rows(self.spark, schema)
        root = f"{spark_uri(self._warehouse)}/{table.name}"
        reader = self.spark.read.schema(schema).option("basePath", root)
        return _parquet(self.spark, reader, [f"{root}/{path}" for path in paths])

    def _files(self, table: Table) -> dict[str, int]:
        name = table.name
        if name not in self._paths:
            version, uri = self.mark.versions.get(name), self._warehouse.table_uri(name)
            self._paths[name] = {} if version is None else data_files(uri, version, self._clusters)
        return self._paths[name]

    def units(self, tables: Iterable[Table], *, shared: bool) -> list[Unit]:
        """Return a unit for each cluster with rows in one of the tables; with `shared` for each share of it."""
        paths: dict[str, dict[str, list[str]]] = {}
        sizes: Counter[str] = Counter()
        for table in tables:
            for path, size in self._files(table).items():
                cluster = path.partition("/")[0].removeprefix(f"{CLUSTER}=")
                paths.setdefault(cluster, {}).setdefault(table.name, []).append(path)
                sizes[cluster] += size
        return [
            Unit(cluster, of_cluster, share, shares, sizes[cluster] // shares)
            for cluster, of_cluster in paths.items()
            for shares in [1 + sizes[cluster] // _SHARE_BYTES if shared else 1]
            for share in range(shares)
        ]


class Unit(NamedTuple):
    """The work on a share of a cluster: paths of data files by table, and their size in bytes."""

    cluster: str
    paths: dict[str, list[str]]
    share: int
    shares: int
    size: int


def rows_schema(schema: pa.Schema) -> StructType:
    """Return the schema of the rows that workers make of clusters: the name of the cluster comes first."""
    return StructType([StructField(CLUSTER, StringType()), *from_arrow_schema(schema)])


def arrow_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of the same rows in Arrow, in the types that Spark takes and gives."""
    return to_arrow_schema(rows_schema(schema), timezone="UTC")


def _full_schema(table: Table) -> StructType:
    # Spark puts partition columns, which come from paths, behind all others.
    return spark_schema(table).add(CLUSTER, "string", metadata={"comment": CLUSTER_COMMENT})


def _work_on(
    batches: Iterable[pa.RecordBatch], *, uri: str, work: ClusterWork, target: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Work on clusters in a worker; what comes of small ones is handed over together."""
    warehouse = Warehouse(uri)
    waiting: list[pa.Table] = []
    count = 0
    for unit in unpacked(batches):
        with unit_rows(warehouse, unit) as rows:
            found = with_cluster(work(rows), unit.cluster).cast(target)
        waiting.append(found)
        count += found.num_rows
        if count >= _BATCH_ROWS:
            yield from _batches(waiting)
            waiting, count = [], 0
    yield from _batches(waiting)


def _batches(tables: Sequence[pa.Table]) -> Iterator[pa.RecordBatch]:
    if tables:
        yield from pa.concat_tables(tables).combine_chunks().to_batches(max_chunksize=_BATCH_ROWS)


def unit_rows(warehouse: Warehouse, unit: Unit) -> AbstractContextManager[ClusterRows]:
    """Open the rows of a unit, in a worker."""
    return rows_in_files(warehouse, unit.paths, share=unit.share, shares=unit.shares)


def columns_of(rows: ClusterRows, *, table: str, names: Sequence[str]) -> pa.Table:
    """Return columns of all rows of a table, as `ClusterWork`."""
    return rows.read(TABLES[table], *names)


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
