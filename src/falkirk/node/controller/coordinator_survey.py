"""Reads the topics of Kafka's coordinators from the brokers that lead them, as a consumer would.

What is in use there decides whether a feature can be lowered without cutting anything off. Partitions are read one
after the other, a piece at a time, so that the controller is not held up. The survey may wait until the transactions
that it finds open have ended, or abort them: InitProducerId of the transactional id, as Kafka's Admin.fenceProducers.
Transactions that begin meanwhile do not hold it up, so that it ends under load, too.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.prediction.group_survey import GroupSurvey
from falkirk.coordinator.prediction.share_states import ShareStateSurvey
from falkirk.coordinator.prediction.transactions import TransactionSurvey
from falkirk.coordinator.records.log_entry import LoggedRecord, log_entries
from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.metadata.controller.features.coordinator_use import (
    CoordinatorUse,
    GroupInUse,
    UnendedTransaction,
    UnreadPartition,
)
from falkirk.node.config.security_settings import SECURITY_PROTOCOL_IDS
from falkirk.node.connections.outbound_connections import (
    RECONNECT_BACKOFF_MAX_MS,
    RECONNECT_BACKOFF_MS,
    RequestFailure,
)
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode, error_name
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import (
    FetchRequest,
    FetchResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from falkirk.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsTopic
from falkirk.protocol.record_batch import IncompleteBatchError, read_batch
from falkirk.slices import SliceBudget
from falkirk.versions.release import SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from falkirk.coordinator.prediction.transactions import UnfinishedTransaction
    from falkirk.coordinator.records.log_entry import LogEntry
    from falkirk.ledger.open_transaction import OpenTransaction
    from falkirk.metadata.image.broker_registration import BrokerRegistration
    from falkirk.node.connections.outbound_connections import OutboundConnections
    from falkirk.node.step import CommittedMetadata, Step
    from falkirk.protocol.messages.fetch_response import PartitionData
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices

# How much is fetched at once.
PIECE_BYTES: Final = 1024 * 1024
# A lost leader is replaced within a session (9 s) after this controller has become the active one, and its successor
# hears of it a moment later. The waits between attempts double up to half a second, as those between connections do.
ATTEMPTS_MAX: Final = 30
# Of a leader that will not answer otherwise.
_FINAL_ERRORS: Final = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
_Survey = TransactionSurvey | GroupSurvey | ShareStateSurvey
# Other topics than __consumer_offsets.
_SURVEYS: Final[Mapping[str, type[_Survey]]] = {
    TRANSACTION_STATE: TransactionSurvey,
    SHARE_GROUP_STATE: ShareStateSurvey,
}
_PURPOSE: Final = "survey"
_ABORT_PURPOSE: Final = "abort-transactions"
WAIT_MS: Final = 500
"""How long a leader waits for new records of a partition whose open transactions are waited for."""
_NO_TIME: Final = "there was no time"
# The coordinator aborts, or it had ended before.
_IS_ABORTED: Final = (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NONE)
_COMES_AGAIN: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
NAME: Final = "survey of coordinators"
# Of a slice's visits: a record is a key, and a value that may list members or partitions.
_VISITS_PER_RECORD: Final = 2
_BYTES_PER_VISIT: Final = 100
_CONSUMER: Final = -1
_EARLIEST: Final = -2


class CoordinatorSurvey:
    """Surveys topics; `done` is called once, now or later. It names what could not be read, with the reason."""

    def __init__(
        self,
        step: Step,
        metadata: CommittedMetadata,
        outbound: OutboundConnections,
        topics: Iterable[str],
        *,
        deadline_ms: int,
        done: Callable[[CoordinatorUse], None],
        waits: bool = False,
        aborts: bool = False,
    ) -> None:
        """Prepare; `waits`: for the end of the transactions that are open, `aborts`: those that it waits for."""
        self._step = step
        self._metadata = metadata
        self._outbound = outbound
        self._deadline_ms = deadline_ms
        self._done = done
        self._waits = waits
        self._aborts = aborts
        self._aborted: list[OpenTransaction] = []
        self._unended: list[UnendedTransaction] = []
        # Partitions with transactions to wait for: all others are read first.
        self._deferred: deque[_Reading] = deque()
        self._transactions: list[OpenTransaction] = []
        self._groups: list[GroupInUse] = []
        # Share partitions with delivery state, by group.
        self._share_states: Counter[str] = Counter()
        self._unread: list[UnreadPartition] = []
        # A partition is being read. `start` begins the next one in a loop, so that the stack stays flat.
        self._is_reading = False
        self._is_advancing = False
        image = metadata.image
        self._waiting = deque(
            (topic.name, topic.topic_id, partition_id)
            for name in sorted(topics)
            if (topic := image.topics.topic(name)) is not None
            for partition_id, _ in topic.items()
        )

    def start(self) -> None:
        """Read the next partitions until a response must be awaited; call `done` when there are no more."""
        if self._is_advancing:
            return
        self._is_advancing = True
        while (self._waiting or self._deferred) and not self._is_reading:
            self._is_reading = True
            if not self._waiting:
                self._wait(self._deferred.popleft())
                continue
            topic, topic_id, partition_id = self._waiting.popleft()
            survey = _SURVEYS.get(topic, GroupSurvey)()
            self._find_start(_Reading(topic=topic, topic_id=topic_id, partition_id=partition_id, survey=survey))
        self._is_advancing = False
        if not self._is_reading:
            states = self._share_states
            self._done(
                CoordinatorUse(
                    transactions=tuple(sorted(self._transactions)),
                    groups=tuple(
                        each._replace(share_partitions=states[each.group_id]) if each.group_id in states else each
                        for each in sorted(self._groups)
                    ),
                    unread=tuple(self._unread),
                    aborted=tuple(sorted(self._aborted)),
                    unended=tuple(self._unended),
                )
            )

    def _find_start(self, reading: _Reading, delay_ms: int = 0) -> None:
        """Request the log start offset from the leader, after a while."""
        request = ListOffsetsRequest(
            replica_id=_CONSUMER,
            topics=[ListOffsetsTopic(reading.topic, [ListOffsetsPartition(reading.partition_id, timestamp=_EARLIEST)])],
        )

        def answered(answer: WireMessage | RequestFailure) -> None:
            if isinstance(answer, RequestFailure):
                self._retry(reading, answer.reason)
                return
            assert isinstance(answer, ListOffsetsResponse), "a response to this request"
            found = [each for topic in answer.topics for each in topic.partitions]
            if len(found) != 1 or found[0].error_code:
                self._refused(reading, found[0].error_code if found else 0)
                return
            reading.offset = max(found[0].offset, *found[0].old_style_offsets, 0)
            self._fetch(reading)

        self._send(reading, request, answered, delay_ms=delay_ms)

    def _fetch(self, reading: _Reading, max_wait_ms: int = 0) -> None:
        """Request the next piece from the leader, which may wait for it."""
        partition = FetchPartition(
            partition=reading.partition_id, fetch_offset=reading.offset, partition_max_bytes=PIECE_BYTES
        )
        request = FetchRequest(
            replica_id=_CONSUMER,
            max_wait_ms=max_wait_ms,
            min_bytes=min(max_wait_ms, 1),
            max_bytes=PIECE_BYTES,
            topics=[FetchTopic(reading.topic, reading.topic_id, [partition])],
        )

        def answered(answer: WireMessage | RequestFailure) -> None:
            if isinstance(answer, RequestFailure):
                self._retry(reading, answer.reason)
                return
            assert isinstance(answer, FetchResponse), "a response to this request"
            self._receive(reading, answer)

        self._send(reading, request, answered)

    def _receive(self, reading: _Reading, answer: FetchResponse) -> None:
        found = [each for topic in answer.responses for each in topic.partitions]
        code = answer.error_code or (found[0].error_code if found else 0)
        if len(found) != 1 or code:
            self._refused(reading, code)
            return
        self._step.works.begin(NAME, self._add(reading, found[0]))

    def _add(self, reading: _Reading, piece: PartitionData) -> Slices[None]:
        """Survey a piece in slices, and go on behind it."""
        before = reading.offset
        try:
            yield from reading.add(memoryview(piece.records or b""))
        except RemoteProtocolError as error:
            self._give_up(reading, str(error))
            return
        if reading.offset >= piece.high_watermark:
            if self._waits and reading.await_open_transactions():
                self._wait(reading)
            else:
                self._finish(reading)
        elif reading.offset == before:
            self._retry(reading, f"nothing at offset {before} of {piece.high_watermark}", waits=True)
        else:
            self._fetch(reading)

    def _finish(self, reading: _Reading) -> None:
        self._step.works.begin(NAME, self._collect(reading))

    def _collect(self, reading: _Reading) -> Slices[None]:
        """Keep what was found in a partition, and go on with the next one."""
        survey = reading.survey
        if isinstance(survey, TransactionSurvey):
            self._transactions += [each.reported(reading.partition_id) for each in survey.unfinished()]
        elif isinstance(survey, ShareStateSurvey):
            self._share_states.update(survey.partitions())
        else:
            self._groups += [
                GroupInUse(
                    group_id,
                    group.type.value,
                    group.members,
                    reading.partition_id,
                    member_ids=group.member_ids,
                    committed=len(group.committed),
                )
                for group_id, group in (yield from survey.groups_in_slices()).items()
            ]
        self._is_reading = False
        self.start()

    def _wait(self, reading: _Reading) -> None:
        """Wait for more records of a partition; abort what is open, once."""
        remaining_ms = self._deadline_ms - self._step.now_ms
        if remaining_ms <= 0:
            self._give_up(reading, _NO_TIME)
            return
        if self._aborts:
            for transaction in reading.open_transactions():
                is_ongoing = transaction.state is TransactionState.ONGOING
                if is_ongoing and reading.awaits(transaction) and transaction.transactional_id not in reading.aborts:
                    self._abort(reading, transaction)
        if not reading.is_deferred:
            reading.is_deferred = True
            self._deferred.append(reading)
            self._is_reading = False
            self.start()
            return
        self._fetch(reading, min(WAIT_MS, remaining_ms))

    def _abort(self, reading: _Reading, transaction: UnfinishedTransaction) -> None:
        """Fence the producer, with the timeout that its transactions have; not while there is no leader."""
        leader = self._leader_of(reading)
        if isinstance(leader, str):
            # The fetch that follows gives the partition up, once.
            return
        transactional_id = transaction.transactional_id
        reading.aborts[transactional_id] = None
        request = InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=max(transaction.timeout_ms, 1)
        )

        def answered(answer: WireMessage | RequestFailure) -> None:
            if isinstance(answer, RequestFailure):
                reading.aborts[transactional_id] = answer.reason
                return
            assert isinstance(answer, InitProducerIdResponse), "a response to this request"
            if answer.error_code in _IS_ABORTED:
                self._aborted.append(transaction.reported(reading.partition_id))
            elif answer.error_code in _COMES_AGAIN:
                del reading.aborts[transactional_id]
            else:
                reading.aborts[transactional_id] = error_name(answer.error_code)

        self._send_to(leader, request, answered, _ABORT_PURPOSE)

    def _refused(self, reading: _Reading, error_code: int) -> None:
        """Read the partition again after a while: a new leader may not know yet that it is one."""
        reason = error_name(error_code) if error_code else "an empty answer"
        if error_code in _FINAL_ERRORS:
            self._give_up(reading, reason)
        else:
            self._retry(reading, reason, waits=True)

    def _retry(self, reading: _Reading, reason: str, *, waits: bool = False) -> None:
        """Read the partition again from its start: it may have another leader now.

        `waits`: after a while; an attempt that fails to connect has waited by itself.
        """
        delay_ms = min(RECONNECT_BACKOFF_MS << reading.attempts, RECONNECT_BACKOFF_MAX_MS) if waits else 0
        reading.attempts += 1
        if reading.attempts == ATTEMPTS_MAX or self._step.now_ms >= self._deadline_ms:
            self._give_up(reading, reason)
            return
        survey = type(reading.survey)()
        self._find_start(
            _Reading(
                topic=reading.topic,
                topic_id=reading.topic_id,
                partition_id=reading.partition_id,
                survey=survey,
                attempts=reading.attempts,
                awaited=reading.awaited,
                aborts=reading.aborts,
            ),
            delay_ms,
        )

    def _give_up(self, reading: _Reading, reason: str) -> None:
        if reading.awaited:
            # It was read; what has not ended is known.
            for each in filter(reading.awaits, reading.open_transactions()):
                refusal = reading.aborts.get(each.transactional_id)
                self._unended.append(UnendedTransaction(each.reported(reading.partition_id), refusal))
            self._finish(reading)
            return
        self._unread.append(UnreadPartition(reading.topic, reading.partition_id, reason))
        self._is_reading = False
        self.start()

    def _send(
        self,
        reading: _Reading,
        request: WireMessage,
        answered: Callable[[WireMessage | RequestFailure], None],
        *,
        delay_ms: int = 0,
    ) -> None:
        """Send a request to the leader, or give the partition up."""
        leader = self._leader_of(reading)
        if isinstance(leader, str):
            self._give_up(reading, leader)
        else:
            self._send_to(leader, request, answered, _PURPOSE, delay_ms)

    def _send_to(
        self,
        leader: tuple[Endpoint, str],
        request: WireMessage,
        answered: Callable[[WireMessage | RequestFailure], None],
        purpose: str,
        delay_ms: int = 0,
    ) -> None:
        endpoint, listener = leader
        now_ms = self._step.now_ms
        self._outbound.send(
            purpose,
            endpoint,
            request,
            timeout_ms=self._deadline_ms - now_ms,
            now_ms=now_ms,
            done=answered,
            listener=listener,
            delay_ms=delay_ms,
        )

    def _leader_of(self, reading: _Reading) -> tuple[Endpoint, str] | str:
        """Return where the leader of a partition is spoken to, or why it is not."""
        if self._step.now_ms >= self._deadline_ms:
            return _NO_TIME
        image = self._metadata.image
        partition = image.topics.partition(reading.topic, reading.partition_id)
        broker = None if partition is None else image.cluster.brokers.get(partition.leader)
        if broker is None:
            return "it has no leader"
        place = self._endpoint_of(broker)
        return place or f"this controller can speak to no listener of broker {broker.broker_id}"

    def _endpoint_of(self, broker: BrokerRegistration) -> tuple[Endpoint, str] | None:
        """Return a broker's endpoint, and the listener whose security settings apply; None if there is none.

        The inter-broker listener, if this node knows it; else one with the security protocol of the controllers'
        listener and its credentials, or one without security.
        """
        config = self._step.config
        between = next((each for each in broker.end_points if each.name == config.inter_broker_listener_name), None)
        if between is not None:
            return Endpoint(between.host, between.port), between.name
        own = next(listener for listener in config.listeners if listener.is_controller)
        for protocol, listener in ((own.security_protocol, own.name), ("PLAINTEXT", None)):
            for each in broker.end_points:
                if each.security_protocol == SECURITY_PROTOCOL_IDS[protocol]:
                    return Endpoint(each.host, each.port), listener or each.name
        return None


@dataclass(slots=True, kw_only=True, eq=False)
class _Reading:
    """A partition that is being read, up to `offset`."""

    topic: str
    topic_id: bytes
    partition_id: int
    survey: _Survey
    offset: int = 0
    attempts: int = 0
    # By transactional id what tells a transaction that is waited for from the next one; None: not decided yet.
    awaited: dict[str, tuple[int, int]] | None = None
    is_deferred: bool = False
    # By transactional id why an abort was refused; None: it was not.
    aborts: dict[str, str | None] = field(default_factory=dict)

    def open_transactions(self) -> tuple[UnfinishedTransaction, ...]:
        """Return the transactions that are open up to `offset`."""
        return self.survey.unfinished() if isinstance(self.survey, TransactionSurvey) else ()

    def await_open_transactions(self) -> bool:
        """Return whether transactions are open that were open when the end was reached for the first time."""
        found = self.open_transactions()
        if self.awaited is None:
            self.awaited = {each.transactional_id: _identity(each) for each in found}
        return any(map(self.awaits, found))

    def awaits(self, transaction: UnfinishedTransaction) -> bool:
        """Return whether a transaction is one of those."""
        return (self.awaited or {}).get(transaction.transactional_id) == _identity(transaction)

    def add(self, records: memoryview) -> Slices[None]:
        """Survey whole batches in slices. Raises RemoteProtocolError for bytes that are none."""
        position, budget = 0, SliceBudget()
        while position < len(records):
            try:
                batch = read_batch(records, position)
            except IncompleteBatchError:
                # The last batch of a response may be cut off.
                return
            position = batch.end_position
            if batch.end_offset <= self.offset:
                continue
            for entry in log_entries([batch]):
                if entry.offset >= self.offset:
                    self.survey.add(entry)
                    if budget.spend(_VISITS_PER_RECORD + _value_bytes(entry) // _BYTES_PER_VISIT):
                        yield
            self.offset = batch.end_offset


def _value_bytes(entry: LogEntry) -> int:
    return len(entry.value) if isinstance(entry, LoggedRecord) and entry.value is not None else 0


def _identity(transaction: UnfinishedTransaction) -> tuple[int, int]:
    return transaction.producer_id, transaction.start_timestamp_ms
