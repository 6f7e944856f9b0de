"""OffsetForLeaderEpoch (key 23), v0-4: the end offsets of leader epochs. KIP-101, KIP-279, KIP-320.

Behaviour: needs CLUSTER_ACTION on CLUSTER, or DESCRIBE on each topic, else TOPIC_AUTHORIZATION_FAILED for it. The
leader answers: NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR, FENCED_LEADER_EPOCH,
UNKNOWN_LEADER_EPOCH. Epoch and offset are -1 for an unknown epoch.
Version notes: v1 returns the epoch that was found, v2 adds the epoch that the client takes for current, v3 the
replica's id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.node.handlers.parts.cluster_authorization import is_cluster_operation_allowed
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from falkirk.protocol.messages.offset_for_leader_epoch_response import EpochEndOffset, OffsetForLeaderTopicResult
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.messages.offset_for_leader_epoch_request import OffsetForLeaderPartition, OffsetForLeaderTopic


def handle(
    view: BrokerView, context: RequestContext, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    """Look up the epochs."""
    may_replicate = is_cluster_operation_allowed(view, context, AclOperation.CLUSTER_ACTION)

    def found(topic: OffsetForLeaderTopic) -> OffsetForLeaderTopicResult:
        may_ask = may_replicate or view.authorizer.is_allowed(
            context, AclOperation.DESCRIBE, ResourceType.TOPIC, topic.topic
        )

        def end_offset(requested: OffsetForLeaderPartition) -> EpochEndOffset:
            if not may_ask:
                return EpochEndOffset(ErrorCode.TOPIC_AUTHORIZATION_FAILED, requested.partition)
            return _end_offset(view, topic.topic, requested)

        return OffsetForLeaderTopicResult(topic.topic, mapped_array(end_offset, topic.partitions))

    return OffsetForLeaderEpochResponse(topics=mapped_array(found, request.topics))


def _end_offset(view: BrokerView, topic: str, requested: OffsetForLeaderPartition) -> EpochEndOffset:
    log = view.broker.replicas.leader_log(TopicPartition(topic, requested.partition), requested.current_leader_epoch)
    if isinstance(log, ErrorCode):
        return EpochEndOffset(log, requested.partition)
    end = log.end_offset_for_epoch(requested.leader_epoch)
    if end is None:
        return EpochEndOffset(ErrorCode.NONE, requested.partition)
    return EpochEndOffset(ErrorCode.NONE, requested.partition, end.epoch, end.offset)


ROUTE: Final[Route[BrokerView, OffsetForLeaderEpochRequest]] = Route(
    BrokerView, OffsetForLeaderEpochRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
