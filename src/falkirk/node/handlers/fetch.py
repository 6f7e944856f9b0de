"""Fetch (key 1), v0-18: records are read, by consumers, followers, and replicas of the metadata log.

KIP-227, KIP-320, KIP-392, KIP-516, KIP-595, KIP-853, KIP-903, KIP-951, KIP-1166.

Behaviour on listeners of the controller role: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; the
replica of the metadata log answers. On those of the broker role it is a topic like any that does not exist.
Consumers need READ on each topic, followers CLUSTER_ACTION on CLUSTER, else TOPIC_AUTHORIZATION_FAILED for each
partition; UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID if the topic was made anew. The whole is
refused with the errors of fetch sessions (`node.fetch_sessions`).
Version notes: v0-3 get message sets of magic 0 (up to v1) and 1; v3 limits the bytes of all, and gives one batch
however large; v4 adds isolation, v5 log starts, v7 sessions, v9 leader epochs, v10 zstd (before it, in releases until
3.9, UNSUPPORTED_COMPRESSION_TYPE for topics of it), v11 racks and preferred replicas; v12 has what the quorum needs
(epochs, cluster id); v13 topic ids; v15 the replica's state; v16 who leads instead; v17 its directory; v18 the high
watermark that it has. Up to v5 KAFKA_STORAGE_ERROR is told as NOT_LEADER_OR_FOLLOWER.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation, ResourceType
from falkirk.node.fetch_sessions import PartitionKey
from falkirk.node.handlers.cluster_authorization import is_cluster_operation_allowed, refusal
from falkirk.node.handlers.fetched_partitions import fetched_partition, refused_partition, response
from falkirk.node.handlers.handler import ASK_RAFT, AnswerLater, AskRaft, InPieces, NodeView, Route
from falkirk.node.replication.fetch_params import CONSUMER_REPLICA_ID, FetchParams, FetchPartition
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import FetchRequest
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.topic_partition import TopicIdPartition
from falkirk.storage.log.read import FetchIsolation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.node.fetch_sessions import FetchContext
    from falkirk.node.handlers.handler import Answer
    from falkirk.node.handlers.partition_leaders import LeaderNode
    from falkirk.node.replication.fetch_params import PartitionFetched
    from falkirk.protocol.messages.fetch_response import PartitionData
    from falkirk.protocol.schema import WireMessage

_TOPIC_IDS_SINCE: Final = 13
_REPLICA_STATE_SINCE: Final = 15
_RACKS_SINCE: Final = 11
_SOFT_LIMITS_SINCE: Final = 3
_FUTURE_LOCAL_REPLICA: Final = -3
_READ_COMMITTED: Final = 1
# What a request says that does not tell a high watermark.
_NO_HIGH_WATERMARK: Final = 2**63 - 1


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage | AskRaft | AnswerLater:
    """Let the replica of the metadata log answer, or those of the broker."""
    assert isinstance(request, FetchRequest)
    if not view.is_broker:
        return refusal(view, context, request, AclOperation.CLUSTER_ACTION) or ASK_RAFT
    assert view.fetch_sessions is not None, "a broker has them"
    params = _params(view, context, request)
    fetch = view.fetch_sessions.begin(
        session_id=request.session_id,
        epoch=request.session_epoch,
        partitions=dict(_asked(request)),
        forgotten=_forgotten(request),
        uses_topic_ids=context.api_version >= _TOPIC_IDS_SINCE,
        is_follower=params.is_from_follower,
        now_ms=view.now_ms,
    )
    return AnswerLater(partial(_fetch, view, context, params, fetch))


def _fetch(view: NodeView, context: RequestContext, params: FetchParams, fetch: FetchContext, answer: Answer) -> None:
    """Read what may be read, and answer."""
    assert view.replicas is not None, "only brokers come here"
    access = _Access(view, context, params)
    reads: dict[TopicIdPartition, tuple[PartitionKey, FetchPartition]] = {}
    unknown: dict[PartitionKey, PartitionData] = {}
    refused: dict[PartitionKey, PartitionData] = {}
    topics = view.image.topics
    for key, name, asked in fetch.partitions(topics.names):
        why = access.why_refused(key, name)
        if why is ErrorCode.UNKNOWN_TOPIC_ID:
            unknown[key] = refused_partition(key.partition, why)
        elif why is not ErrorCode.NONE:
            refused[key] = refused_partition(key.partition, why)
        else:
            assert name is not None, "else it is refused"
            reads[TopicIdPartition(topics.by_name[name].topic_id, name, key.partition)] = (key, asked)

    def done(fetched: Sequence[tuple[TopicIdPartition, PartitionFetched]]) -> None:
        leaders: dict[int, LeaderNode] = {}
        results: dict[PartitionKey, PartitionData] = {}
        for partition, result in fetched:
            key, asked = reads[partition]
            results[key] = fetched_partition(
                view, context, partition, result, first_offset=asked.fetch_offset, leaders=leaders
            )
        # In Kafka's order: clients may see it.
        results |= unknown | refused
        answer(InPieces(response(fetch.answer(results), {} if params.is_from_follower else leaders)))

    if reads:
        view.replicas.fetch_records(params, [(partition, asked) for partition, (_, asked) in reads.items()], done)
    else:
        done(())


def _params(view: NodeView, context: RequestContext, request: FetchRequest) -> FetchParams:
    version = context.api_version
    replica_id = request.replica_id if version < _REPLICA_STATE_SINCE else request.replica_state.replica_id
    max_bytes = min(request.max_bytes, view.fetch_bytes_max)
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


def _asked(request: FetchRequest) -> Iterator[tuple[PartitionKey, FetchPartition]]:
    for topic in request.topics:
        for partition in topic.partitions:
            high_watermark = partition.high_watermark
            yield (
                PartitionKey(topic.topic_id, topic.topic, partition.partition),
                FetchPartition(
                    fetch_offset=partition.fetch_offset,
                    max_bytes=partition.partition_max_bytes,
                    current_leader_epoch=partition.current_leader_epoch,
                    last_fetched_epoch=partition.last_fetched_epoch,
                    log_start_offset=partition.log_start_offset,
                    high_watermark=None if high_watermark == _NO_HIGH_WATERMARK else high_watermark,
                ),
            )


def _forgotten(request: FetchRequest) -> Iterator[PartitionKey]:
    for topic in request.forgotten_topics_data:
        for partition in topic.partitions:
            yield PartitionKey(topic.topic_id, topic.topic, partition)


class _Access:
    """Who may fetch which partition; each topic is looked at once in a request."""

    def __init__(self, view: NodeView, context: RequestContext, params: FetchParams) -> None:
        self._topics = view.image.topics
        self._authorizer = view.authorizer
        self._context = context
        self._is_follower = params.is_from_follower
        self._may_replicate = params.is_from_follower and is_cluster_operation_allowed(
            view, context, AclOperation.CLUSTER_ACTION
        )
        self._allowed: dict[str, bool] = {}

    def why_refused(self, key: PartitionKey, name: str | None) -> ErrorCode:
        """Give the error of a partition; NONE if it may be read."""
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


ROUTE: Final = Route(api_key=1, handler=handle, needs_controller=False)
