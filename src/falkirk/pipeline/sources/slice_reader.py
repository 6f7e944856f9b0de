"""Reads slices in workers, for batches and streams alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.pipeline.errors import PipelineError
from falkirk.pipeline.readers.origin import Origin
from falkirk.pipeline.readers.problem_rows import unreadable_row
from falkirk.pipeline.sources.file_slice import FileSlice
from falkirk.pipeline.sources.spark_rows import spark_batches
from falkirk.pipeline.tables.clusters import PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.datasource import InputPartition
    from pyspark.sql.types import StructType

    from falkirk.pipeline.readers.problem_rows import Row
    from falkirk.pipeline.sources.file_format import FileFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceReader:
    """Gives the rows of slices, or (`problems`) what is wrong with them. It is pickled: it holds no open file."""

    form: FileFormat
    schema: StructType
    problems: bool
    # Whether what cannot be read (any more) has no rows, instead of stopping the query.
    skips_unreadable: bool = False

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Give the rows of a slice as Spark takes them.

        Raises PipelineError where the file cannot be read any more, unless that is to be skipped; among problems that
        is a row.
        """
        # Where there is nothing to read Spark makes up a partition of its own.
        if not isinstance(partition, FileSlice):
            return
        if self.problems:
            rows = self._problems(partition)
            yield from spark_batches([PROBLEMS.rows(rows)] if rows else [], self.schema)
        elif partition.told is None:
            yield from spark_batches(self._rows(partition), self.schema)

    def _rows(self, piece: FileSlice) -> Iterator[pa.RecordBatch]:
        try:
            yield from self.form.read(piece, [])
        except OSError as error:
            if not self.skips_unreadable:
                raise PipelineError(f"{piece.uri}: {error}") from error

    def _problems(self, piece: FileSlice) -> list[Row]:
        origin = Origin(source=piece.uri, node_id=piece.node_id)
        if piece.told is not None:
            return [unreadable_row(origin, piece.told)]
        rows: list[Row] = []
        try:
            for _ in self.form.read(piece, rows):
                pass
        except OSError as error:
            rows.append(unreadable_row(origin, f"{error}"))
        return rows
