"""ListTransactions (key 66), v0-2: the transactional ids that this broker coordinates. KIP-664, KIP-994, KIP-1152.

Behaviour: ids without DESCRIBE on them are left out. COORDINATOR_LOAD_IN_PROGRESS while one of the broker's partitions
loads; INVALID_REGULAR_EXPRESSION for a pattern that is none. Filters of unknown states are named, and match nothing.
Version notes: v1 adds the duration, v2 a pattern of the transactional id.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.patterns.topic_pattern import TopicPatternError
from falkirk.coordinator.transactions.listing import listed, unknown_state_filters
from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.broker.coordinator_runtime.operation_error import operation_error
from falkirk.node.handlers.parts.handler_result import AnswerInSlices, AnswerLater, EncodedPieces, guarded
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.transaction_requests import is_transactional_id_allowed
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.codec import encode_in_slices
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import ListTransactionsRequest, ListTransactionsResponse
from falkirk.protocol.messages.list_transactions_response import TransactionState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.coordinator.transactions.transaction_metadata import TransactionMetadata
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import Answer
    from falkirk.slices import Slices


def handle(view: BrokerView, context: RequestContext, request: ListTransactionsRequest) -> AnswerLater:
    """List the ids of all shards of this broker."""

    def start(answer: Answer) -> None:
        def done(found: Sequence[TransactionMetadata] | ErrorCode) -> None:
            if isinstance(found, ErrorCode):
                answer(ListTransactionsResponse(error_code=operation_error(found)))
            else:
                answer(AnswerInSlices(_list(view, context, request, found)))

        view.broker.transactions.list_transactions(guarded(answer, done))

    return AnswerLater(start)


def _list(
    view: BrokerView, context: RequestContext, request: ListTransactionsRequest, found: Sequence[TransactionMetadata]
) -> Slices[EncodedPieces]:
    response = ListTransactionsResponse(unknown_state_filters=unknown_state_filters(request))
    is_allowed = partial(is_transactional_id_allowed, view, context, AclOperation.DESCRIBE)
    allowed = (each for each in found if is_allowed(each.transactional_id))
    try:
        states = yield from listed(allowed, request, view.now_ms)
    except TopicPatternError:
        response.error_code = ErrorCode.INVALID_REGULAR_EXPRESSION
    else:
        response.transaction_states = mapped_array(_state, states)
    return EncodedPieces((yield from encode_in_slices(response, context.api_version)))


def _state(metadata: TransactionMetadata) -> TransactionState:
    return TransactionState(metadata.transactional_id, metadata.producer_id, metadata.state.state_name)


ROUTE: Final[Route[BrokerView, ListTransactionsRequest]] = Route(BrokerView, ListTransactionsRequest, handle)
