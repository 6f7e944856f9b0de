"""The segments of a coordinator's partition: their end offset, and their records in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from falkirk.columnar.report import ReadReport
from falkirk.pipeline.readers.chunks import iter_chunks
from falkirk.pipeline.readers.origin import Origin
from falkirk.pipeline.readers.problem_rows import problem_rows, unreadable_row
from falkirk.protocol.record_batch import HEADER, HEADER_BYTES
from falkirk.storage.batch_borders import iter_borders
from falkirk.storage.partition_log import list_partition
from falkirk.storage.segment import SegmentFile, format_segment_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

    from falkirk.pipeline.filesystem import Location
    from falkirk.pipeline.readers.chunks import Chunk

    SegmentReader = Callable[[Iterable[Chunk], Origin, ReadReport], Iterator[pa.RecordBatch]]
    Row = dict[str, Any]  # Any: values of columns


CHUNK_BYTES: Final = 8 * 1024 * 1024
"""A chunk's records are in memory several times while they become rows: chunks of 32 MB need half a gigabyte,
and are no faster.
"""


def segments_of(directory: Location) -> list[Location]:
    """Return the `.log` files of a partition in offset order. Raises OSError."""
    bases = list_partition(directory.disk, directory.path).segments
    return [directory / format_segment_file(SegmentFile(base_offset=base, kind="log")) for base in bases]


def read_partition(
    directory: Location, node_id: int | None, read: SegmentReader, problems: list[Row]
) -> Iterator[pa.RecordBatch]:
    """Yield what `read` makes of each segment; rows of table `problems` are added to `problems`.

    A segment that cannot be read is a problem, and the segments behind it are still read. Raises OSError if the
    directory itself cannot be listed.
    """
    for location in segments_of(directory):
        origin = Origin(source=location.uri, node_id=node_id)
        report = ReadReport()
        try:
            chunks = iter_chunks(location.disk, location.path, report, chunk_bytes=CHUNK_BYTES)
            yield from read(chunks, origin, report)
        except OSError as error:
            problems.append(unreadable_row(origin, f"{location.uri}: {error}"))
        problems += problem_rows(report, origin)


def end_offset(directory: Location) -> int:
    """Return the offset behind the last whole batch of a partition; 0 if there is none. Raises OSError."""
    for location in reversed(segments_of(directory)):
        disk, path = location.disk, location.path
        start = end = 0
        try:
            for border in iter_borders(disk, path, 0, disk.size(path)):
                start, end = end, border
            header = disk.read(path, start, HEADER_BYTES) if end else b""
        except OSError:
            continue  # reported where the segment is read
        if header:
            base_offset, _, _, _, _, _, last_offset_delta, *_ = HEADER.unpack(header)
            return int(base_offset + last_offset_delta + 1)
    return 0
