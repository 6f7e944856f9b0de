"""InitProducerId with a transactional id: a producer gets an id and an epoch, which fences its predecessor.

Source: KIP-98, KIP-360, KIP-890, KIP-939; TransactionCoordinator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.coordinator.runtime.outcome import Outcome, Reply
from falkirk.coordinator.transactions.transaction_metadata import (
    TWO_PHASE_TIMEOUT_MS,
    TransactionMetadata,
    initialized,
    is_epoch_exhausted,
    rotated,
)
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import InitProducerIdResponse
from falkirk.protocol.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

if TYPE_CHECKING:
    from falkirk.coordinator.runtime.client import ClientContext
    from falkirk.coordinator.runtime.outcome import Token
    from falkirk.coordinator.transactions.context import TransactionContext
    from falkirk.coordinator.transactions.endings import Endings
    from falkirk.coordinator.transactions.transaction_store import TransactionStore
    from falkirk.protocol.messages import InitProducerIdRequest

FENCED_VERSION: Final = 4
"""InitProducerId below this version does not know PRODUCER_FENCED."""


class Initialization:
    """Requests of producers that begin, or go on after an error."""

    def __init__(self, context: TransactionContext, store: TransactionStore, endings: Endings) -> None:
        self._context = context
        self._store = store
        self._endings = endings

    def init_producer_id(self, client: ClientContext, request: InitProducerIdRequest, token: Token) -> Outcome:
        """Answer with an InitProducerIdResponse.

        An open transaction is aborted first: CONCURRENT_TRANSACTIONS, and the producer comes again.
        """
        error = self._refusal(request)
        if error is not ErrorCode.NONE:
            return _failed(token, error)
        metadata = self._known(request)
        if isinstance(metadata, ErrorCode):
            return _failed(token, _known_error(metadata, client.api_version))
        if metadata.state is TransactionState.ONGOING:
            return self._endings.fence(metadata, replies=(_error_reply(token, ErrorCode.CONCURRENT_TRANSACTIONS),))
        found = self._next(metadata, request)
        if isinstance(found, ErrorCode):
            return _failed(token, _known_error(found, client.api_version))
        response = InitProducerIdResponse(producer_id=found.producer_id, producer_epoch=found.producer_epoch)
        return self._store.write(found, replies=(Reply(token, response),))

    def _refusal(self, request: InitProducerIdRequest) -> ErrorCode:
        settings = self._context.settings
        if not request.transactional_id:
            return ErrorCode.INVALID_REQUEST
        if request.enable2pc and not settings.two_phase_commit_enable:
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        if request.keep_prepared_txn:
            # No release keeps prepared transactions yet.
            return ErrorCode.UNSUPPORTED_VERSION
        is_valid = request.enable2pc or 0 < request.transaction_timeout_ms <= settings.transaction_max_timeout_ms
        return ErrorCode.NONE if is_valid else ErrorCode.INVALID_TRANSACTION_TIMEOUT

    def _known(self, request: InitProducerIdRequest) -> TransactionMetadata | ErrorCode:
        """Return the state of the id, a new one if it has none; or why the producer may not have it."""
        transactional_id = request.transactional_id
        assert transactional_id is not None, "it was refused"
        metadata = self._store.get(transactional_id)
        if metadata is not None:
            if metadata.is_prepared:
                return ErrorCode.CONCURRENT_TRANSACTIONS
            return metadata if _is_owner(metadata, request) else ErrorCode.PRODUCER_FENCED
        producer_id = self._context.take_producer_id()
        if producer_id is None:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return TransactionMetadata(
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=NO_PRODUCER_EPOCH,
            timeout_ms=request.transaction_timeout_ms,
            last_update_timestamp_ms=self._context.now_ms,
        )

    def _next(self, metadata: TransactionMetadata, request: InitProducerIdRequest) -> TransactionMetadata | ErrorCode:
        """Return the state with the next epoch, or the next producer id; or the error."""
        now_ms = self._context.now_ms
        timeout_ms = TWO_PHASE_TIMEOUT_MS if request.enable2pc else request.transaction_timeout_ms
        has_expected = request.producer_id != NO_PRODUCER_ID
        epoch, expected = metadata.producer_epoch, request.producer_epoch
        if metadata.is_epoch_exhausted:
            if has_expected and expected != epoch:
                # Kafka fails here: it asserts that there is another epoch.
                return ErrorCode.UNKNOWN_SERVER_ERROR
            producer_id = self._context.take_producer_id()
            if producer_id is None:
                return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            last_epoch = epoch if has_expected else NO_PRODUCER_EPOCH
            return rotated(
                metadata, producer_id=producer_id, last_epoch=last_epoch, timeout_ms=timeout_ms, now_ms=now_ms
            )
        if not has_expected:
            next_epoch, last_epoch = epoch + 1, NO_PRODUCER_EPOCH
        elif epoch in (NO_PRODUCER_EPOCH, expected):
            next_epoch, last_epoch = epoch + 1, epoch
        elif expected == metadata.last_producer_epoch:
            # The retry of a request that was answered: no new producer has come since.
            next_epoch, last_epoch = epoch, metadata.last_producer_epoch
        else:
            return ErrorCode.PRODUCER_FENCED
        return initialized(metadata, epoch=next_epoch, last_epoch=last_epoch, timeout_ms=timeout_ms, now_ms=now_ms)


def _is_owner(metadata: TransactionMetadata, request: InitProducerIdRequest) -> bool:
    """Return whether the producer's own id, if any, is the current one, or the one before if its epochs are used up."""
    if request.producer_id in (NO_PRODUCER_ID, metadata.producer_id):
        return True
    return request.producer_id == metadata.previous_producer_id and is_epoch_exhausted(request.producer_epoch)


def _known_error(error: ErrorCode, version: int) -> ErrorCode:
    is_unknown = error is ErrorCode.PRODUCER_FENCED and version < FENCED_VERSION
    return ErrorCode.INVALID_PRODUCER_EPOCH if is_unknown else error


def _error_reply(token: Token, error: ErrorCode) -> Reply:
    response = InitProducerIdResponse(error_code=error, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH)
    return Reply(token, response)


def _failed(token: Token, error: ErrorCode) -> Outcome:
    return Outcome(replies=(_error_reply(token, error),))
