"""OffsetForLeaderEpoch (key 23), v0-4: where the records of a leader epoch end. KIP-101, KIP-279, KIP-320.

Behaviour: needs CLUSTER_ACTION on CLUSTER, or DESCRIBE on each topic, else TOPIC_AUTHORIZATION_FAILED for it. The
leader answers: NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR, FENCED_LEADER_EPOCH,
UNKNOWN_LEADER_EPOCH. Epoch and offset are -1 if the epoch is not known.
Version notes: v1 tells which epoch was found, v2 takes the epoch that the client thinks is current, v3 the
replica's id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation, ResourceType
from falkirk.node.handlers.cluster_authorization import is_cluster_operation_allowed
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from falkirk.protocol.messages.offset_for_leader_epoch_response import EpochEndOffset, OffsetForLeaderTopicResult
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.messages.offset_for_leader_epoch_request import OffsetForLeaderPartition
    from falkirk.protocol.schema import WireMessage


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> OffsetForLeaderEpochResponse:
    """Look the epochs up."""
    assert isinstance(request, OffsetForLeaderEpochRequest)
    may_replicate = is_cluster_operation_allowed(view, context, AclOperation.CLUSTER_ACTION)
    topics = []
    for topic in request.topics:
        may_ask = may_replicate or view.authorizer.is_allowed(
            context, AclOperation.DESCRIBE, ResourceType.TOPIC, topic.topic
        )
        found = [
            _end_offset(view, topic.topic, asked)
            if may_ask
            else EpochEndOffset(ErrorCode.TOPIC_AUTHORIZATION_FAILED, asked.partition)
            for asked in topic.partitions
        ]
        topics.append(OffsetForLeaderTopicResult(topic.topic, found))
    return OffsetForLeaderEpochResponse(topics=topics)


def _end_offset(view: NodeView, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    assert view.replicas is not None, "only brokers serve it"
    log = view.replicas.leader_log(TopicPartition(topic, asked.partition), asked.current_leader_epoch)
    if isinstance(log, ErrorCode):
        return EpochEndOffset(log, asked.partition)
    end = log.end_offset_for_epoch(asked.leader_epoch)
    if end is None:
        return EpochEndOffset(ErrorCode.NONE, asked.partition)
    return EpochEndOffset(ErrorCode.NONE, asked.partition, end.epoch, end.offset)


ROUTE: Final = Route(api_key=23, handler=handle, needs_controller=False)
