"""AddPartitionsToTxn and AddOffsetsToTxn: partitions enter a transaction, or are verified to be in it.

Source: KIP-98, KIP-890; TransactionCoordinator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.coordinator.runtime.outcome import NOTHING, Outcome, Reply
from falkirk.coordinator.transactions.transaction_metadata import EPOCH_BUMP_VERSION, with_partitions
from falkirk.coordinator.transactions.transaction_rules import (
    LATEST_ADD_PARTITIONS_VERSION_OF_CLIENTS,
    transaction_rules,
)
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import AddOffsetsToTxnResponse
from falkirk.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Collection

    from falkirk.coordinator.runtime.client import ClientContext
    from falkirk.coordinator.runtime.outcome import Token
    from falkirk.coordinator.transactions.context import TransactionContext
    from falkirk.coordinator.transactions.transaction_metadata import TransactionMetadata
    from falkirk.coordinator.transactions.transaction_store import TransactionStore
    from falkirk.protocol.messages import AddOffsetsToTxnRequest
    from falkirk.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnTransaction

FENCED_VERSION: Final = 2
"""AddPartitionsToTxn, AddOffsetsToTxn and EndTxn below this version do not know PRODUCER_FENCED."""


def known_error(error: ErrorCode, version: int) -> ErrorCode:
    """Return the error as a version of these three APIs knows it."""
    if error is ErrorCode.PRODUCER_FENCED and version < FENCED_VERSION:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error


class AddedPartitions:
    """Requests that change or verify the partitions of transactions."""

    def __init__(self, context: TransactionContext, store: TransactionStore) -> None:
        self._context = context
        self._store = store
        self._rules = transaction_rules(context.release)

    def add_partitions(
        self, client: ClientContext, transaction: AddPartitionsToTxnTransaction, token: Token
    ) -> Outcome:
        """Answer one transaction of a request with its AddPartitionsToTxnResult: all its partitions, or none."""
        version = client.api_version
        partitions = [TopicPartition(topic.name, index) for topic in transaction.topics for index in topic.partitions]
        if transaction.verify_only:
            return Outcome(replies=(Reply(token, self._verified(transaction, partitions, version)),))
        error, outcome = self._added(
            transaction.transactional_id,
            transaction.producer_id,
            transaction.producer_epoch,
            partitions,
            EPOCH_BUMP_VERSION if version > LATEST_ADD_PARTITIONS_VERSION_OF_CLIENTS else 0,
        )
        return _with_reply(outcome, Reply(token, result_of_all(transaction, known_error(error, version))))

    def add_offsets(
        self, client: ClientContext, request: AddOffsetsToTxnRequest, partition: TopicPartition, token: Token
    ) -> Outcome:
        """Answer with an AddOffsetsToTxnResponse; `partition` of `__consumer_offsets` holds the group's offsets."""
        error, outcome = self._added(
            request.transactional_id, request.producer_id, request.producer_epoch, (partition,), 0
        )
        response = AddOffsetsToTxnResponse(error_code=known_error(error, client.api_version))
        return _with_reply(outcome, Reply(token, response))

    def _known(self, transactional_id: str) -> TransactionMetadata | ErrorCode:
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        return self._store.get(transactional_id) or ErrorCode.INVALID_PRODUCER_ID_MAPPING

    def _added(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
        client_transaction_version: int,
    ) -> tuple[ErrorCode, Outcome]:
        metadata = self._known(transactional_id)
        if isinstance(metadata, ErrorCode):
            return metadata, NOTHING
        if metadata.is_prepared and self._rules.checks_pending_first:
            return ErrorCode.CONCURRENT_TRANSACTIONS, NOTHING
        error = _owner_error(metadata, producer_id, producer_epoch)
        is_added = metadata.state is TransactionState.ONGOING and metadata.partitions.issuperset(partitions)
        if error is not ErrorCode.NONE or is_added:
            return error, NOTHING
        ongoing = with_partitions(
            metadata, partitions, client_transaction_version=client_transaction_version, now_ms=self._context.now_ms
        )
        return ErrorCode.NONE, self._store.write(ongoing)

    def _verified(
        self, transaction: AddPartitionsToTxnTransaction, partitions: Collection[TopicPartition], version: int
    ) -> AddPartitionsToTxnResult:
        metadata = self._known(transaction.transactional_id)
        if isinstance(metadata, ErrorCode):
            return _result(transaction, dict.fromkeys(partitions, metadata))
        error = _owner_error(metadata, transaction.producer_id, transaction.producer_epoch)
        if error is not ErrorCode.NONE:
            return _result(transaction, dict.fromkeys(partitions, known_error(error, version)))
        missing = self._rules.missing_partition_error
        return _result(
            transaction,
            {each: ErrorCode.NONE if each in metadata.partitions else missing for each in partitions},
        )


def _owner_error(metadata: TransactionMetadata, producer_id: int, producer_epoch: int) -> ErrorCode:
    """Return why a producer may not have partitions in the transaction now; NONE if it may."""
    if metadata.producer_id != producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if metadata.producer_epoch != producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.CONCURRENT_TRANSACTIONS if metadata.is_prepared else ErrorCode.NONE


def result_of_all(transaction: AddPartitionsToTxnTransaction, error: ErrorCode) -> AddPartitionsToTxnResult:
    """Return the result of a transaction whose partitions are all added, or all refused, as the request names them."""
    return AddPartitionsToTxnResult(
        transaction.transactional_id,
        [
            AddPartitionsToTxnTopicResult(
                topic.name, [AddPartitionsToTxnPartitionResult(index, error) for index in topic.partitions]
            )
            for topic in transaction.topics
        ],
    )


def _result(
    transaction: AddPartitionsToTxnTransaction, errors: dict[TopicPartition, ErrorCode]
) -> AddPartitionsToTxnResult:
    topics: dict[str, list[AddPartitionsToTxnPartitionResult]] = {}
    for (topic, index), error in errors.items():
        topics.setdefault(topic, []).append(AddPartitionsToTxnPartitionResult(index, error))
    results = [AddPartitionsToTxnTopicResult(topic, partitions) for topic, partitions in topics.items()]
    return AddPartitionsToTxnResult(transaction.transactional_id, results)


def _with_reply(outcome: Outcome, reply: Reply) -> Outcome:
    return Outcome(records=outcome.records, replies=(reply,), on_written=outcome.on_written)
