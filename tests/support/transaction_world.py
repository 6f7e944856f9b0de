"""A transaction shard whose outcomes are applied as the runtime does; markers are written when a test says so."""

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from legal_compactions import entries_of

from falkirk.coordinator.records.log_entry import LoggedRecord
from falkirk.coordinator.runtime.client import ClientContext
from falkirk.coordinator.runtime.load_failure import LoadFailure
from falkirk.coordinator.runtime.outcome import CoordinatorRecord, KeyAndValue, Outcome
from falkirk.coordinator.runtime.transaction_markers import TransactionMarkers
from falkirk.coordinator.transactions.context import TransactionContext, TransactionSettings
from falkirk.coordinator.transactions.listing import listed
from falkirk.coordinator.transactions.transaction_coordinator_shard import TransactionCoordinatorShard
from falkirk.coordinator.transactions.transaction_loader import TransactionLoader
from falkirk.coordinator.transactions.transaction_metadata import TransactionMetadata
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AddOffsetsToTxnRequest,
    DescribeTransactionsResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListTransactionsRequest,
)
from falkirk.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from falkirk.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResult
from falkirk.protocol.messages.describe_transactions_response import TransactionState as DescribedTransaction
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import read_batch
from falkirk.protocol.topic_partition import TopicPartition, by_topic
from falkirk.slices import exhaust
from falkirk.versions.release import Release

ID = "tx"
FIRST_PRODUCER_ID = 1000
P0, P1, P2 = (TopicPartition("t", index) for index in range(3))


class TransactionWorld:
    """`log`: what was written. `markers`: what is to be sent. `level`: that of transaction.version."""

    def __init__(self, release: str = "4.4", level: int = 2, *, is_tolerant: bool = False, **settings: Any) -> None:
        self.release = release
        self.level = level
        self.is_tolerant = is_tolerant
        self.settings = TransactionSettings(**settings)
        self.now_ms = 1_000_000
        self.coordinator_epoch = 7
        self.producer_ids = count(FIRST_PRODUCER_ID)
        self.has_producer_ids = True
        self.refuses_with: ErrorCode | None = None
        self.log: list[LoggedRecord] = []
        self.written: list[CoordinatorRecord] = []
        self.markers: list[TransactionMarkers] = []
        self.shard = self._empty_shard()
        self.apply(exhaust(self.shard.loaded()))

    # --- Requests

    def init(
        self,
        *,
        id_: str | None = ID,
        version: int = 5,
        timeout_ms: int = 60_000,
        producer_id: int = -1,
        epoch: int = -1,
        enable2pc: bool = False,
        keep_prepared_txn: bool = False,
    ) -> tuple[ErrorCode, int, int]:
        """Return the error, the producer id and its epoch."""
        request = InitProducerIdRequest(
            transactional_id=id_,
            transaction_timeout_ms=timeout_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
            enable2pc=enable2pc,
            keep_prepared_txn=keep_prepared_txn,
        )
        self._enter()
        response = self._only_reply(self.shard.init_producer_id(ClientContext(api_version=version), request, 1))
        assert isinstance(response, InitProducerIdResponse)
        return ErrorCode(response.error_code), response.producer_id, response.producer_epoch

    def add(
        self,
        *partitions: TopicPartition,
        producer_id: int = FIRST_PRODUCER_ID,
        epoch: int = 0,
        id_: str = ID,
        version: int = 3,
        verify_only: bool = False,
    ) -> dict[TopicPartition, ErrorCode]:
        """Return the error of each partition."""
        topics = [AddPartitionsToTxnTopic(topic, tuple(indexes)) for topic, indexes in by_topic(partitions).items()]
        transaction = AddPartitionsToTxnTransaction(id_, producer_id, epoch, verify_only, topics)
        self._enter()
        response = self._only_reply(self.shard.add_partitions(ClientContext(api_version=version), transaction, 1))
        assert isinstance(response, AddPartitionsToTxnResult)
        assert response.transactional_id == id_
        return {
            TopicPartition(topic.name, each.partition_index): ErrorCode(each.partition_error_code)
            for topic in response.topic_results
            for each in topic.results_by_partition
        }

    def add_offsets(
        self, *, producer_id: int = FIRST_PRODUCER_ID, epoch: int = 0, id_: str = ID, version: int = 3
    ) -> ErrorCode:
        request = AddOffsetsToTxnRequest(id_, producer_id, epoch, "g")
        partition = TopicPartition("__consumer_offsets", 3)
        self._enter()
        response = self._only_reply(self.shard.add_offsets(ClientContext(api_version=version), request, partition, 1))
        return ErrorCode(response.error_code)

    def end(
        self,
        *,
        commit: bool = True,
        producer_id: int = FIRST_PRODUCER_ID,
        epoch: int = 0,
        id_: str = ID,
        version: int = 4,
    ) -> tuple[ErrorCode, int, int]:
        """Return the error, and the next producer id and epoch."""
        request = EndTxnRequest(id_, producer_id, epoch, commit)
        self._enter()
        response = self._only_reply(self.shard.end_transaction(ClientContext(api_version=version), request, 1))
        assert isinstance(response, EndTxnResponse)
        return ErrorCode(response.error_code), response.producer_id, response.producer_epoch

    def describe(self, id_: str = ID) -> DescribedTransaction:
        response = self._only_reply(self.shard.describe_transactions([id_], 1))
        assert isinstance(response, DescribeTransactionsResponse)
        (state,) = response.transaction_states
        return state

    def list(self, **filters: Any) -> Sequence[str]:
        """Return the ids that pass the filters of a ListTransactionsRequest, in order."""
        self._enter()
        request = ListTransactionsRequest(**filters)
        found = exhaust(listed(self.shard.transactions(), request, self.shard.context.now_ms))
        return sorted(each.transactional_id for each in found)

    # --- Time, markers, the log

    def write_markers(self, *errors: ErrorCode) -> None:
        """Answer the oldest markers: each partition with its error, in their order; NONE by default."""
        markers = self.markers.pop(0)
        results = dict.fromkeys(markers.partitions, ErrorCode.NONE)
        results.update(zip(markers.partitions, errors, strict=False))
        self.answer_markers(markers, results)

    def answer_markers(self, markers: TransactionMarkers, results: dict[TopicPartition, ErrorCode]) -> None:
        self._enter()
        self.apply(self.shard.markers_written(markers, results))

    def delete(self, *partitions: TopicPartition) -> None:
        """Delete partitions, and run the timers that are due."""
        self._enter()
        self.apply(self.shard.partitions_deleted(partitions))
        self.advance(0)

    def advance(self, elapsed_ms: int) -> None:
        """Let time pass, and run all timers and slices of work that are due."""
        self.now_ms += elapsed_ms
        context = self.shard.context
        self._enter()
        while (action := context.timers.pop_due(self.now_ms)) is not None:
            self.apply(action())
        while context.slices:
            self.apply(context.slices.pop(next(iter(context.slices)))())

    def elect(self, entries: Iterable[LoggedRecord] | None = None) -> LoadFailure | None:
        """Load the log, or other entries, into the shard of a new leader; return its failure."""
        self.coordinator_epoch += 1
        self.shard = self._empty_shard()
        self.markers = []
        failure = self.load(self.log if entries is None else entries)
        if failure is None:
            self.apply(exhaust(self.shard.loaded()))
        return failure

    def load(self, entries: Iterable[LoggedRecord]) -> LoadFailure | None:
        self.loader = TransactionLoader(self.shard)
        for entry in entries:
            record = Record(entry.offset, 0, entry.key, entry.value)
            batch = read_batch(memoryview(build_batch([record], base_offset=entry.offset)), 0)
            failure = self.loader.apply_batch(batch)
            if failure is not None:
                return failure
        return exhaust(self.loader.finish())

    def apply(self, outcome: Outcome) -> Sequence[Any]:
        """Apply an outcome as the runtime does, and return the responses."""
        if outcome.records and self.refuses_with is not None:
            refused = outcome.on_refused(self.refuses_with) if outcome.on_refused is not None else ()
            return [reply.response for reply in refused] or [self.refuses_with]
        records = self.shard.as_written(outcome.records)
        entries = entries_of(self.release, records, first_offset=len(self.log))
        for record, entry in zip(records, entries, strict=True):
            assert isinstance(entry, LoggedRecord)
            assert entry.key is not None
            self.log.append(entry)
            self.written.append(record)
            self.shard.replay(record, KeyAndValue(entry.key, entry.value), offset=entry.offset, producer=None)
        replies = list(outcome.replies)
        if outcome.on_written is not None:
            replies += outcome.on_written()
        self.markers += outcome.markers
        return [reply.response for reply in replies]

    def state(self, id_: str = ID) -> TransactionMetadata | None:
        return self.shard.store.get(id_)

    def _empty_shard(self) -> TransactionCoordinatorShard:
        context = TransactionContext(
            release=Release.parse(self.release),
            coordinator_epoch=self.coordinator_epoch,
            take_producer_id=lambda: next(self.producer_ids) if self.has_producer_ids else None,
            now_ms=self.now_ms,
            settings=self.settings,
            feature_levels={"transaction.version": self.level},
            is_tolerant=self.is_tolerant,
        )
        return TransactionCoordinatorShard(context)

    def _enter(self) -> None:
        self.shard.context.now_ms = self.now_ms
        self.shard.context.feature_levels = {"transaction.version": self.level}

    def _only_reply(self, outcome: Outcome) -> Any:
        (response,) = self.apply(outcome)
        return response
