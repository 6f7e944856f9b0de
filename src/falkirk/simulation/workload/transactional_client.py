"""A producer of transactions, which begins again when it is fenced, and so fences those that have its id now."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from falkirk.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnTopic
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from falkirk.protocol.record import Record
from falkirk.simulation.history.transaction_history import Fate, Owner
from falkirk.simulation.plans.transaction_plan import TRANSACTED, TRANSACTION_TIMEOUT_MS
from falkirk.simulation.workload.producer import ALL
from falkirk.simulation.workload.sequential_client import BACKOFF_MS, GROUP, TRANSACTION, SequentialClient
from falkirk.versions.features import TRANSACTION_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage
    from falkirk.simulation.history.transaction_history import Transaction, TransactionHistory
    from falkirk.simulation.plans.transaction_plan import TransactionPlan
    from falkirk.simulation.workload.sequential_client import Story

_EPOCH_BUMPS: Final = 2
"""The level of transaction.version at which each transaction has its own epoch, and brokers add partitions."""
_VERSIONS: Final[Mapping[int, int]] = {22: 5, 24: 3}
_VERSIONS_WITHOUT_EPOCH_BUMPS: Final[Mapping[int, int]] = {**_VERSIONS, 0: 11, 26: 4, 28: 4}
_PRODUCE_TIMEOUT_MS: Final = 1_500
_GIVE_UP_MS: Final = 9_000


class _Outcome(Enum):
    DONE = 0
    RETRY = 1
    FENCED = 2
    """The client has to begin again."""
    ABORT = 3
    """The transaction cannot be committed."""


_OUTCOMES: Final[Mapping[ErrorCode, _Outcome]] = {
    ErrorCode.NONE: _Outcome.DONE,
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER: _Outcome.DONE,
    **dict.fromkeys(
        (
            ErrorCode.NOT_COORDINATOR,
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
            ErrorCode.CONCURRENT_TRANSACTIONS,
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.UNKNOWN_TOPIC_ID,
            ErrorCode.LEADER_NOT_AVAILABLE,
            ErrorCode.NOT_ENOUGH_REPLICAS,
            ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            ErrorCode.REQUEST_TIMED_OUT,
            ErrorCode.KAFKA_STORAGE_ERROR,
            ErrorCode.NETWORK_EXCEPTION,
        ),
        _Outcome.RETRY,
    ),
    **dict.fromkeys(
        (
            ErrorCode.PRODUCER_FENCED,
            ErrorCode.INVALID_PRODUCER_EPOCH,
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ),
        _Outcome.FENCED,
    ),
    **dict.fromkeys(
        (
            ErrorCode.INVALID_TXN_STATE,
            ErrorCode.TRANSACTION_ABORTABLE,
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            ErrorCode.UNKNOWN_PRODUCER_ID,
        ),
        _Outcome.ABORT,
    ),
}


class TransactionalClient(SequentialClient):
    """Its transactions write to partitions of TRANSACTED, most commit an offset of the plan's group, too."""

    def __init__(
        self,
        name: str,
        brokers: Mapping[int, Endpoint],
        chance: Chance,
        history: TransactionHistory,
        *,
        plan: TransactionPlan,
    ) -> None:
        super().__init__(name, brokers, chance)
        self._history = history
        self._plan = plan
        self._id = plan.transactional_id
        self._owner = Owner(-1, -1)
        self._bumps_epochs = False
        self._sequences: dict[int, int] = {}

    def story(self) -> Story[None]:
        """Begin, and make transactions until another client has the id."""
        while not self.is_over:
            yield self._pause()
            is_owner = yield from self._initialize()
            while is_owner and not self.is_over:
                yield self._pause()
                if not self.is_over:
                    is_owner = yield from self._transact()

    def _pause(self) -> int:
        return 1 + self.chance.randrange(0, 2 * self._plan.interval_ms)

    def _ask(self, request: WireMessage, error: Callable[[Any], int]) -> Story[tuple[_Outcome, WireMessage | None]]:
        """Return the outcome of one request to the transaction's coordinator, and the answer if there is one."""
        response = yield from self.ask_coordinator(TRANSACTION, self._id, request)
        if response is None:
            return _Outcome.RETRY, None
        outcome = self._outcome(request, error(response))
        if outcome is _Outcome.RETRY:
            yield from self.look_again(TRANSACTION, self._id)
        return outcome, response

    def _outcome(self, request: WireMessage, error: int) -> _Outcome:
        code = ErrorCode(error)
        assert code in _OUTCOMES, f"{type(request).__name__}: {code.name}"
        if code is not ErrorCode.NONE:
            self.note(f"{type(request).__name__} is refused: {code.name}")
        return _OUTCOMES[code]

    # --- The producer's id

    def _initialize(self) -> Story[bool]:
        """Get a producer id and epoch; return False if the run ends before."""
        request = InitProducerIdRequest(transactional_id=self._id, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS)
        while not self.is_over:
            outcome, response = yield from self._ask(request, lambda found: found.error_code)
            if outcome is _Outcome.DONE:
                assert isinstance(response, InitProducerIdResponse)
                self._own(Owner(response.producer_id, response.producer_epoch))
                return True
        return False

    def _own(self, owner: Owner) -> None:
        self.note(f"is {owner}")
        self._history.record_owner(self.name, owner)
        if owner != self._owner:
            self._sequences = {}
        self._owner = owner

    def _learn_level(self) -> Story[None]:
        """Read the finalized level of transaction.version, as the Java client does before each transaction."""
        broker_id = yield from self.coordinator(TRANSACTION, self._id)
        response = yield broker_id, ApiVersionsRequest("falkirk-simulation", "1")
        if response is not None:
            assert isinstance(response, ApiVersionsResponse)
            levels = {each.name: each.max_version_level for each in response.finalized_features}
            self._bumps_epochs = levels.get(TRANSACTION_VERSION, 0) >= _EPOCH_BUMPS
            self.version_limits = _VERSIONS if self._bumps_epochs else _VERSIONS_WITHOUT_EPOCH_BUMPS

    # --- One transaction

    def _transact(self) -> Story[bool]:
        """Make one transaction; return False if the client has to begin again."""
        partitions = sorted(partition for topic, partition in self.places if topic == TRANSACTED)
        if len(partitions) <= 1:
            self.refresh()
            return True
        yield from self._learn_level()
        left_out = self.chance.choice((*partitions, -1)) if len(partitions) > _EPOCH_BUMPS else -1
        chosen = [each for each in partitions if each != left_out]
        transaction = self._history.begin(self._id, self.name, chosen, has_offset=self.chance.random() < 0.7)
        draw = self.chance.random()
        outcome = yield from self._write(transaction)
        if outcome is _Outcome.FENCED:
            return False
        if draw < self._plan.abandoned_share:
            self.note(f"leaves {transaction}")
            yield 2 * TRANSACTION_TIMEOUT_MS
            if self.is_over:
                # It never comes back: nothing but the timeout ends its transaction.
                return False
        is_commit = outcome is _Outcome.DONE and draw < 1 - self._plan.aborted_share
        is_owner = yield from self._end(transaction, is_commit=is_commit)
        # What became of a batch is unknown: its sequence number must not be used again in this epoch.
        return is_owner and outcome is _Outcome.DONE

    def _write(self, transaction: Transaction) -> Story[_Outcome]:
        owner = self._owner
        if not self._bumps_epochs:
            topic = AddPartitionsToTxnTopic(TRANSACTED, tuple(transaction.values))
            request = AddPartitionsToTxnRequest(self._id, owner.producer_id, owner.epoch, [topic])
            outcome = yield from self._until_done(request, _added_error)
            if outcome is not _Outcome.DONE:
                return outcome
        for partition, value in transaction.values.items():
            outcome = yield from self._produce(partition, value)
            if outcome is not _Outcome.DONE:
                return outcome
        return (yield from self._commit_offset(transaction)) if transaction.has_offset else _Outcome.DONE

    def _until_done(self, request: WireMessage, error: Callable[[Any], int]) -> Story[_Outcome]:
        give_up_ms = self.now_ms + _GIVE_UP_MS
        while self.now_ms < give_up_ms:
            outcome, _ = yield from self._ask(request, error)
            if outcome is not _Outcome.RETRY:
                return outcome
        return _Outcome.ABORT

    def _produce(self, partition: int, value: bytes) -> Story[_Outcome]:
        sequence, owner = self._sequences.get(partition, 0), self._owner
        data = build_batch(
            [Record(0, self.now_ms, b"key", value)],
            base_offset=0,
            producer_id=owner.producer_id,
            producer_epoch=owner.epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        give_up_ms = self.now_ms + _GIVE_UP_MS
        while self.now_ms < give_up_ms:
            place = self.places.get((TRANSACTED, partition))
            if place is not None and place.leader_id in self.brokers:
                topic = TopicProduceData(TRANSACTED, place.topic_id, [PartitionProduceData(partition, data)])
                request = ProduceRequest(self._id, ALL, _PRODUCE_TIMEOUT_MS, [topic])
                response = yield place.leader_id, request
                if response is not None:
                    assert isinstance(response, ProduceResponse)
                    outcome = self._outcome(request, response.responses[0].partition_responses[0].error_code)
                    if outcome is not _Outcome.RETRY:
                        self._sequences[partition] = sequence + 1
                        return outcome
            self.refresh()
            yield BACKOFF_MS
        return _Outcome.ABORT

    def _commit_offset(self, transaction: Transaction) -> Story[_Outcome]:
        owner, group_id = self._owner, self._plan.group_id
        if not self._bumps_epochs:
            adding = AddOffsetsToTxnRequest(self._id, owner.producer_id, owner.epoch, group_id)
            outcome = yield from self._until_done(adding, _offsets_error)
            if outcome is not _Outcome.DONE:
                return outcome
        topic = TxnOffsetCommitRequestTopic(
            TRANSACTED, self.places[TRANSACTED, 0].topic_id, [TxnOffsetCommitRequestPartition(0, transaction.number)]
        )
        request = TxnOffsetCommitRequest(
            transactional_id=self._id,
            group_id=group_id,
            producer_id=owner.producer_id,
            producer_epoch=owner.epoch,
            topics=[topic],
        )
        give_up_ms = self.now_ms + _GIVE_UP_MS
        while self.now_ms < give_up_ms:
            response = yield from self.ask_coordinator(GROUP, group_id, request)
            if response is None:
                continue
            assert isinstance(response, TxnOffsetCommitResponse)
            outcome = self._outcome(request, response.topics[0].partitions[0].error_code)
            if outcome is not _Outcome.RETRY:
                return outcome
            yield from self.look_again(GROUP, group_id)
        return _Outcome.ABORT

    def _end(self, transaction: Transaction, *, is_commit: bool) -> Story[bool]:
        """End a transaction; return False if the client has to begin again."""
        owner, is_unknown = self._owner, False
        request = EndTxnRequest(self._id, owner.producer_id, owner.epoch, is_commit)
        self.note(f"{'commits' if is_commit else 'aborts'} {transaction}")
        if is_commit:
            transaction.fate = Fate.COMMITTING
        while True:
            was_fenced = self._history.is_fenced(self.name, owner)
            outcome, response = yield from self._ask(request, lambda found: found.error_code)
            if outcome is _Outcome.DONE:
                assert isinstance(response, EndTxnResponse)
                fate = Fate.COMMITTED if is_commit else Fate.ABORTED
                self._history.record_ended(transaction, fate, was_fenced=was_fenced)
                if self._bumps_epochs:
                    self._own(Owner(response.producer_id, response.producer_epoch))
                return True
            if outcome is not _Outcome.RETRY:
                if not is_unknown:
                    transaction.fate = Fate.ABORTED
                return False
            is_unknown = True


def _added_error(response: AddPartitionsToTxnResponse) -> int:
    errors = [each.partition_error_code for each in response.results_by_topic_v3_and_below[0].results_by_partition]
    return next((each for each in errors if each and each != ErrorCode.OPERATION_NOT_ATTEMPTED), ErrorCode.NONE)


def _offsets_error(response: AddOffsetsToTxnResponse) -> int:
    return response.error_code
