"""DeleteRecords (key 21), v0-2: the start of a log is moved, so that what is before it is gone. KIP-107.

Behaviour: needs DELETE on each topic, else TOPIC_AUTHORIZATION_FAILED for it; UNKNOWN_TOPIC_OR_PARTITION. The leader
does it and answers when all replicas have: INVALID_TOPIC_EXCEPTION for internal topics, POLICY_VIOLATION where
cleanup.policy is compact alone, OFFSET_OUT_OF_RANGE beyond the high watermark, NOT_LEADER_OR_FOLLOWER,
KAFKA_STORAGE_ERROR, REQUEST_TIMED_OUT. Offset -1 means up to the high watermark.
Version notes: they have all the same content.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation, ResourceType
from falkirk.node.handlers.handler import AnswerLater, NodeView, Route
from falkirk.node.replication.answers import RecordsDeleted
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import DeleteRecordsRequest, DeleteRecordsResponse
from falkirk.protocol.messages.delete_records_response import DeleteRecordsPartitionResult, DeleteRecordsTopicResult
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.node.handlers.handler import Answer
    from falkirk.protocol.schema import WireMessage


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> AnswerLater:
    """Delete what may be deleted."""
    assert isinstance(request, DeleteRecordsRequest)
    return AnswerLater(partial(_delete, view, context, request))


def _delete(view: NodeView, context: RequestContext, request: DeleteRecordsRequest, answer: Answer) -> None:
    assert view.replicas is not None, "only brokers serve it"
    offsets: dict[TopicPartition, int] = {}
    refused: dict[TopicPartition, RecordsDeleted] = {}
    for topic in request.topics:
        may_delete = view.authorizer.is_allowed(context, AclOperation.DELETE, ResourceType.TOPIC, topic.name)
        for asked in topic.partitions:
            partition = TopicPartition(topic.name, asked.partition_index)
            if not may_delete:
                refused[partition] = RecordsDeleted(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            elif view.image.topics.partition(*partition) is None:
                refused[partition] = RecordsDeleted(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            else:
                offsets[partition] = asked.offset

    def done(deleted: Mapping[TopicPartition, RecordsDeleted]) -> None:
        answer(_response({**deleted, **refused}))

    if offsets:
        view.replicas.delete_records(offsets, timeout_ms=request.timeout_ms, done=done)
    else:
        done({})


def _response(results: Mapping[TopicPartition, RecordsDeleted]) -> DeleteRecordsResponse:
    topics: dict[str, DeleteRecordsTopicResult] = {}
    for partition, result in results.items():
        topic = topics.get(partition.topic)
        if topic is None:
            topic = topics[partition.topic] = DeleteRecordsTopicResult(partition.topic, [])
        topic.partitions.append(
            DeleteRecordsPartitionResult(partition.partition, result.low_watermark, result.error_code)
        )
    return DeleteRecordsResponse(topics=list(topics.values()))


ROUTE: Final = Route(api_key=21, handler=handle, needs_controller=False)
