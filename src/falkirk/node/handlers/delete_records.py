"""DeleteRecords (key 21), v0-2: move the start of logs forward. KIP-107.

Behaviour: needs DELETE on each topic, else TOPIC_AUTHORIZATION_FAILED for it; UNKNOWN_TOPIC_OR_PARTITION. The leader
moves its log start and answers when all replicas have: INVALID_TOPIC_EXCEPTION for internal topics, POLICY_VIOLATION
where cleanup.policy is compact alone, OFFSET_OUT_OF_RANGE beyond the high watermark, NOT_LEADER_OR_FOLLOWER,
KAFKA_STORAGE_ERROR, REQUEST_TIMED_OUT. Offset -1 means the high watermark.
Version notes: all versions have the same content.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.node.broker.replication.answers import RecordsDeleted
from falkirk.node.handlers.parts.handler_result import AnswerLater, AnswerLaterInSlices, guarded, in_slices_if
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import DeleteRecordsRequest, DeleteRecordsResponse
from falkirk.protocol.messages.delete_records_response import DeleteRecordsPartitionResult, DeleteRecordsTopicResult
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.slices import SliceBudget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import Answer
    from falkirk.slices import Slices


PARTITIONS_AT_ONCE: Final = 500


def handle(
    view: BrokerView, context: RequestContext, request: DeleteRecordsRequest
) -> AnswerLater | AnswerLaterInSlices:
    """Delete records from the partitions that the client may change."""
    count = sum([len(topic.partitions) for topic in request.topics], len(request.topics))
    return in_slices_if(count > PARTITIONS_AT_ONCE, partial(_delete, view, context, request))


def _delete(view: BrokerView, context: RequestContext, request: DeleteRecordsRequest, answer: Answer) -> Slices[None]:
    budget = SliceBudget()
    offsets: dict[TopicPartition, int] = {}
    refused: dict[TopicPartition, RecordsDeleted] = {}
    for topic in request.topics:
        if budget.spend(1):
            yield
        may_delete = view.authorizer.is_allowed(context, AclOperation.DELETE, ResourceType.TOPIC, topic.name)
        for requested in topic.partitions:
            if budget.spend(1):
                yield
            partition = TopicPartition(topic.name, requested.partition_index)
            if not may_delete:
                refused[partition] = RecordsDeleted(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            elif view.image.topics.partition(*partition) is None:
                refused[partition] = RecordsDeleted(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            else:
                offsets[partition] = requested.offset

    def done(deleted: Mapping[TopicPartition, RecordsDeleted]) -> None:
        answer(_response({**deleted, **refused}))

    if offsets:
        yield from view.broker.replicas.delete_records_slices(
            offsets, timeout_ms=request.timeout_ms, done=guarded(answer, done)
        )
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


ROUTE: Final[Route[BrokerView, DeleteRecordsRequest]] = Route(
    BrokerView, DeleteRecordsRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
