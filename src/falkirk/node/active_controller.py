"""The controller while this node is the active one: what managers decide goes to the log.

Records are replayed before they are appended: what cannot be replayed must never reach a log that every node replays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from falkirk.metadata.writer import VersionedRecord
from falkirk.node.purgatory import Purgatory
from falkirk.protocol.messages import NoOpRecord
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.protocol.record_batch import HEADER_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.metadata.controller.controller import Controller
    from falkirk.metadata.controller.result import ControllerResult
    from falkirk.node.client_connections import OpenRequest
    from falkirk.protocol.schema import WireMessage
    from falkirk.raft.replica import RaftReplica

# What KRaft allows for a batch (KafkaRaftClient.MAX_BATCH_SIZE_BYTES), and Kafka's controller for its records.
BATCH_BYTES_MAX: Final = 8 * 1024 * 1024
BATCH_RECORDS_MAX: Final = 10_000
# Head of a record in a batch at most: lengths, attributes, deltas, no key, no headers.
_RECORD_HEAD_BYTES: Final = 24


class TooManyRecordsError(Exception):
    """Records that must take effect together do not fit a batch; nothing has changed."""


class ActiveController:
    """Lives as long as the leadership of one epoch. Any exception out of it means that its state cannot be trusted."""

    def __init__(self, controller: Controller, raft: RaftReplica, *, idle_interval_ms: int, now_ms: int) -> None:
        self.controller = controller
        # Answers, and the request that each belongs to.
        self.waiting: Purgatory[tuple[OpenRequest, WireMessage]] = Purgatory()
        self._raft = raft
        self._idle_interval_ms = idle_interval_ms
        self._last_append_ms = now_ms

    @property
    def epoch(self) -> int:
        """The epoch in which the node leads."""
        return self.controller.epoch

    def catch_up(self, now_ms: int) -> None:
        """Take note of what raft has appended by itself: records of the quorum are in the log, but not in the image."""
        if self.controller.state.next_offset != self._raft.end_offset:
            self.controller.replay((), end_offset=self._raft.end_offset, now_ms=now_ms)

    def append(self, result: ControllerResult[Any], now_ms: int) -> int:  # Any: the response is not looked at
        """Replay and append a decision's records; give the offset up to which all it rests on reaches.

        Raises TooManyRecordsError.
        """
        if not result.records:
            return self._raft.end_offset
        values = [encode_metadata_record(*record) for record in result.records]
        batches = list(_batches(values))
        if result.is_atomic and len(batches) > 1:
            raise TooManyRecordsError(f"{len(values)} records of {sum(map(len, values))} bytes do not fit one batch")
        if result.transaction:
            # Whoever replays the log holds it back until the batch that ends it, so that one decides.
            batches = [*_batches([encode_metadata_record(*record) for record in result.transaction]), *batches]
        end_offset = self._raft.end_offset + len(result.transaction) + len(values)
        self.controller.replay((*result.transaction, *result.records), end_offset=end_offset, now_ms=now_ms)
        for batch in batches:
            self._raft.append(batch, now_ms)
        assert self._raft.end_offset == end_offset
        self._last_append_ms = now_ms
        return end_offset

    def tick(self, now_ms: int) -> None:
        """Do what time has made due."""
        for result in self.controller.due(now_ms):
            self.append(result, now_ms)
            self.catch_up(now_ms)
        if self._idle_at_ms is not None and now_ms >= self._idle_at_ms:
            self.append_no_op(now_ms)

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `tick` has something to do."""
        times = (self.controller.next_due_ms, self._idle_at_ms, self.waiting.next_deadline_ms)
        return min((time for time in times if time is not None), default=None)

    @property
    def _idle_at_ms(self) -> int | None:
        """When a NoOpRecord shows that the controller lives (KIP-835)."""
        if not self._idle_interval_ms or not self.controller.state.metadata_version.no_op_record_supported:
            return None
        return self._last_append_ms + self._idle_interval_ms

    def append_no_op(self, now_ms: int) -> None:
        """Lengthen the log by a record that says nothing; the level must be one that has it (3.3-IV1)."""
        record = VersionedRecord(NoOpRecord(), 0)
        self.controller.replay((record,), end_offset=self._raft.end_offset + 1, now_ms=now_ms)
        self._raft.append([encode_metadata_record(*record)], now_ms)
        self._last_append_ms = now_ms


def _batches(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Cut records into batches as large as may be."""
    start, size = 0, HEADER_BYTES
    for index, value in enumerate(values):
        added = len(value) + _RECORD_HEAD_BYTES
        if index > start and (size + added > BATCH_BYTES_MAX or index - start == BATCH_RECORDS_MAX):
            yield values[start:index]
            start, size = index, HEADER_BYTES
        size += added
    yield values[start:]
