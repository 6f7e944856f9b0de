"""ListTransactions (key 66), v0-2: the transactional ids that this broker coordinates. KIP-664, KIP-994, KIP-1152.

Behaviour: ids without DESCRIBE on them are left out. COORDINATOR_LOAD_IN_PROGRESS while one of the broker's partitions
loads; INVALID_REGULAR_EXPRESSION for a pattern that is none. Filters of unknown states are named, and match nothing.
Version notes: v1 adds the duration, v2 a pattern of the transactional id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.transactions.listing import unknown_state_filters
from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.broker.coordinator_runtime.operation_error import operation_error
from falkirk.node.handlers.parts.handler_result import AnswerLater
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.transaction_requests import is_transactional_id_allowed
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ListTransactionsRequest, ListTransactionsResponse

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import Answer
    from falkirk.protocol.schema import WireStruct


def handle(view: BrokerView, context: RequestContext, request: ListTransactionsRequest) -> AnswerLater:
    """Have all shards of this broker list their ids."""

    def start(answer: Answer) -> None:
        def done(result: WireStruct | ErrorCode) -> None:
            if isinstance(result, ErrorCode):
                answer(ListTransactionsResponse(error_code=operation_error(result)))
                return
            assert isinstance(result, ListTransactionsResponse), "of all shards"
            result.unknown_state_filters = unknown_state_filters(request)
            result.transaction_states = [
                state
                for state in result.transaction_states
                if is_transactional_id_allowed(view, context, AclOperation.DESCRIBE, state.transactional_id)
            ]
            answer(result)

        view.broker.transactions.list_transactions(request, done)

    return AnswerLater(start)


ROUTE: Final[Route[BrokerView, ListTransactionsRequest]] = Route(BrokerView, ListTransactionsRequest, handle)
