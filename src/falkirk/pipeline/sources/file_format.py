"""Formats of source files: where they can be cut, and how bytes become rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from falkirk.columnar.report import ReadReport
from falkirk.pipeline.filesystem import open_location
from falkirk.pipeline.readers.chunks import iter_chunks
from falkirk.pipeline.readers.lines import iter_line_chunks
from falkirk.pipeline.readers.origin import Origin
from falkirk.pipeline.readers.problem_rows import problem_rows
from falkirk.pipeline.readers.requests import RequestReport, read_requests
from falkirk.pipeline.readers.splits import split_file, split_text_file
from falkirk.pipeline.tables.requests import REQUESTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import tzinfo

    import pyarrow as pa

    from falkirk.pipeline.filesystem import Location
    from falkirk.pipeline.readers.chunks import Chunk
    from falkirk.pipeline.readers.problem_rows import Row
    from falkirk.pipeline.readers.splits import FileRange
    from falkirk.pipeline.sources.file_slice import FileSlice
    from falkirk.pipeline.tables.table import Table


class FileFormat(Protocol):
    """A kind of files, and the table of their rows. Positions are bytes of a file; all methods may raise OSError."""

    @property
    def table(self) -> Table:
        """The table of the rows."""
        ...

    def split(self, location: Location, split_bytes: int) -> list[FileRange]:
        """Cut a file into ranges, the last of which includes an incomplete end."""
        ...

    def read(self, piece: FileSlice, problems: list[Row]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a slice; `problems` is complete when they are exhausted."""
        ...


@dataclass(frozen=True, slots=True)
class BatchFormat:
    """Logs and snapshots; `rows` converts their batches to rows."""

    table: Table
    rows: Callable[[Iterable[Chunk], Origin, ReadReport], Iterator[pa.RecordBatch]]

    def split(self, location: Location, split_bytes: int) -> list[FileRange]:
        """Cut between batches."""
        return split_file(location, split_bytes)

    def read(self, piece: FileSlice, problems: list[Row]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the batches of a slice."""
        report, origin = ReadReport(), Origin(source=piece.uri, node_id=piece.node_id)
        location = open_location(piece.uri)
        chunks = iter_chunks(location.disk, location.path, report, start=piece.start, end=piece.end)
        yield from self.rows(chunks, origin, report)
        problems += problem_rows(report, origin)


@dataclass(frozen=True, slots=True)
class RequestLogFormat:
    """Request logs; `zone` applies to times without one."""

    zone: tzinfo
    table: Table = REQUESTS

    def split(self, location: Location, split_bytes: int) -> list[FileRange]:
        """Cut between lines."""
        return split_text_file(location, split_bytes)

    def read(self, piece: FileSlice, problems: list[Row]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the lines of a slice."""
        report, origin = RequestReport(), Origin(source=piece.uri, node_id=piece.node_id)
        location = open_location(piece.uri)
        chunks = iter_line_chunks(location.disk, location.path, start=piece.start, end=piece.end)
        yield from read_requests(chunks, origin, report, zone=self.zone)
        problems += report.problem_rows(origin)
