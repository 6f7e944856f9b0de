"""`log_dirs`: data directories as rows of the table of that name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from falkirk.pipeline.errors import PipelineError
from falkirk.pipeline.inventory import find_fleet
from falkirk.pipeline.sources.source_options import parse_options
from falkirk.pipeline.spark.rows import spark_batches, spark_schema
from falkirk.pipeline.state.metadata.log_dir_rows import log_dir_row
from falkirk.pipeline.tables.clusters import LOG_DIRS, PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping, Sequence

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from falkirk.pipeline.fleet import FleetLogDir
    from falkirk.pipeline.inventory import Fleet
    from falkirk.pipeline.readers.problem_rows import Row


class LogDirsSource(DataSource):
    """Data source `log_dirs`; paths are directories, patterns, URIs and inventory files."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._settings = parse_options(self.name(), options)

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return "log_dirs"

    def schema(self) -> StructType:
        """Return the columns. Raises InventoryError."""
        self._fleet()
        return spark_schema(PROBLEMS if self._settings.problems else LOG_DIRS)

    def reader(self, schema: StructType) -> LogDirsReader:
        """Return the reader of a batch query."""
        return LogDirsReader(self._fleet(), schema, problems=self._settings.problems)

    def _fleet(self) -> Fleet:
        return find_fleet(self._settings.paths)


@dataclass(frozen=True, kw_only=True)
class LogDirSlice(InputPartition):
    """One directory; or rows of `problems` found before."""

    log_dir: FleetLogDir | None = None
    rows: tuple[Row, ...] = ()


class LogDirsReader(DataSourceReader):
    """Reads one directory at a time."""

    def __init__(self, fleet: Fleet, schema: StructType, *, problems: bool) -> None:
        self._fleet = fleet
        self._schema = schema
        self._problems = problems

    def partitions(self) -> Sequence[InputPartition]:
        """Make a slice of each directory."""
        if self._problems:
            return [LogDirSlice(rows=tuple(row for rows in self._fleet.problems.values() for row in rows))]
        nodes = [node for cluster in self._fleet.clusters for node in cluster.nodes]
        return [LogDirSlice(log_dir=log_dir) for node in nodes for log_dir in node.log_dirs]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the row of a directory, in a worker. Raises PipelineError if it cannot be read."""
        if not isinstance(partition, LogDirSlice):
            return
        if partition.log_dir is None:
            yield from spark_batches([PROBLEMS.rows(partition.rows)] if partition.rows else [], self._schema)
            return
        node_id = partition.log_dir.meta.node_id
        assert node_id is not None, "an inventory has the directories of nodes"
        try:
            row = log_dir_row(partition.log_dir, node_id)
        except OSError as error:
            raise PipelineError(f"{partition.log_dir.location.uri}: {error}") from error
        yield from spark_batches([LOG_DIRS.rows([row])], self._schema)
