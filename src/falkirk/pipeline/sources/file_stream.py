"""Growing files as a stream, whose offset is how far each file was read, always a border of batches or lines.

    {"/d0/__cluster_metadata-0/00000000000000000000.log": 1048576, ...}

A file without an offset is read from its start. A file that is gone, was truncated, or was replaced stops the stream
or, with option failOnDataLoss=false, is a row of `problems`: then its offset vanishes, or falls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, SupportsTriggerAvailableNow

from falkirk.pipeline.errors import PipelineError
from falkirk.pipeline.filesystem import open_location
from falkirk.pipeline.readers.splits import FileRange
from falkirk.pipeline.sources.file_slice import FileSlice
from falkirk.pipeline.sources.log_files import LogFile, NothingFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql.datasource import InputPartition
    from pyspark.sql.streaming.datasource import ReadLimit

    from falkirk.pipeline.filesystem import Location
    from falkirk.pipeline.sources.slice_reader import SliceReader
    from falkirk.pipeline.sources.source_options import SourceOptions

    Offsets = dict[str, int]


class FileStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads files as they grow."""

    def __init__(self, find: Callable[[], list[LogFile]], settings: SourceOptions, slices: SliceReader) -> None:
        self._find = find
        self._settings = settings
        self._format = slices.file_format
        self._slices = slices
        # With the trigger availableNow: sizes at its start; nothing behind them is read.
        self._limits: Offsets | None = None

    def initialOffset(self) -> Offsets:  # noqa: N802 - Spark's names, here and below
        """Begin at the start of every file. Raises InventoryError if there is none."""
        self._find()
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return how much a micro-batch reads."""
        limit = self._settings.bytes_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxBytes(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Remember the current sizes as limits."""
        self._limits = {uri: _size(file.location) for uri, file in self._files().items()}

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802
        """Return how far all files can be read now; a limit is exceeded by less than one batch or line."""
        files = self._files()
        for uri in start.keys() - files.keys():
            self._lost(_gone(uri, start[uri]))
        left = limit.max_bytes if isinstance(limit, ReadMaxBytes) else None
        offsets: Offsets = {}
        for uri, file in files.items():
            position = start.get(uri, 0)
            if left is not None and left <= 0:
                end = position
            else:
                end = self._end(file.location, position, left)
                left = None if left is None else left - (end - position)
            if end or uri in start:
                offsets[uri] = end
        return offsets

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """Cut the new bytes into slices; a lost file is a slice with a problem."""
        slices = [self._problem(uri, _gone(uri, start[uri])) for uri in start.keys() - end.keys()]
        for uri, stop in end.items():
            begin = start.get(uri, 0)
            if stop < begin:
                slices.append(self._problem(uri, _cut(uri, begin)))
            else:
                slices += self._new(uri, begin, stop)
        return slices

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a slice, in a worker."""
        return self._slices.read(partition)

    def _files(self) -> dict[str, LogFile]:
        try:
            found = {file.location.uri: file for file in self._find()}
        except NothingFoundError:
            # Files read before are reported as gone; new files may come.
            found = {}
        return dict(sorted(found.items()))

    def _end(self, location: Location, position: int, bytes_max: int | None) -> int:
        size = _size(location)
        if size < position or not self._format.begins_at(location, position):
            self._lost(_cut(location.uri, position))
            return 0 if self._format.restarts else self._format.whole_end(location, 0, min(size, position), None)
        if self._limits is not None:
            size = max(min(size, self._limits.get(location.uri, 0)), position)
        return self._format.whole_end(location, position, size, bytes_max)

    def _new(self, uri: str, begin: int, stop: int) -> list[FileSlice]:
        file = LogFile.at(open_location(uri))
        try:
            ranges = self._format.split(file.location, self._settings.split_bytes, start=begin, end=stop)
        except OSError:
            # The worker reports that it cannot be read, or stops the query.
            ranges = [FileRange(begin, stop)]
        return [FileSlice(uri=uri, node_id=file.node_id, start=first, end=last) for first, last in ranges]

    def _problem(self, uri: str, sentence: str) -> FileSlice:
        return FileSlice(uri=uri, node_id=LogFile.at(open_location(uri)).node_id, problem=sentence)

    def _lost(self, sentence: str) -> None:
        if self._settings.fail_on_data_loss:
            raise PipelineError(f"{sentence}; with option failOnDataLoss=false the stream goes on")


def _size(location: Location) -> int:
    return location.disk.size(location.path)


def _gone(uri: str, position: int) -> str:
    return f"{uri}: the file is gone; it was read up to byte {position}"


def _cut(uri: str, position: int) -> str:
    return f"{uri}: the file was read up to byte {position}, and is shorter or another one now"
