"""OffsetDelete (key 47), v0: offsets of topics that a group reads no more are forgotten. KIP-496.

Behaviour: needs DELETE on the group, else GROUP_AUTHORIZATION_FAILED, and READ on each topic, else
TOPIC_AUTHORIZATION_FAILED for it; INVALID_GROUP_ID, UNKNOWN_TOPIC_OR_PARTITION, and from the group
GROUP_SUBSCRIBED_TO_TOPIC, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP. An error of the group is told instead of all others.
Version notes: there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.group_requests import ask_group, client_of, why_refused
from falkirk.node.handlers.handler import AnswerLater, NodeView, Route
from falkirk.node.handlers.topic_partition_refusals import sort_topics
from falkirk.protocol.error_codes import NO_ERROR
from falkirk.protocol.messages import OffsetDeleteRequest, OffsetDeleteResponse
from falkirk.protocol.messages.offset_delete_response import OffsetDeleteResponsePartition, OffsetDeleteResponseTopic

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage | AnswerLater:
    """Let the group's shard answer for the topics that are there and may be read."""
    assert isinstance(request, OffsetDeleteRequest)
    error = why_refused(view, context, AclOperation.DELETE, request.group_id)
    if error is not NO_ERROR:
        return OffsetDeleteResponse(error_code=error)
    sorted_ = sort_topics(view, context, request.topics)
    response = OffsetDeleteResponse(topics=[])
    for topic, index, why in sorted_.refused:
        _topic(response, topic.name).partitions.append(OffsetDeleteResponsePartition(index, why))
    asked = replace(request, topics=sorted_.accepted)
    client = client_of(context)

    def merged(part: WireMessage) -> OffsetDeleteResponse:
        assert isinstance(part, OffsetDeleteResponse)
        if part.error_code:
            return part
        for topic in part.topics:
            _topic(response, topic.name).partitions.extend(topic.partitions)
        return response

    return ask_group(
        view,
        context,
        asked,
        request.group_id,
        lambda shard, token: shard.delete_offsets(client, asked, token),
        change=merged,
    )


def _topic(response: OffsetDeleteResponse, name: str) -> OffsetDeleteResponseTopic:
    """Give the topic's place in the answer."""
    for topic in reversed(response.topics):
        if topic.name == name:
            return topic
    response.topics.append(OffsetDeleteResponseTopic(name, []))
    return response.topics[-1]


ROUTE: Final = Route(api_key=47, handler=handle, needs_controller=False)
