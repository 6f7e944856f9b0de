"""AddPartitionsToTxn (key 24), v0-5: partitions become part of a transaction, or are verified. KIP-98, KIP-890.

Behaviour: up to v3 of a producer, for one transaction: needs WRITE on the transactional id, else
TRANSACTIONAL_ID_AUTHORIZATION_FAILED for all partitions, and on each topic, else TOPIC_AUTHORIZATION_FAILED for it;
nobody may add internal topics. From v4 on of a broker, for many transactions: needs CLUSTER_ACTION on CLUSTER, else
CLUSTER_AUTHORIZATION_FAILED. A partition that does not exist is UNKNOWN_TOPIC_OR_PARTITION, and then nothing of its
transaction is added: OPERATION_NOT_ATTEMPTED for the others.
Version notes: v2 adds PRODUCER_FENCED, v3 flexible fields, v4 batches, verification and TRANSACTION_ABORTABLE, v5
partitions that brokers add for their producers (transaction.version 2).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from falkirk.coordinator.transactions.added_partitions import result_of_all
from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.broker.coordinator_runtime.operation_error import operation_error
from falkirk.node.handlers.parts.cluster_authorization import is_cluster_operation_allowed
from falkirk.node.handlers.parts.coordinator_requests import Gathered, client_of
from falkirk.node.handlers.parts.handler_result import guarded, in_slices_if
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.topic_authorization import allowed_topics_in_slices
from falkirk.node.handlers.parts.transaction_requests import is_transactional_id_allowed
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from falkirk.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from falkirk.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from falkirk.slices import DECISION_VISITS, SliceBudget

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import Answer, AnswerLater, AnswerLaterInSlices
    from falkirk.protocol.schema import WireMessage, WireStruct
    from falkirk.slices import Slices

_BROKERS_SINCE: Final = 4
_AT_ONCE: Final = 500
"""Transactions, topics and partitions of a request that is answered in one step."""


def handle(
    view: BrokerView, context: RequestContext, request: AddPartitionsToTxnRequest
) -> WireMessage | AnswerLater | AnswerLaterInSlices:
    """Have the shard of each transactional id add or verify the partitions."""
    if context.api_version < _BROKERS_SINCE:
        transactions = [
            AddPartitionsToTxnTransaction(
                transactional_id=request.v3_and_below_transactional_id,
                producer_id=request.v3_and_below_producer_id,
                producer_epoch=request.v3_and_below_producer_epoch,
                topics=request.v3_and_below_topics,
            )
        ]
    elif not is_cluster_operation_allowed(view, context, AclOperation.CLUSTER_ACTION):
        return error_response(request, context.api_version, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    else:
        transactions = request.transactions
    count = sum(1 + len(topic.partitions) for transaction in transactions for topic in transaction.topics)
    is_large = count + len(transactions) > _AT_ONCE
    return in_slices_if(is_large, partial(_add, view, context, transactions), is_exclusive=True)


def _add(
    view: BrokerView, context: RequestContext, transactions: Sequence[AddPartitionsToTxnTransaction], answer: Answer
) -> Slices[None]:
    client = client_of(context)

    def finish(results: Sequence[AddPartitionsToTxnResult]) -> None:
        if context.api_version < _BROKERS_SINCE:
            (only,) = results
            answer(AddPartitionsToTxnResponse(results_by_topic_v3_and_below=only.topic_results))
        else:
            answer(AddPartitionsToTxnResponse(results_by_transaction=list(results)))

    gathered = Gathered(len(transactions), guarded(answer, finish))

    def schedule(place: int, requested: AddPartitionsToTxnTransaction, distinct: AddPartitionsToTxnTransaction) -> None:
        view.broker.transactions.schedule(
            requested.transactional_id,
            lambda shard, token: shard.add_partitions(client, distinct, token),
            lambda result: gathered.put(place, _answered(requested, distinct, result)),
        )

    budget = SliceBudget()
    for place, transaction in enumerate(transactions):
        refused = yield from _refused(view, context, transaction, budget)
        if refused is not None:
            gathered.put(place, refused)
        elif sum(len(topic.partitions) for topic in transaction.topics) > _AT_ONCE:
            topics = yield from _distinct(transaction.topics, budget)
            schedule(place, transaction, replace(transaction, topics=topics))
        else:
            schedule(place, transaction, transaction)
        if budget.spend(DECISION_VISITS):
            yield


def _distinct(topics: Sequence[AddPartitionsToTxnTopic], budget: SliceBudget) -> Slices[list[AddPartitionsToTxnTopic]]:
    """Return the topics with each partition once: the shard takes all of them in one step."""
    partitions: dict[str, dict[int, None]] = {}
    for topic in topics:
        of_topic = partitions.setdefault(topic.name, {})
        for index in topic.partitions:
            of_topic[index] = None
            if budget.spend(1):
                yield
        if budget.spend(1):
            yield
    return [AddPartitionsToTxnTopic(name, tuple(of_topic)) for name, of_topic in partitions.items()]


def _answered(
    requested: AddPartitionsToTxnTransaction, distinct: AddPartitionsToTxnTransaction, result: WireStruct | ErrorCode
) -> AddPartitionsToTxnResult:
    """Return the result of a transaction, of which the shard got each partition once."""
    if isinstance(result, ErrorCode):
        return result_of_all(requested, operation_error(result))
    assert isinstance(result, AddPartitionsToTxnResult), "what the shard answers"
    if distinct is requested or requested.verify_only:
        return result
    # All are added, or none is.
    (first, *_) = result.topic_results
    return result_of_all(requested, ErrorCode(first.results_by_partition[0].partition_error_code))


def _refused(
    view: BrokerView, context: RequestContext, transaction: AddPartitionsToTxnTransaction, budget: SliceBudget
) -> Slices[AddPartitionsToTxnResult | None]:
    """Return the result of a transaction that goes to no shard; None if it may."""
    transactional_id, names = transaction.transactional_id, {topic.name for topic in transaction.topics}
    is_client = context.api_version < _BROKERS_SINCE
    if is_client and not is_transactional_id_allowed(view, context, AclOperation.WRITE, transactional_id):
        return result_of_all(transaction, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    allowed: AbstractSet[str] = names
    if is_client:
        outer = names - view.release.internal_topics
        allowed = yield from allowed_topics_in_slices(view, context, AclOperation.WRITE, outer)
    topics, is_refused = [], False
    for topic in transaction.topics:
        results = []
        for index in topic.partitions:
            error = ErrorCode.OPERATION_NOT_ATTEMPTED
            if topic.name not in allowed:
                error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif view.image.topics.partition(topic.name, index) is None:
                error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            is_refused = is_refused or error is not ErrorCode.OPERATION_NOT_ATTEMPTED
            results.append(AddPartitionsToTxnPartitionResult(index, error))
            if budget.spend(DECISION_VISITS):
                yield
        topics.append(AddPartitionsToTxnTopicResult(topic.name, results))
    if is_refused:
        return AddPartitionsToTxnResult(transactional_id, topics)
    return None if transactional_id else result_of_all(transaction, ErrorCode.INVALID_REQUEST)


ROUTE: Final[Route[BrokerView, AddPartitionsToTxnRequest]] = Route(BrokerView, AddPartitionsToTxnRequest, handle)
