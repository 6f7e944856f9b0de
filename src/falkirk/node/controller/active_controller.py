"""The controller while this node is the active one: what managers decide is appended to the log.

Records are replayed before they are appended: a record that cannot be replayed must never reach a log that every node
replays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from falkirk.metadata.records.batch import VersionedRecord
from falkirk.node.controller.purgatory import Purgatory
from falkirk.protocol.messages import NoOpRecord
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.protocol.record_batch import HEADER_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.metadata.controller.controller import Controller
    from falkirk.metadata.controller.state.result import ControllerResult
    from falkirk.node.connections.client_connection import OpenRequest
    from falkirk.protocol.schema import WireMessage
    from falkirk.raft.replica import RaftReplica

# KafkaRaftClient.MAX_BATCH_SIZE_BYTES, and the limit of Kafka's controller for records.
BATCH_BYTES_MAX: Final = 8 * 1024 * 1024
BATCH_RECORDS_MAX: Final = 10_000
# The largest head of a record in a batch: lengths, attributes, deltas, no key, no headers.
_RECORD_HEAD_BYTES: Final = 24


class TooManyRecordsError(Exception):
    """Records that must take effect together do not fit one batch; nothing has changed."""


class ActiveController:
    """The controller of one epoch. After any exception its state cannot be trusted."""

    def __init__(self, controller: Controller, raft: RaftReplica, *, idle_interval_ms: int, now_ms: int) -> None:
        self.controller = controller
        # Requests with their responses.
        self.waiting: Purgatory[tuple[OpenRequest, WireMessage]] = Purgatory()
        self._raft = raft
        self._idle_interval_ms = idle_interval_ms
        self._last_append_ms = now_ms
        # What is being decided, one result at a time.
        self._due: Iterator[ControllerResult[None]] | None = None

    @property
    def epoch(self) -> int:
        """The epoch in which the node leads."""
        return self.controller.epoch

    def catch_up(self, now_ms: int) -> None:
        """Account for control records that raft has appended itself: they are in the log, but not in the image."""
        if self.controller.state.next_offset != self._raft.end_offset:
            self.controller.replay((), end_offset=self._raft.end_offset, now_ms=now_ms)

    def append(self, result: ControllerResult[Any], now_ms: int) -> int:  # Any: the response is not read
        """Replay and append a decision's records; return the end offset that must be committed before it is answered.

        Raises TooManyRecordsError.
        """
        if not result.records:
            return self._raft.end_offset
        values = [encode_metadata_record(*record) for record in result.records]
        batches = list(_batches(values))
        if result.is_atomic and len(batches) > 1:
            raise TooManyRecordsError(f"{len(values)} records of {sum(map(len, values))} bytes do not fit one batch")
        if result.transaction:
            # Replicas hold a transaction back until the batch that ends it: that batch takes effect alone.
            batches = [*_batches([encode_metadata_record(*record) for record in result.transaction]), *batches]
        end_offset = self._raft.end_offset + len(result.transaction) + len(values)
        self.controller.replay(
            (*result.transaction, *result.records), end_offset=end_offset, now_ms=now_ms, prepared=result.prepared
        )
        for batch in batches:
            self._raft.append(batch, now_ms)
        assert self._raft.end_offset == end_offset
        self._last_append_ms = now_ms
        return end_offset

    def are_decisions_due(self, now_ms: int) -> bool:
        """Return whether the managers have something to decide that is not begun."""
        due_ms = self.controller.next_due_ms
        return self._due is None and due_ms is not None and due_ms <= now_ms

    def decide_next(self, now_ms: int) -> bool:
        """Append the next of the managers' due decisions; return whether there was one."""
        if self._due is None:
            self._due = self.controller.due(now_ms)
        self.catch_up(now_ms)
        result = next(self._due, None)
        if result is None:
            self._due = None
            return False
        self.append(result, now_ms)
        self.catch_up(now_ms)
        return True

    def tick(self, now_ms: int) -> None:
        """Append a NoOpRecord if the log is idle."""
        if self._idle_at_ms is not None and now_ms >= self._idle_at_ms:
            self.append_no_op(now_ms)

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        times = (self.controller.next_due_ms, self._idle_at_ms, self.waiting.next_deadline_ms)
        return min((time for time in times if time is not None), default=None)

    @property
    def _idle_at_ms(self) -> int | None:
        """When a NoOpRecord is due to show that the controller is alive (KIP-835)."""
        if not self._idle_interval_ms or not self.controller.state.metadata_version.no_op_record_supported:
            return None
        return self._last_append_ms + self._idle_interval_ms

    def append_no_op(self, now_ms: int) -> None:
        """Append a NoOpRecord; metadata.version must support it (3.3-IV1)."""
        record = VersionedRecord(NoOpRecord(), 0)
        self.controller.replay((record,), end_offset=self._raft.end_offset + 1, now_ms=now_ms)
        self._raft.append([encode_metadata_record(*record)], now_ms)
        self._last_append_ms = now_ms


def _batches(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Split records into batches as large as allowed."""
    start, size = 0, HEADER_BYTES
    for index, value in enumerate(values):
        added = len(value) + _RECORD_HEAD_BYTES
        if index > start and (size + added > BATCH_BYTES_MAX or index - start == BATCH_RECORDS_MAX):
            yield values[start:index]
            start, size = index, HEADER_BYTES
        size += added
    yield values[start:]
