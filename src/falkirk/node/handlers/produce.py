"""Produce (key 0), v0-13: append records to partitions. KIP-98, KIP-467, KIP-516, KIP-951.

Behaviour: needs WRITE on each topic, else TOPIC_AUTHORIZATION_FAILED for it; for transactional batches WRITE on the
transactional id, else TRANSACTIONAL_ID_AUTHORIZATION_FAILED for all. UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID; one
batch of magic 2 for each partition, else INVALID_RECORD; INVALID_REQUIRED_ACKS unless acks is -1, 0 or 1. With acks 0
there is no response, and an error closes the connection. Unreadable bytes fail the whole request with CORRUPT_MESSAGE.
The first batch of a transaction is appended once its coordinator has said that the partition takes part, else
INVALID_TXN_STATE, INVALID_PRODUCER_EPOCH, TRANSACTION_ABORTABLE, or NOT_ENOUGH_REPLICAS while there is no answer;
INVALID_PRODUCER_ID_MAPPING for batches of several transactional producers.
Version notes: v0-2 accept message sets of magic 0 and 1; v1 adds the throttle time, v2 the append time, v3
transactions, v5 the log start, v7 zstd (before it UNSUPPORTED_COMPRESSION_TYPE), v8 errors of single records, v10 the
current leader, v11 TRANSACTION_ABORTABLE; in v12 the broker adds the partition to the transaction; v13 names topics by
id.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.node.broker.replication.answers import PartitionProduced
from falkirk.node.broker.replication.replica_manager import NO_GUARDS
from falkirk.node.broker.transaction_verification.add_partitions_to_txn_manager import SupportedOperation
from falkirk.node.broker.transaction_verification.transaction_verification import TransactionalAppend
from falkirk.node.connections.client_quotas import PRODUCER_BYTE_RATE
from falkirk.node.handlers.parts.handler_result import AnswerLater, NoAnswer, at_once_or_in_slices, guarded
from falkirk.node.handlers.parts.partition_leaders import current_leader, leader_node
from falkirk.node.handlers.parts.produced_records import (
    UnreadableBatchError,
    batch_error,
    batch_heads,
    has_transactional,
    transactional_producer,
)
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import NO_ERROR, ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import ProduceRequest, ProduceResponse
from falkirk.protocol.messages.produce_response import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    TopicProduceResponse,
)
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.topic_partition import TopicIdPartition
from falkirk.slices import SliceBudget
from falkirk.storage.log.append import AppendOrigin
from falkirk.structs import FrozenStruct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.broker.transaction_verification.transaction_verification import Verdict
    from falkirk.node.handlers.parts.handler_result import Answer
    from falkirk.node.handlers.parts.partition_leaders import LeaderNode
    from falkirk.node.handlers.parts.produced_records import BatchHead, TransactionalProducer
    from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices
    from falkirk.storage.log.record_validator import CheckedRecords

    _TopicHeads: TypeAlias = tuple[TopicProduceData, Sequence[tuple[PartitionProduceData, Sequence[BatchHead]]]]

ADMIN_CLIENT_ID: Final = "__admin_client"
"""A client of this id may write to internal topics."""
PARTITIONS_AT_ONCE: Final = 500
"""The response for more of them is made in a step, and encoded in others."""
_TOPIC_IDS_SINCE: Final = 13
_LEADER_HINTS_SINCE: Final = 10
_REQUIRED_ACKS: Final = (-1, 0, 1)
# An enumeration's member takes eight times as long to look up as a global.
_WRITE: Final = AclOperation.WRITE
_TOPIC: Final = ResourceType.TOPIC
_CLIENT: Final = AppendOrigin.CLIENT
_ABORTABLE_SINCE: Final = 11
_ADDS_PARTITIONS_SINCE: Final = 12
_NO_COORDINATOR: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
_NO_TRANSACTION: Final = "Partition was not added to the transaction"


def handle(view: BrokerView, context: RequestContext, request: ProduceRequest) -> AnswerLater:
    """Append to the accepted partitions, and answer when the required acks have arrived."""
    return at_once_or_in_slices(partial(_produce, view, context, request), is_exclusive=True)


def _produce(view: BrokerView, context: RequestContext, request: ProduceRequest, answer: Answer) -> Slices[None]:
    heads: list[_TopicHeads] = []
    budget = SliceBudget()
    try:
        for topic in request.topic_data:
            of_topic: list[tuple[PartitionProduceData, Sequence[BatchHead]]] = []
            heads.append((topic, of_topic))
            for partition in topic.partition_data:
                of_topic.append((partition, batch_heads(partition.records or b"")))
                if budget.spend(1):
                    yield
            if budget.spend(1):
                yield
    except UnreadableBatchError as error:
        answer(_refuse(context, request, ErrorCode.CORRUPT_MESSAGE, str(error)))
        return
    if not _may_write_transactions(view, context, request, heads):
        answer(_refuse(context, request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
        return
    records, refused = yield from _sort_out(view, context, request.acks, heads)
    batches = {}
    if request.transactional_id is not None:
        found = {key: transactional_producer(data) for key, data in records.items()}
        batches = {key: batch for key, batch in found.items() if batch is not None}
    producers = {producer for producer, _ in batches.values()}
    if len(producers) > 1:
        reason = "Transactional records contained more than one producer ID"
        answer(_refuse(context, request, ErrorCode.INVALID_PRODUCER_ID_MAPPING, reason))
        return
    checked = yield from view.broker.replicas.check_slices(records)
    produce = _Produce(view, context, request, checked)
    if producers:
        sequences = {key: sequence for key, (_, sequence) in batches.items()}
        _verify(produce, producers.pop(), sequences, answer, records=records, refused=refused)
    else:
        yield from _append(produce, answer, records=records, refused=refused, guards=NO_GUARDS)


class _Produce(FrozenStruct):
    view: BrokerView
    context: "RequestContext"
    request: ProduceRequest
    checked: "Mapping[TopicIdPartition, CheckedRecords]"


def _verify(
    produce: _Produce,
    producer: TransactionalProducer,
    sequences: Mapping[TopicIdPartition, int],
    answer: Answer,
    *,
    records: Mapping[TopicIdPartition, bytes | memoryview],
    refused: Mapping[TopicIdPartition, PartitionProduced],
) -> None:
    """Append what was accepted once it is verified that the partitions take part in the transaction."""
    operation = _supported_operation(produce.context.api_version)
    transactional_id = produce.request.transactional_id
    assert transactional_id is not None, "else no batch is transactional"

    def verified(verdict: Verdict) -> None:
        accepted = {key: data for key, data in records.items() if key not in verdict.errors}
        errors = {key: _not_verified(error, operation) for key, error in verdict.errors.items()}
        append = partial(_append, produce, records=accepted, refused={**refused, **errors}, guards=verdict.guards)
        at_once_or_in_slices(append, is_exclusive=True).start(answer)

    produce.view.broker.transaction_verification.verify(
        TransactionalAppend(
            transactional_id=transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            sequences=sequences,
            operation=operation,
            done=guarded(answer, verified),
        )
    )


def _supported_operation(version: int) -> SupportedOperation:
    if version >= _ADDS_PARTITIONS_SINCE:
        return SupportedOperation.ADD_PARTITION
    return SupportedOperation.GENERIC_ERROR if version >= _ABORTABLE_SINCE else SupportedOperation.DEFAULT_ERROR


def _not_verified(error: ErrorCode, operation: SupportedOperation) -> PartitionProduced:
    """Return the result of a partition that was not verified.

    Older clients know not all retriable errors of coordinators: NOT_ENOUGH_REPLICAS has them try again at the same
    leader.
    """
    if error is ErrorCode.INVALID_TXN_STATE:
        return PartitionProduced(error_code=error, error_message=_NO_TRANSACTION)
    is_busy = error is ErrorCode.CONCURRENT_TRANSACTIONS and operation is not SupportedOperation.ADD_PARTITION
    if is_busy or error in _NO_COORDINATOR:
        reason = f"Unable to verify the partition has been added to the transaction. Underlying error: {error.name}"
        return PartitionProduced(error_code=ErrorCode.NOT_ENOUGH_REPLICAS, error_message=reason)
    return PartitionProduced(error_code=error)


def _refuse(
    context: RequestContext, request: ProduceRequest, error: ErrorCode, message: str | None = None
) -> WireMessage | NoAnswer:
    """Return the response to a request that is refused as a whole."""
    if request.acks == 0:
        return NoAnswer(close=True)
    return error_response(request, context.api_version, error, message)


def _may_write_transactions(
    view: BrokerView, context: RequestContext, request: ProduceRequest, topics: Sequence[_TopicHeads]
) -> bool:
    first_heads = [heads[0] for _, partitions in topics for _, heads in partitions if heads]
    if not has_transactional(first_heads):
        return True
    name = request.transactional_id
    if name is None:
        return False
    return view.authorizer.is_allowed(context, AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, name)


def _sort_out(
    view: BrokerView, context: RequestContext, acks: int, topics: Sequence[_TopicHeads]
) -> Slices[tuple[dict[TopicIdPartition, bytes | memoryview], dict[TopicIdPartition, PartitionProduced]]]:
    """Return (records to append, results of refused partitions)."""
    budget = SliceBudget()
    records: dict[TopicIdPartition, bytes | memoryview] = {}
    refused: dict[TopicIdPartition, PartitionProduced] = {}
    for topic, partitions in topics:
        if budget.spend(1):
            yield
        name, topic_id = _name_and_id(view, topic)
        error = _topic_error(view, context, name)
        for partition, heads in partitions:
            if budget.spend(1):
                yield
            key = TopicIdPartition(topic_id, name, partition.index)
            partition_error = error or _partition_error(view, context, key, heads, acks)
            if partition_error is NO_ERROR and heads:
                records[key] = partition.records or b""
            else:
                refused[key] = PartitionProduced(error_code=partition_error)
    return records, refused


def _name_and_id(view: BrokerView, topic: TopicProduceData) -> tuple[str, bytes]:
    """Return a topic's name ("" if its id is unknown) and id (zero if its name is)."""
    topics = view.image.topics
    if topic.topic_id != ZERO_UUID:
        return topics.names.get(topic.topic_id, topic.name), topic.topic_id
    known = topics.by_name.get(topic.name)
    return topic.name, ZERO_UUID if known is None else known.topic_id


def _topic_error(view: BrokerView, context: RequestContext, name: str) -> ErrorCode:
    if not name and context.api_version >= _TOPIC_IDS_SINCE:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not view.authorizer.is_allowed(context, _WRITE, _TOPIC, name):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return NO_ERROR


def _partition_error(
    view: BrokerView, context: RequestContext, key: TopicIdPartition, heads: Sequence[BatchHead], acks: int
) -> ErrorCode:
    if view.image.topics.partition(key.topic, key.partition) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    error = batch_error(heads, context.api_version)
    if error is not NO_ERROR:
        return error
    return NO_ERROR if acks in _REQUIRED_ACKS else ErrorCode.INVALID_REQUIRED_ACKS


def _append(
    produce: _Produce,
    answer: Answer,
    *,
    records: Mapping[TopicIdPartition, bytes | memoryview],
    refused: Mapping[TopicIdPartition, PartitionProduced],
    guards: Mapping[TopicIdPartition, int],
) -> Slices[None]:
    def done(produced: Mapping[TopicIdPartition, PartitionProduced]) -> None:
        results = {**produced, **refused} if refused else produced
        size = sum(map(len, records.values()))
        at_once_or_in_slices(partial(_respond, produce, results, size), is_exclusive=False).start(answer)

    if not records:
        done({})
        return
    context, request = produce.context, produce.request
    yield from produce.view.broker.replicas.append_slices(
        records,
        required_acks=request.acks,
        timeout_ms=request.timeout_ms,
        origin=_CLIENT,
        are_internal_topics_allowed=context.client_id == ADMIN_CLIENT_ID,
        guards=guards,
        checked=produce.checked,
        done=guarded(answer, done),
    )


def _respond(
    produce: _Produce, results: Mapping[TopicIdPartition, PartitionProduced], records_bytes: int, answer: Answer
) -> Slices[None]:
    view, context, request = produce.view, produce.context, produce.request
    throttle_ms = view.quotas.record_bytes(PRODUCER_BYTE_RATE, context, records_bytes)
    if request.acks == 0:
        close = any(result.error_code for result in results.values())
        answer(NoAnswer(close=close, throttle_ms=throttle_ms))
        return
    response = yield from _response(view, context, results)
    response.throttle_time_ms = throttle_ms
    if len(results) > PARTITIONS_AT_ONCE:
        yield
    answer(response)


def _response(
    view: BrokerView, context: RequestContext, results: Mapping[TopicIdPartition, PartitionProduced]
) -> Slices[ProduceResponse]:
    topics: dict[tuple[str, bytes], TopicProduceResponse] = {}
    leaders: dict[int, LeaderNode] = {}
    budget = SliceBudget()
    for key, result in results.items():
        if budget.spend(1 + len(result.record_errors)):
            yield
        topic = topics.get((key.topic, key.topic_id))
        if topic is None:
            topic = topics[key.topic, key.topic_id] = TopicProduceResponse(key.topic, key.topic_id, [])
        answered = PartitionProduceResponse(
            key.partition,
            result.error_code,
            result.base_offset,
            result.log_append_time_ms,
            result.log_start_offset,
            [BatchIndexAndErrorMessage(error.batch_index, error.message) for error in result.record_errors],
            result.error_message,
        )
        topic.partition_responses.append(answered)
        if context.api_version >= _LEADER_HINTS_SINCE and result.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
            leader_id, leader_epoch = current_leader(view, key.topic, key.partition)
            answered.current_leader = LeaderIdAndEpoch(leader_id, leader_epoch)
            node = leader_node(view, leader_id, context.listener)
            if node is not None:
                leaders[leader_id] = node
    return ProduceResponse(
        responses=list(topics.values()), node_endpoints=[NodeEndpoint(*node) for node in leaders.values()]
    )


ROUTE: Final[Route[BrokerView, ProduceRequest]] = Route(
    BrokerView, ProduceRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
