"""Formats of source files: where they can be cut, and how bytes become rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from falkirk.columnar.report import ReadReport
from falkirk.pipeline.filesystem import open_location
from falkirk.pipeline.readers.chunks import iter_chunks
from falkirk.pipeline.readers.file_tail import tail_problem
from falkirk.pipeline.readers.lines import iter_line_chunks, last_line_end, next_line
from falkirk.pipeline.readers.metadata_records import SNAPSHOT_SUFFIX
from falkirk.pipeline.readers.origin import Origin
from falkirk.pipeline.readers.problem_rows import problem_rows
from falkirk.pipeline.readers.requests import RequestReport, read_requests
from falkirk.pipeline.readers.splits import split_file, split_text_file
from falkirk.pipeline.tables.requests import REQUESTS
from falkirk.storage.batch_borders import iter_borders

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

    def split(self, location: Location, split_bytes: int, *, start: int = 0, end: int | None = None) -> list[FileRange]:
        """Cut bytes of a file (None: to its end) into ranges, the last of which includes an incomplete end."""
        ...

    def whole_end(self, location: Location, start: int, size: int, bytes_max: int | None) -> int:
        """Return how far a growing file of `size` bytes can be read now.

        That is a border behind `start`, at most `bytes_max` further unless one batch or line takes more; `start` if
        nothing more is complete. Damaged bytes count as complete, unlike unfinished ones: their reader reports them.
        """
        ...

    def begins_at(self, location: Location, position: int) -> bool:
        """Return whether a batch or line can begin there; if not, the file has been replaced."""
        ...

    def read(self, piece: FileSlice, problems: list[Row]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a slice; `problems` is complete when they are exhausted."""
        ...

    @property
    def restarts(self) -> bool:
        """Whether a file that became shorter is a new one, to be read from its start; otherwise it was truncated."""
        ...


@dataclass(frozen=True, slots=True)
class BatchFormat:
    """Logs and snapshots; `rows` converts their batches to rows."""

    table: Table
    rows: Callable[[Iterable[Chunk], Origin, ReadReport], Iterator[pa.RecordBatch]]
    restarts: bool = False

    def split(self, location: Location, split_bytes: int, *, start: int = 0, end: int | None = None) -> list[FileRange]:
        """Cut between batches."""
        return split_file(location, split_bytes, start=start, end=end)

    def whole_end(self, location: Location, start: int, size: int, bytes_max: int | None) -> int:
        """Return the end of the last whole batch; the end of the file if damage follows it."""
        disk, path = location.disk, location.path
        last = start
        for border in iter_borders(disk, path, start, size):
            if bytes_max is not None and border - start > bytes_max and last > start:
                return last
            last = border
        if last == size:
            return last
        # A snapshot gets its name when it is complete, and does not grow.
        is_complete = path.endswith(SNAPSHOT_SUFFIX)
        return size if is_complete or tail_problem(disk, path, last, size).kind != "torn tail" else last

    def begins_at(self, location: Location, position: int) -> bool:
        """Return True: only reading the batch would show it."""
        del location, position
        return True

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
    restarts: bool = True

    def split(self, location: Location, split_bytes: int, *, start: int = 0, end: int | None = None) -> list[FileRange]:
        """Cut between lines."""
        return split_text_file(location, split_bytes, start=start, end=end)

    def whole_end(self, location: Location, start: int, size: int, bytes_max: int | None) -> int:
        """Return the end of the last whole line."""
        disk, path = location.disk, location.path
        limit = size if bytes_max is None else min(start + bytes_max, size)
        end = last_line_end(disk, path, start, limit)
        if end == start and limit < size:
            end = next_line(disk, path, limit, size)
            return last_line_end(disk, path, start, end)
        return end

    def begins_at(self, location: Location, position: int) -> bool:
        """Return whether a line ends before the position."""
        return position == 0 or location.disk.read(location.path, position - 1, 1) == b"\n"

    def read(self, piece: FileSlice, problems: list[Row]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the lines of a slice."""
        report, origin = RequestReport(), Origin(source=piece.uri, node_id=piece.node_id)
        location = open_location(piece.uri)
        chunks = iter_line_chunks(location.disk, location.path, start=piece.start, end=piece.end)
        yield from read_requests(chunks, origin, report, zone=self.zone)
        problems += report.problem_rows(origin)
