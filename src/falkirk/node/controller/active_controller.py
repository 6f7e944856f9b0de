"""The controller while this node is the active one: what managers decide is appended to the log.

Records are replayed before they are appended: a record that cannot be replayed must never reach a log that every node
replays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from falkirk.metadata.controller.partitions.partition_change import is_unclean_election
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.node.controller.purgatory import Purgatory
from falkirk.protocol.messages import NoOpRecord, PartitionChangeRecord
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.protocol.record_batch import HEADER_BYTES
from falkirk.slices import DECISION_VISITS, SliceBudget, exhaust

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

    from falkirk.metadata.controller.controller import Controller
    from falkirk.metadata.controller.state.controller_state import Replayed
    from falkirk.node.connections.client_connection import OpenRequest
    from falkirk.protocol.schema import WireMessage
    from falkirk.raft.replica import RaftReplica
    from falkirk.slices import Slices

    Decide: TypeAlias = Callable[[], Slices[WireMessage | ControllerResult[WireMessage]]]

# KafkaRaftClient.MAX_BATCH_SIZE_BYTES, and the limit of Kafka's controller for records.
BATCH_BYTES_MAX: Final = 8 * 1024 * 1024
BATCH_RECORDS_MAX: Final = 10_000
TRIES_IN_SLICES: Final = 3
"""As often a request is decided on over many steps; if the state has changed each time, then in one."""
# The largest head of a record in a batch: lengths, attributes, deltas, no key, no headers.
_RECORD_HEAD_BYTES: Final = 24


class TooManyRecordsError(Exception):
    """Records that must take effect together, or one alone, do not fit one batch; nothing has changed."""


class UncleanElection(NamedTuple):
    """A partition whose new leader may lack committed records."""

    topic: str
    partition: int
    leader: int


@dataclass(frozen=True, slots=True)
class PreparedAppend:
    """Records of a decision, encoded and replayed, for one state of the controller."""

    batches: "Sequence[Sequence[bytes]]"
    replayed: "Replayed"
    unclean_elections: "Sequence[UncleanElection]"

    @property
    def record_count(self) -> int:
        """Number of records in all batches."""
        return sum(map(len, self.batches))


class ActiveController:
    """The controller of one epoch. After any exception its state cannot be trusted."""

    def __init__(self, controller: Controller, raft: RaftReplica, *, idle_interval_ms: int, now_ms: int) -> None:
        self.controller = controller
        # Requests with their responses.
        self.waiting: Purgatory[tuple[OpenRequest, WireMessage]] = Purgatory()
        self._raft = raft
        self._idle_interval_ms = idle_interval_ms
        self._last_append_ms = now_ms
        # True while a request is decided on over many steps: meanwhile nothing else is, as in Kafka's event queue.
        self.is_operating = False
        self._unclean_elections: list[UncleanElection] = []
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
        return self._append(exhaust(self._prepare(result)), now_ms)

    def operate(self, decide: Decide, now_ms: Callable[[], int]) -> Slices[tuple[WireMessage, int]]:
        """Decide and append in slices; the result is the response, and the end offset that must be committed first.

        If the state changes meanwhile, by what raft appends or a feature update, it is decided anew, and at once after
        some times. Raises TooManyRecordsError.
        """
        tries = 0
        while True:
            self.catch_up(now_ms())
            image = self.controller.state.image
            slices = self._decided(decide)
            while self.controller.state.image is image:
                try:
                    next(slices)
                except StopIteration as end:
                    response, prepared = end.value
                    offset = self._raft.end_offset if prepared is None else self._append(prepared, now_ms())
                    return response, offset
                if tries < TRIES_IN_SLICES:
                    self.is_operating = True
                    try:
                        yield
                    finally:
                        self.is_operating = False
                    self.catch_up(now_ms())
            slices.close()
            tries += 1

    def _decided(self, decide: Decide) -> Slices[tuple[WireMessage, PreparedAppend | None]]:
        result = yield from decide()
        if not isinstance(result, ControllerResult):
            return result, None
        if not result.records:
            return result.response, None
        return result.response, (yield from self._prepare(result))

    def _prepare(self, result: ControllerResult[Any]) -> Slices[PreparedAppend]:  # Any: the response is not read
        """Encode and replay a decision's records in slices. Raises TooManyRecordsError."""
        values = yield from _encoded(result.records)
        batches = list(_batches(values))
        if result.is_atomic and len(batches) > 1:
            raise TooManyRecordsError(f"{len(values)} records of {sum(map(len, values))} bytes do not fit one batch")
        if result.transaction:
            # Replicas hold a transaction back until the batch that ends it: that batch takes effect alone.
            batches = [*_batches((yield from _encoded(result.transaction))), *batches]
        records = (*result.transaction, *result.records) if result.transaction else result.records
        replayed = yield from self.controller.state.replay_slices(records, prepared=result.prepared)
        return PreparedAppend(batches, replayed, (yield from self._uncleanly_elected(records)))

    def _uncleanly_elected(self, records: Iterable[VersionedRecord]) -> Slices[Sequence[UncleanElection]]:
        """Return the partitions that get a leader by an unclean election, before the records are applied."""
        topics, budget = self.controller.state.image.topics, SliceBudget()
        found = []
        for record, _version in records:
            if not isinstance(record, PartitionChangeRecord) or record.leader < 0:
                continue
            topic = topics.topic_by_id(record.topic_id)
            partition = None if topic is None else topic.partition(record.partition_id)
            if topic is not None and partition is not None and is_unclean_election(partition, record):
                found.append(UncleanElection(topic.name, record.partition_id, record.leader))
            if budget.spend(1):
                yield
        return found

    def pop_unclean_elections(self) -> list[UncleanElection]:
        """Remove and return the unclean elections that were appended and not reported yet."""
        elections, self._unclean_elections = self._unclean_elections, []
        return elections

    def _append(self, prepared: PreparedAppend, now_ms: int) -> int:
        end_offset = self._raft.end_offset + prepared.record_count
        self.controller.apply(prepared.replayed, end_offset=end_offset, now_ms=now_ms)
        for batch in prepared.batches:
            self._raft.append(batch, now_ms)
        assert self._raft.end_offset == end_offset
        self._last_append_ms = now_ms
        self._unclean_elections += prepared.unclean_elections
        return end_offset

    def are_decisions_due(self, now_ms: int) -> bool:
        """Return whether the managers have something to decide that is not begun."""
        due_ms = self.controller.next_due_ms
        return self._due is None and due_ms is not None and due_ms <= now_ms

    def decide_next(self, now_ms: int) -> bool:
        """Append the next of the managers' due decisions; return whether there was one.

        A broker whose session has timed out is fenced before all else: what is under way may take minutes.
        """
        if self._due is None:
            self._due = self.controller.due(now_ms)
        self.catch_up(now_ms)
        result = next(self.controller.cluster.due(now_ms), None) or next(self._due, None)
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


def _encoded(records: Iterable[VersionedRecord]) -> Slices[list[bytes]]:
    values, budget = [], SliceBudget()
    for record in records:
        values.append(encode_metadata_record(*record))
        if budget.spend(DECISION_VISITS):
            yield
    return values


def _batches(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Split records into batches as large as allowed. Raises TooManyRecordsError for one that is too large for any."""
    start, size = 0, HEADER_BYTES
    for index, value in enumerate(values):
        added = len(value) + _RECORD_HEAD_BYTES
        if HEADER_BYTES + added > BATCH_BYTES_MAX:
            raise TooManyRecordsError(f"a record of {len(value)} bytes does not fit one batch")
        if index > start and (size + added > BATCH_BYTES_MAX or index - start == BATCH_RECORDS_MAX):
            yield values[start:index]
            start, size = index, HEADER_BYTES
        size += added
    yield values[start:]
