"""Loads the log of a coordinator's partition into a shard, a piece at a time (Kafka's CoordinatorLoaderImpl).

All of the log is read, including what is not committed yet: responses that depend on that wait for the commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from falkirk.coordinator.runtime.load_failure import LoadFailure
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record_batch import IncompleteBatchError, read_batch
from falkirk.storage.log.read import FetchIsolation

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.storage.log.unified_log import UnifiedLog


class ShardLoader(Protocol):
    """Applies the batches of a log to an empty shard, in the log's order."""

    @property
    def record_count(self) -> int:
        """The number of records and transaction markers that were applied."""
        ...

    @property
    def unknown_types(self) -> Mapping[int, int]:
        """The number of records that were skipped, by record type."""
        ...

    def apply_batch(self, batch: RecordBatch) -> LoadFailure | None:
        """Apply a batch; return what ends the load. Raises RemoteProtocolError if its records do not parse."""
        ...

    def finish(self) -> Generator[None, None, LoadFailure | None]:
        """Return what ends the load after the last batch, in slices."""
        ...


class ShardLoad:
    """`next_offset`, `bytes_read`: the progress. `is_done`: all of the log is loaded, and the loader has finished."""

    def __init__(self, loader: ShardLoader) -> None:
        self.next_offset = 0
        self.bytes_read = 0
        self.is_done = False
        self._loader = loader
        self._finishing: Generator[None, None, LoadFailure | None] | None = None

    @property
    def record_count(self) -> int:
        """The number of records and transaction markers that were loaded."""
        return self._loader.record_count

    @property
    def unknown_types(self) -> Mapping[int, int]:
        """The number of records that were skipped, by record type."""
        return self._loader.unknown_types

    def read_piece(self, log: UnifiedLog, bytes_max: int) -> LoadFailure | None:
        """Load at least one batch; return what cannot be loaded, or None. Raises OSError if the disk fails.

        Behind the last batch: a slice of the loader's own end.
        """
        if self._finishing is not None:
            return self._finish(self._finishing)
        self.next_offset = max(self.next_offset, log.log_start_offset)
        before = self.next_offset
        if before < log.log_end_offset:
            read = log.read(before, bytes_max, FetchIsolation.LOG_END, is_one_batch_needed=True)
            failure = self._load_records(memoryview(read.records))
            if failure is not None:
                return failure
        # Only offsets that compaction removed may be left.
        if self.next_offset >= log.log_end_offset or self.next_offset == before:
            self._finishing = self._loader.finish()
            return self._finish(self._finishing)
        return None

    def _finish(self, slices: Generator[None, None, LoadFailure | None]) -> LoadFailure | None:
        try:
            next(slices)
        except StopIteration as end:
            self.is_done = True
            failure: LoadFailure | None = end.value
            return failure
        return None

    def _load_records(self, records: memoryview) -> LoadFailure | None:
        position = 0
        while position < len(records):
            try:
                batch = read_batch(records, position)
            except IncompleteBatchError:
                # The last batch of a piece may be cut off.
                return None
            except RemoteProtocolError as error:
                return LoadFailure(self.next_offset, error.reason)
            position = batch.end_position
            self.bytes_read += batch.size
            failure = self._load_batch(batch)
            if failure is not None:
                return failure
            self.next_offset = max(self.next_offset, batch.end_offset)
        return None

    def _load_batch(self, batch: RecordBatch) -> LoadFailure | None:
        try:
            return self._loader.apply_batch(batch)
        except RemoteProtocolError as error:
            return LoadFailure(batch.base_offset, error.reason)
