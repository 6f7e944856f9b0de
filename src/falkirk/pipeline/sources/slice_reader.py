"""Reads slices in workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.pipeline.errors import PipelineError
from falkirk.pipeline.readers.origin import Origin
from falkirk.pipeline.readers.problem_rows import unreadable_row
from falkirk.pipeline.sources.file_slice import FileSlice
from falkirk.pipeline.spark.rows import spark_batches
from falkirk.pipeline.tables.clusters import PROBLEMS
from falkirk.pipeline.tables.redaction import redacted

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.datasource import InputPartition
    from pyspark.sql.types import StructType

    from falkirk.pipeline.readers.problem_rows import Row
    from falkirk.pipeline.sources.file_format import FileFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceReader:
    """Reads the rows of slices or, with `problems`, what is wrong with them. It is pickled: it holds no open file."""

    file_format: FileFormat
    schema: StructType
    problems: bool
    # Whether rows have passwords and SCRAM credentials.
    keep_secrets: bool = False

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a slice in Spark's types.

        Raises PipelineError if the file can no longer be read; with `problems` that is a row.
        """
        # With nothing to read, Spark passes a partition of its own.
        if not isinstance(partition, FileSlice):
            return
        if self.problems:
            rows = self._problems(partition)
            yield from spark_batches([PROBLEMS.rows(rows)] if rows else [], self.schema)
        else:
            yield from spark_batches(self._rows(partition), self.schema)

    def _rows(self, piece: FileSlice) -> Iterator[pa.RecordBatch]:
        try:
            for rows in self.file_format.read(piece, []):
                yield rows if self.keep_secrets else redacted(self.file_format.table.name, rows)
        except OSError as error:
            raise PipelineError(f"{piece.uri}: {error}") from error

    def _problems(self, piece: FileSlice) -> list[Row]:
        origin = Origin(source=piece.uri, node_id=piece.node_id)
        rows: list[Row] = []
        try:
            for _ in self.file_format.read(piece, rows):
                pass
        except OSError as error:
            rows.append(unreadable_row(origin, f"{error}"))
        return rows
