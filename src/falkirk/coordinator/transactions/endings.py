"""The end of transactions: EndTxn, fencing by the next producer, timeouts. Markers come after the commit of the end.

Source: KIP-98, KIP-360, KIP-890; TransactionCoordinator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.coordinator.runtime.outcome import Outcome, Reply
from falkirk.coordinator.runtime.transaction_markers import TransactionMarkers
from falkirk.coordinator.transactions.added_partitions import known_error
from falkirk.coordinator.transactions.transaction_metadata import (
    EPOCH_BUMP_VERSION,
    EPOCH_MAX,
    completed,
    prepared,
    supports_epoch_bump,
)
from falkirk.coordinator.transactions.transaction_rules import (
    LATEST_CLIENT_VERSION_WITHOUT_EPOCH_BUMP,
    transaction_rules,
)
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import EndTxnResponse
from falkirk.protocol.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.coordinator.runtime.client import ClientContext
    from falkirk.coordinator.runtime.outcome import Token
    from falkirk.coordinator.transactions.context import TransactionContext
    from falkirk.coordinator.transactions.transaction_metadata import TransactionMetadata
    from falkirk.coordinator.transactions.transaction_store import TransactionStore
    from falkirk.protocol.messages import EndTxnRequest


class Endings:
    """Decides transactions, and says which markers they need."""

    def __init__(self, context: TransactionContext, store: TransactionStore) -> None:
        self._context = context
        self._store = store
        self._rules = transaction_rules(context.release)

    def end_transaction(self, client: ClientContext, request: EndTxnRequest, token: Token) -> Outcome:
        """Answer with an EndTxnResponse; markers follow when the decision is committed."""
        version = client.api_version
        metadata = self._store.get(request.transactional_id)
        if not request.transactional_id:
            return _failed(token, ErrorCode.INVALID_REQUEST)
        if metadata is None:
            return _failed(token, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if version > LATEST_CLIENT_VERSION_WITHOUT_EPOCH_BUMP:
            return self._end_with_epoch_bump(metadata, request, token)
        error = _state_error(metadata, request)
        if error is not None:
            return _failed(token, known_error(error, version))
        return self._prepare(
            metadata, is_commit=request.committed, version=0, replies=(Reply(token, EndTxnResponse()),)
        )

    def fence(self, metadata: TransactionMetadata, *, replies: Sequence[Reply] = ()) -> Outcome:
        """Abort an ongoing transaction with the next epoch, so that its producer is fenced.

        Not a client's request: the finalized transaction.version decides how.
        """
        version = self._context.transaction_version if self._rules.bumps_epochs else 0
        if not supports_epoch_bump(version) or self._rules.fences_twice:
            metadata = replace(
                metadata,
                producer_epoch=min(metadata.producer_epoch + 1, EPOCH_MAX),
                last_producer_epoch=NO_PRODUCER_EPOCH,
            )
        return self._prepare(metadata, is_commit=False, version=version, replies=replies)

    def markers_of(self, metadata: TransactionMetadata) -> TransactionMarkers:
        """Return the markers of a decided transaction."""
        return TransactionMarkers(
            transactional_id=metadata.transactional_id,
            producer_id=metadata.producer_id,
            producer_epoch=metadata.producer_epoch,
            is_commit=metadata.state is TransactionState.PREPARE_COMMIT,
            coordinator_epoch=self._context.coordinator_epoch,
            transaction_version=metadata.client_transaction_version,
            partitions=tuple(sorted(metadata.partitions)),
        )

    def _end_with_epoch_bump(self, metadata: TransactionMetadata, request: EndTxnRequest, token: Token) -> Outcome:
        """End a transaction of transaction.version 2: the response has the epoch of the next one."""
        error = _bumped_state_error(metadata, request)
        if error is ErrorCode.NONE:
            # The response was lost; the epoch of the next transaction is the current one.
            return Outcome(replies=(_end_reply(token, metadata),))
        if error is not None:
            return _failed(token, error)
        next_producer_id: int | None = NO_PRODUCER_ID
        if metadata.is_epoch_exhausted:
            next_producer_id = self._context.take_producer_id()
        if next_producer_id is None:
            return _failed(token, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        decided = prepared(
            metadata,
            is_commit=request.committed,
            client_transaction_version=EPOCH_BUMP_VERSION,
            next_producer_id=next_producer_id,
            now_ms=self._context.now_ms,
            has_partitions=metadata.state is TransactionState.ONGOING,
        )
        reply = _end_reply(token, completed(decided, self._context.now_ms))
        return self._store.write(decided, replies=(reply,), markers=(self.markers_of(decided),))

    def _prepare(
        self, metadata: TransactionMetadata, *, is_commit: bool, version: int, replies: Sequence[Reply]
    ) -> Outcome:
        decided = prepared(
            metadata,
            is_commit=is_commit,
            client_transaction_version=version if supports_epoch_bump(version) else 0,
            next_producer_id=NO_PRODUCER_ID,
            now_ms=self._context.now_ms,
        )
        return self._store.write(decided, replies=replies, markers=(self.markers_of(decided),))


def _state_error(metadata: TransactionMetadata, request: EndTxnRequest) -> ErrorCode | None:
    """Return the answer to a client before transaction.version 2; None: the transaction is to end now."""
    if metadata.producer_id != request.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if metadata.producer_epoch != request.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    if metadata.is_prepared:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if metadata.state is TransactionState.ONGOING:
        return None
    return ErrorCode.NONE if metadata.state is _complete_state(request) else ErrorCode.INVALID_TXN_STATE


def _bumped_state_error(metadata: TransactionMetadata, request: EndTxnRequest) -> ErrorCode | None:
    """Return the answer to a client of transaction.version 2; None: the transaction is to end now.

    The epoch tells a retry, which is answered with NONE, from the end of the next transaction. An abort with the
    current epoch is always accepted: the producer need not know whether the transaction has begun.
    """
    if metadata.is_prepared:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    epoch, state = request.producer_epoch, metadata.state
    is_overflow_retry = (
        metadata.previous_producer_id == request.producer_id and epoch == EPOCH_MAX - 1 and metadata.producer_epoch == 0
    )
    is_complete = state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
    if metadata.producer_id != request.producer_id and not is_overflow_retry:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if is_complete and (is_overflow_retry or metadata.producer_epoch == epoch + 1):
        return ErrorCode.NONE if state is _complete_state(request) else ErrorCode.INVALID_TXN_STATE
    if metadata.producer_epoch != epoch:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.INVALID_TXN_STATE if request.committed and state is not TransactionState.ONGOING else None


def _complete_state(request: EndTxnRequest) -> TransactionState:
    return TransactionState.COMPLETE_COMMIT if request.committed else TransactionState.COMPLETE_ABORT


def _end_reply(token: Token, metadata: TransactionMetadata) -> Reply:
    return Reply(token, EndTxnResponse(producer_id=metadata.producer_id, producer_epoch=metadata.producer_epoch))


def _failed(token: Token, error: ErrorCode) -> Outcome:
    return Outcome(replies=(Reply(token, EndTxnResponse(error_code=error)),))
