"""Fetch (key 1), v0-18: consumers, followers, and replicas of the metadata log read records.

KIP-227, KIP-320, KIP-392, KIP-516, KIP-595, KIP-853, KIP-903, KIP-951, KIP-1166.

Behaviour on listeners of the controller role: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; the
replica of the metadata log answers. On those of the broker role the metadata topic is unknown.
Consumers need READ on each topic, followers CLUSTER_ACTION on CLUSTER, else TOPIC_AUTHORIZATION_FAILED for each
partition; UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID if the topic was recreated. Errors of
fetch sessions (`node.broker.fetch_sessions`) refuse the whole request.
Version notes: v0-3 get message sets of magic 0 (up to v1) and 1; v3 adds a limit for the whole response, and returns at
least one batch however large; v4 adds isolation, v5 log start offsets, v7 sessions, v9 leader epochs, v10 zstd (before
it, in releases up to 3.9, UNSUPPORTED_COMPRESSION_TYPE for topics that use it), v11 racks and preferred replicas; v12
what the quorum needs (epochs, cluster id); v13 topic ids; v15 the replica's state; v16 the current leader's endpoint;
v17 the replica's directory; v18 its high watermark. Up to v5 NOT_LEADER_OR_FOLLOWER stands for KAFKA_STORAGE_ERROR.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003
from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.node.broker.fetch_sessions import FetchContext, FetchPartitionKey
from falkirk.node.broker.replication.fetch_params import CONSUMER_REPLICA_ID, FetchParams, FetchPartition
from falkirk.node.handlers.parts.cluster_authorization import is_cluster_operation_allowed, refusal
from falkirk.node.handlers.parts.fetched_partitions import fetched_partition, refused_partition, response
from falkirk.node.handlers.parts.handler_result import (
    ASK_RAFT,
    AnswerLater,
    AnswerLaterInSlices,
    AskRaft,
    InPieces,
    guarded,
    in_slices_if,
)
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.view import BrokerView, NodeView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import FetchRequest
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.topic_partition import TopicIdPartition
from falkirk.storage.log.read import FetchIsolation
from falkirk.structs import FrozenStruct

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.broker.replication.fetch_params import PartitionFetched
    from falkirk.node.handlers.parts.handler_result import Answer
    from falkirk.node.handlers.parts.partition_leaders import LeaderNode
    from falkirk.protocol.messages.fetch_response import PartitionData
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices

PARTITIONS_AT_ONCE: Final = 1_000
"""Beyond it a request takes many steps, with as many partitions in each."""
_TOPIC_IDS_SINCE: Final = 13
_REPLICA_STATE_SINCE: Final = 15
_RACKS_SINCE: Final = 11
_SOFT_LIMITS_SINCE: Final = 3
_FUTURE_LOCAL_REPLICA: Final = -3
_READ_COMMITTED: Final = 1
# The default of requests without a high watermark.
_NO_HIGH_WATERMARK: Final = 2**63 - 1


def handle(
    view: NodeView, context: RequestContext, request: FetchRequest
) -> WireMessage | AskRaft | AnswerLater | AnswerLaterInSlices:
    """Have the replica of the metadata log answer, or read from the broker's partitions."""
    if not isinstance(view, BrokerView):
        return refusal(view, context, request, AclOperation.CLUSTER_ACTION) or ASK_RAFT
    count = sum([len(topic.partitions) for topic in request.topics], len(request.topics))
    if request.session_id:
        count += view.broker.fetch_sessions.partition_count(request.session_id)
    return in_slices_if(count > PARTITIONS_AT_ONCE, partial(_fetch, view, context, request))


def _fetch(view: BrokerView, context: RequestContext, request: FetchRequest, answer: Answer) -> Slices[None]:
    """Begin or continue the session, read the partitions that the client may read, and answer."""
    params = _params(view, context, request)
    requested: dict[FetchPartitionKey, FetchPartition] = {}
    for number, (key, partition) in enumerate(_requested(request), 1):
        requested[key] = partition
        if number % PARTITIONS_AT_ONCE == 0:
            yield
    fetch = view.broker.fetch_sessions.begin(
        session_id=request.session_id,
        epoch=request.session_epoch,
        partitions=requested,
        forgotten=_forgotten(request),
        uses_topic_ids=context.api_version >= _TOPIC_IDS_SINCE,
        is_follower=params.is_from_follower,
        now_ms=view.now_ms,
    )
    access = _Access(view, context, params)
    reads: dict[TopicIdPartition, tuple[FetchPartitionKey, FetchPartition]] = {}
    unknown: dict[FetchPartitionKey, PartitionData] = {}
    refused: dict[FetchPartitionKey, PartitionData] = {}
    topics = view.image.topics
    for number, (key, name, fetch_partition) in enumerate(fetch.partitions(topics.names), 1):
        if number % PARTITIONS_AT_ONCE == 0:
            yield
        error = access.partition_error(key, name)
        if error is ErrorCode.UNKNOWN_TOPIC_ID:
            unknown[key] = refused_partition(key.partition, error)
        elif error is not ErrorCode.NONE:
            refused[key] = refused_partition(key.partition, error)
        else:
            assert name is not None, "else it is refused"
            reads[TopicIdPartition(topics.by_name[name].topic_id, name, key.partition)] = (key, fetch_partition)

    def done(fetched: Sequence[tuple[TopicIdPartition, PartitionFetched]]) -> None:
        read = _Read(params, fetch, reads, unknown | refused)
        respond = in_slices_if(len(fetched) > PARTITIONS_AT_ONCE, partial(_respond, view, context, read, fetched))
        if isinstance(respond, AnswerLaterInSlices):
            answer(respond)
        else:
            respond.start(answer)

    if reads:
        partitions = [(partition, fetch_partition) for partition, (_, fetch_partition) in reads.items()]
        yield from view.broker.replicas.fetch_slices(params, partitions, guarded(answer, done))
    else:
        done(())


class _Read(FrozenStruct):
    """A request that has been read. `reads`: key and what is fetched of each partition; `others`: the refused ones."""

    params: FetchParams
    fetch: FetchContext
    reads: Mapping[TopicIdPartition, tuple[FetchPartitionKey, FetchPartition]]
    others: Mapping[FetchPartitionKey, PartitionData]


def _respond(
    view: BrokerView,
    context: RequestContext,
    read: _Read,
    fetched: Sequence[tuple[TopicIdPartition, PartitionFetched]],
    answer: Answer,
) -> Slices[None]:
    """Answer with what was fetched, and remember it in the session."""
    is_from_follower = read.params.is_from_follower
    leaders: dict[int, LeaderNode] = {}
    results: dict[FetchPartitionKey, PartitionData] = {}
    for number, (partition, result) in enumerate(fetched, 1):
        key, requested = read.reads[partition]
        results[key] = fetched_partition(
            view, context, partition, result, first_offset=requested.fetch_offset, leaders=leaders
        )
        if number % PARTITIONS_AT_ONCE == 0:
            yield
    throttle_ms = 0
    if not is_from_follower:
        size = sum(len(data.records or b"") for data in results.values())
        throttle_ms = view.quotas.fetched(context, size)
    # In Kafka's order: clients may see it.
    results.update(read.others)
    sent = read.fetch.throttled() if throttle_ms else (yield from read.fetch.answer_slices(results))
    if sent.error is ErrorCode.NONE and not throttle_ms:
        for partition, result in fetched:
            key, requested = read.reads[partition]
            requested.quiet = None if results[key].error_code else result.quiet
    if len(sent.results) > PARTITIONS_AT_ONCE:
        yield
    answered = response(sent, {} if is_from_follower else leaders)
    answered.throttle_time_ms = throttle_ms
    answer(InPieces(answered))


def _params(view: BrokerView, context: RequestContext, request: FetchRequest) -> FetchParams:
    version = context.api_version
    replica_id = request.replica_id if version < _REPLICA_STATE_SINCE else request.replica_state.replica_id
    max_bytes = min(request.max_bytes, view.broker.fetch_bytes_max)
    if replica_id == CONSUMER_REPLICA_ID:
        max_bytes = view.quotas.fetch_bytes_max(context, max_bytes)
    if replica_id >= 0 or replica_id == _FUTURE_LOCAL_REPLICA:
        isolation = FetchIsolation.LOG_END
    elif request.isolation_level == _READ_COMMITTED:
        isolation = FetchIsolation.TXN_COMMITTED
    else:
        isolation = FetchIsolation.HIGH_WATERMARK
    return FetchParams(
        replica_id=replica_id,
        replica_epoch=request.replica_state.replica_epoch,
        max_wait_ms=request.max_wait_ms,
        min_bytes=min(request.min_bytes, max_bytes),
        max_bytes=max_bytes,
        isolation=isolation,
        rack=request.rack_id,
        client_host=context.client_host,
        is_leader_only=replica_id >= 0 or (replica_id == CONSUMER_REPLICA_ID and version < _RACKS_SINCE),
        is_limit_hard=version < _SOFT_LIMITS_SINCE,
    )


def _requested(request: FetchRequest) -> Iterator[tuple[FetchPartitionKey, FetchPartition]]:
    for topic in request.topics:
        for partition in topic.partitions:
            high_watermark = partition.high_watermark
            yield (
                FetchPartitionKey(topic.topic_id, topic.topic, partition.partition),
                FetchPartition(
                    fetch_offset=partition.fetch_offset,
                    max_bytes=partition.partition_max_bytes,
                    current_leader_epoch=partition.current_leader_epoch,
                    last_fetched_epoch=partition.last_fetched_epoch,
                    log_start_offset=partition.log_start_offset,
                    high_watermark=None if high_watermark == _NO_HIGH_WATERMARK else high_watermark,
                ),
            )


def _forgotten(request: FetchRequest) -> Iterator[FetchPartitionKey]:
    for topic in request.forgotten_topics_data:
        for partition in topic.partitions:
            yield FetchPartitionKey(topic.topic_id, topic.topic, partition)


class _Access:
    """Decides which partitions a client may fetch; checks each topic once in a request."""

    def __init__(self, view: BrokerView, context: RequestContext, params: FetchParams) -> None:
        self._topics = view.image.topics
        self._authorizer = view.authorizer
        self._context = context
        self._is_follower = params.is_from_follower
        self._may_replicate = params.is_from_follower and is_cluster_operation_allowed(
            view, context, AclOperation.CLUSTER_ACTION
        )
        self._allowed: dict[str, bool] = {}

    def partition_error(self, key: FetchPartitionKey, name: str | None) -> ErrorCode:
        """Return the error of a partition; NONE if it may be read."""
        if self._is_follower and not self._may_replicate:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if name is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        if not self._is_follower and not self._may_read(name):
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        topic = self._topics.by_name.get(name)
        if topic is None or topic.partition(key.partition) is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if key.topic_id not in (ZERO_UUID, topic.topic_id):
            return ErrorCode.INCONSISTENT_TOPIC_ID
        return ErrorCode.NONE

    def _may_read(self, name: str) -> bool:
        allowed = self._allowed.get(name)
        if allowed is None:
            may = self._authorizer.is_allowed(self._context, AclOperation.READ, ResourceType.TOPIC, name)
            allowed = self._allowed[name] = may
        return allowed


ROUTE: Final[Route[NodeView, FetchRequest]] = Route(NodeView, FetchRequest, handle, elements_max=PARTITION_ELEMENTS_MAX)
