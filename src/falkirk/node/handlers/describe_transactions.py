"""DescribeTransactions (key 65), v0: the states of transactional ids. KIP-664.

Behaviour: needs DESCRIBE on each id, else TRANSACTIONAL_ID_AUTHORIZATION_FAILED for it; INVALID_REQUEST if it is empty.
Topics are left out without DESCRIBE on them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.broker.coordinator_runtime.operation_error import operation_error
from falkirk.node.handlers.parts.coordinator_requests import Gathered, schedule_in_slices
from falkirk.node.handlers.parts.handler_result import AnswerLater, guarded
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.topic_authorization import allowed_topics
from falkirk.node.handlers.parts.transaction_requests import transactional_id_error
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import NO_ERROR, ErrorCode
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import DescribeTransactionsRequest, DescribeTransactionsResponse
from falkirk.protocol.messages.describe_transactions_response import TransactionState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.coordinator.runtime.outcome import Outcome, Token
    from falkirk.coordinator.transactions.transaction_coordinator_shard import TransactionCoordinatorShard
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import Answer
    from falkirk.protocol.schema import WireStruct


def handle(view: BrokerView, context: RequestContext, request: DescribeTransactionsRequest) -> AnswerLater:
    """Have the shards describe the ids."""
    return AnswerLater(partial(_describe, view, context, request.transactional_ids))


def _describe(view: BrokerView, context: RequestContext, transactional_ids: Sequence[str], answer: Answer) -> None:
    # Ids without a state are errors, which need no object each.
    def finish(found: Sequence[TransactionState | ErrorCode]) -> None:
        def state_at(place: int) -> TransactionState:
            state = found[place]
            if isinstance(state, ErrorCode):
                return TransactionState(state, transactional_ids[place])
            return _visible(view, context, state)

        answer(DescribeTransactionsResponse(transaction_states=mapped_array(state_at, range(len(found)))))

    gathered: Gathered[TransactionState | ErrorCode] = Gathered(len(transactional_ids), guarded(answer, finish))

    def schedule(start: int, end: int) -> None:
        for place, transactional_id in enumerate(transactional_ids[start:end], start):
            error = transactional_id_error(view, context, AclOperation.DESCRIBE, transactional_id)
            if error is not NO_ERROR:
                gathered.put(place, error)
            else:
                view.broker.transactions.schedule(
                    transactional_id,
                    partial(_operate, transactional_id),
                    partial(_done, gathered, place),
                )

    schedule_in_slices(view.broker.transactions, len(transactional_ids), schedule)


def _operate(transactional_id: str, shard: TransactionCoordinatorShard, token: Token) -> Outcome:
    return shard.describe_transactions([transactional_id], token)


def _done(gathered: Gathered[TransactionState | ErrorCode], place: int, result: WireStruct | ErrorCode) -> None:
    if isinstance(result, ErrorCode):
        gathered.put(place, operation_error(result))
        return
    assert isinstance(result, DescribeTransactionsResponse), "as the shard answers"
    (state,) = result.transaction_states
    gathered.put(place, ErrorCode(state.error_code) if state.error_code else state)


def _visible(view: BrokerView, context: RequestContext, state: TransactionState) -> TransactionState:
    """Leave out topics that the client may not describe."""
    allowed = allowed_topics(view, context, AclOperation.DESCRIBE, [topic.topic for topic in state.topics])
    return replace(state, topics=[topic for topic in state.topics if topic.topic in allowed])


ROUTE: Final[Route[BrokerView, DescribeTransactionsRequest]] = Route(BrokerView, DescribeTransactionsRequest, handle)
