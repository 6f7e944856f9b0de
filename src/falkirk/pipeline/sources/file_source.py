"""Base of the file sources: Spark asks for a schema, for slices, and for the rows of a slice."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader

from falkirk.pipeline.sources.file_slice import FileSlice
from falkirk.pipeline.sources.slice_reader import SliceReader
from falkirk.pipeline.sources.source_options import parse_options
from falkirk.pipeline.spark.rows import spark_schema
from falkirk.pipeline.tables.clusters import PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping, Sequence

    import pyarrow as pa
    from pyspark.sql.datasource import InputPartition
    from pyspark.sql.types import StructType

    from falkirk.pipeline.sources.file_format import FileFormat
    from falkirk.pipeline.sources.log_files import LogFile
    from falkirk.pipeline.sources.source_options import SourceOptions


class FileSource(DataSource):
    """A data source on files, which can be cut into slices."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self.settings = parse_options(self.name(), options)

    @abstractmethod
    def files(self) -> list[LogFile]:
        """Find the files. Raises InventoryError, and OSError."""

    @abstractmethod
    def file_format(self) -> FileFormat:
        """Return the format of the files."""

    def schema(self) -> StructType:
        """Return the columns of the table, or of `problems`. Raises what `files` raises."""
        # A wrong path is reported now, not when rows are read.
        self.files()
        return spark_schema(PROBLEMS if self.settings.problems else self.file_format().table)

    def reader(self, schema: StructType) -> FileReader:
        """Return the reader of a batch query."""
        slices = SliceReader(
            file_format=self.file_format(),
            schema=schema,
            problems=self.settings.problems,
            keep_secrets=self.settings.keep_secrets,
        )
        return FileReader(self.files, self.settings, slices)


class FileReader(DataSourceReader):
    """Reads files as they are now."""

    def __init__(self, find: Callable[[], list[LogFile]], settings: SourceOptions, slices: SliceReader) -> None:
        self._find = find
        self._settings = settings
        self._slices = slices

    def partitions(self) -> Sequence[InputPartition]:
        """Cut all files into slices."""
        return [
            FileSlice(uri=file.location.uri, node_id=file.node_id, start=start, end=end)
            for file in self._find()
            for start, end in self._slices.file_format.split(file.location, self._settings.split_bytes)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a slice, in a worker."""
        return self._slices.read(partition)
