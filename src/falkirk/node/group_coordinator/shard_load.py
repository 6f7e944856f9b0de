"""The log of a partition of `__consumer_offsets`, read into a shard a piece at a time (Kafka's CoordinatorLoaderImpl).

All of the log is read, what is not committed yet too: answers that rest on that wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.loader.partition_loader import LoadFailure, PartitionLoader
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record_batch import IncompleteBatchError, read_batch
from falkirk.storage.log.read import FetchIsolation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.coordinator.shard.group_coordinator_shard import GroupCoordinatorShard
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.storage.log.unified_log import UnifiedLog


class ShardLoad:
    """`next_offset`, `bytes_read`: how far, and how much, the log was read. `is_done`: nothing is left."""

    def __init__(self, shard: GroupCoordinatorShard) -> None:
        self.next_offset = 0
        self.bytes_read = 0
        self.is_done = False
        self._loader = PartitionLoader(shard)

    @property
    def record_count(self) -> int:
        """How many records, and ends of transactions, were taken in."""
        return self._loader.record_count

    @property
    def unknown_types(self) -> Mapping[int, int]:
        """How many records were skipped, by the type of their key."""
        return self._loader.unknown_types

    def read_piece(self, log: UnifiedLog, bytes_max: int) -> LoadFailure | None:
        """Take in the next piece, one batch at least; say what cannot be loaded. Raises OSError if the disk fails."""
        self.next_offset = max(self.next_offset, log.log_start_offset)
        before = self.next_offset
        if before < log.log_end_offset:
            read = log.read(before, bytes_max, FetchIsolation.LOG_END, is_one_batch_needed=True)
            failure = self._take(memoryview(read.records))
            if failure is not None:
                return failure
        # Nothing but what compaction took away may be left.
        if self.next_offset >= log.log_end_offset or self.next_offset == before:
            self.is_done = True
            return self._loader.finish()
        return None

    def _take(self, records: memoryview) -> LoadFailure | None:
        position = 0
        while position < len(records):
            try:
                batch = read_batch(records, position)
            except IncompleteBatchError:
                # The last one of a piece may be cut.
                return None
            except RemoteProtocolError as error:
                return LoadFailure(self.next_offset, error.reason)
            position = batch.end_position
            self.bytes_read += batch.size
            failure = self._take_batch(batch)
            if failure is not None:
                return failure
            self.next_offset = max(self.next_offset, batch.end_offset)
        return None

    def _take_batch(self, batch: RecordBatch) -> LoadFailure | None:
        try:
            return self._loader.take_batch(batch)
        except RemoteProtocolError as error:
            return LoadFailure(batch.base_offset, error.reason)
