"""TxnOffsetCommit (key 28), v0-6: how far a group is once a transaction is committed. KIP-98, KIP-447, KIP-890.

Behaviour: needs WRITE on the transactional id, else TRANSACTIONAL_ID_AUTHORIZATION_FAILED, READ on the group, else
GROUP_AUTHORIZATION_FAILED, and READ on each topic, else TOPIC_AUTHORIZATION_FAILED for it; INVALID_GROUP_ID,
UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION. The offsets are pending until the transaction's marker comes.
Differs from Kafka: no transaction coordinator is asked whether the transaction is open.
Version notes: v2 adds leader epochs, and knows COORDINATOR_LOAD_IN_PROGRESS (before it COORDINATOR_NOT_AVAILABLE), v3
adds the member and its generation; v6 names topics by id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from falkirk.metadata.acl_types import AclOperation, ResourceType
from falkirk.node.group_coordinator.operation_errors import commit_error
from falkirk.node.handlers.group_requests import ask_group, client_of, groups_of, is_group_allowed
from falkirk.node.handlers.handler import AnswerLater, NodeView, Route
from falkirk.node.handlers.topic_partition_refusals import sort_topics
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from falkirk.protocol.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

_LOADING_SINCE: Final = 2
_IDS_SINCE: Final = 6


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage | AnswerLater:
    """Let the group's shard answer for the topics that are there and may be read."""
    assert isinstance(request, TxnOffsetCommitRequest)
    version = context.api_version
    error = _refusal(view, context, request)
    if error is not ErrorCode.NONE:
        return error_response(request, version, error)
    sorted_ = sort_topics(view, context, request.topics, by_id=version >= _IDS_SINCE)
    response = TxnOffsetCommitResponse(topics=[])
    for topic, index, why in sorted_.refused:
        _topic(response, topic.name, topic.topic_id).partitions.append(TxnOffsetCommitResponsePartition(index, why))
    if not sorted_.accepted:
        return response
    asked = replace(request, topics=sorted_.accepted)
    ids = {topic.name: topic.topic_id for topic in asked.topics}
    kind = groups_of(view).kind
    client = client_of(context)

    def told(failure: ErrorCode) -> ErrorCode:
        if failure is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _LOADING_SINCE:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return commit_error(failure, kind)

    def merged(part: WireMessage) -> TxnOffsetCommitResponse:
        assert isinstance(part, TxnOffsetCommitResponse)
        for topic in part.topics:
            _topic(response, topic.name, ids[topic.name]).partitions.extend(topic.partitions)
        return response

    return ask_group(
        view,
        context,
        asked,
        request.group_id,
        lambda shard, token: shard.commit_transactional_offsets(client, asked, token),
        told=told,
        change=merged,
    )


def _refusal(view: NodeView, context: RequestContext, request: TxnOffsetCommitRequest) -> ErrorCode:
    kind, name = ResourceType.TRANSACTIONAL_ID, request.transactional_id
    if not view.authorizer.is_allowed(context, AclOperation.WRITE, kind, name):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if not is_group_allowed(view, context, AclOperation.READ, request.group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return ErrorCode.NONE if request.group_id else ErrorCode.INVALID_GROUP_ID


def _topic(response: TxnOffsetCommitResponse, name: str, topic_id: bytes) -> TxnOffsetCommitResponseTopic:
    """Give the topic's place in the answer."""
    for topic in reversed(response.topics):
        if topic.name == name and topic.topic_id == topic_id:
            return topic
    response.topics.append(TxnOffsetCommitResponseTopic(name, topic_id, []))
    return response.topics[-1]


ROUTE: Final = Route(api_key=28, handler=handle, needs_controller=False)
