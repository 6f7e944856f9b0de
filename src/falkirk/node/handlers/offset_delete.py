"""OffsetDelete (key 47), v0: delete offsets of topics that a group no longer consumes. KIP-496.

Behaviour: needs DELETE on the group, else GROUP_AUTHORIZATION_FAILED, and READ on each topic, else
TOPIC_AUTHORIZATION_FAILED for it; INVALID_GROUP_ID, UNKNOWN_TOPIC_OR_PARTITION, and from the group
GROUP_SUBSCRIBED_TO_TOPIC, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP. An error of the group replaces all others.
Version notes: there is one.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.coordinator_requests import client_of
from falkirk.node.handlers.parts.group_requests import ask_group, group_error
from falkirk.node.handlers.parts.requested_topics import in_topic_chunks, sort_topics
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import NO_ERROR
from falkirk.protocol.messages import OffsetDeleteRequest, OffsetDeleteResponse
from falkirk.protocol.messages.offset_delete_response import OffsetDeleteResponsePartition, OffsetDeleteResponseTopic

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import AnswerLater, AnswerLaterInSlices
    from falkirk.protocol.schema import WireMessage


def handle(
    view: BrokerView, context: RequestContext, request: OffsetDeleteRequest
) -> WireMessage | AnswerLater | AnswerLaterInSlices:
    """Have the group's shard delete the offsets of existing topics that the client may read."""
    error = group_error(view, context, AclOperation.DELETE, request.group_id)
    if error is not NO_ERROR:
        return OffsetDeleteResponse(error_code=error)
    return in_topic_chunks(request, partial(_delete, view, context))


def _delete(view: BrokerView, context: RequestContext, request: OffsetDeleteRequest) -> AnswerLater:
    sorted_ = sort_topics(view, context, request.topics)
    topics: dict[str, OffsetDeleteResponseTopic] = {}
    for topic, index, refusal in sorted_.refused:
        _topic(topics, topic.name).partitions.append(OffsetDeleteResponsePartition(index, refusal))
    requested = replace(request, topics=sorted_.accepted)
    client = client_of(context)

    def merged(part: WireMessage) -> OffsetDeleteResponse:
        assert isinstance(part, OffsetDeleteResponse)
        if part.error_code:
            return part
        for topic in part.topics:
            _topic(topics, topic.name).partitions.extend(topic.partitions)
        return OffsetDeleteResponse(topics=list(topics.values()))

    return ask_group(
        view,
        context,
        requested,
        request.group_id,
        lambda shard, token: shard.delete_offsets(client, requested, token),
        change=merged,
    )


def _topic(topics: dict[str, OffsetDeleteResponseTopic], name: str) -> OffsetDeleteResponseTopic:
    """Return the topic of the response, added if it is missing."""
    topic = topics.get(name)
    if topic is None:
        topic = topics[name] = OffsetDeleteResponseTopic(name, [])
    return topic


ROUTE: Final[Route[BrokerView, OffsetDeleteRequest]] = Route(
    BrokerView, OffsetDeleteRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
