"""OffsetCommit (key 8), v0-10: how far a group is. KIP-211, KIP-320, KIP-345, KIP-848.

Behaviour: needs READ on the group, else GROUP_AUTHORIZATION_FAILED for all, and on each topic, else
TOPIC_AUTHORIZATION_FAILED for it; UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION. The group's shard answers for what is
left. v0 is UNSUPPORTED_VERSION: its offsets were ZooKeeper's.
Version notes: v1 adds member and generation, v2-4 a retention time, v6 leader epochs, v7 the group instance id, v9 the
errors of the consumer protocol; v10 names topics by id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.group_coordinator.operation_errors import commit_error
from falkirk.node.handlers.group_requests import ask_group, client_of, groups_of, is_group_allowed
from falkirk.node.handlers.handler import AnswerLater, NodeView, Route
from falkirk.node.handlers.topic_partition_refusals import sort_topics
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import OffsetCommitRequest, OffsetCommitResponse
from falkirk.protocol.messages.offset_commit_response import OffsetCommitResponsePartition, OffsetCommitResponseTopic

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

_COORDINATOR_SINCE: Final = 1
_IDS_SINCE: Final = 10


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage | AnswerLater:
    """Let the group's shard answer for the topics that are there and may be read."""
    assert isinstance(request, OffsetCommitRequest)
    version = context.api_version
    if not is_group_allowed(view, context, AclOperation.READ, request.group_id):
        return error_response(request, version, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if version < _COORDINATOR_SINCE:
        return error_response(request, version, ErrorCode.UNSUPPORTED_VERSION)
    sorted_ = sort_topics(view, context, request.topics, by_id=version >= _IDS_SINCE)
    response = OffsetCommitResponse(topics=[])
    for topic, index, error in sorted_.refused:
        _topic(response, topic.name, topic.topic_id).partitions.append(OffsetCommitResponsePartition(index, error))
    if not sorted_.accepted:
        return response
    asked = replace(request, topics=sorted_.accepted)
    ids = {topic.name: topic.topic_id for topic in asked.topics}
    kind = groups_of(view).kind
    client = client_of(context)

    def merged(part: WireMessage) -> OffsetCommitResponse:
        assert isinstance(part, OffsetCommitResponse)
        for topic in part.topics:
            _topic(response, topic.name, ids[topic.name]).partitions.extend(topic.partitions)
        return response

    def merged_error(error: ErrorCode) -> ErrorCode:
        return commit_error(error, kind)

    return ask_group(
        view,
        context,
        asked,
        request.group_id,
        lambda shard, token: shard.commit_offsets(client, asked, token),
        told=merged_error,
        change=merged,
    )


def _topic(response: OffsetCommitResponse, name: str, topic_id: bytes) -> OffsetCommitResponseTopic:
    """Give the topic's place in the answer."""
    for topic in reversed(response.topics):
        if topic.name == name and topic.topic_id == topic_id:
            return topic
    response.topics.append(OffsetCommitResponseTopic(name, topic_id, []))
    return response.topics[-1]


ROUTE: Final = Route(api_key=8, handler=handle, needs_controller=False)
