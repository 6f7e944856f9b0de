"""ConsumerGroupDescribe (key 69), v0-1: state, epochs and members of consumer protocol groups. KIP-848.

Behaviour: UNSUPPORTED_VERSION unless the protocol is enabled. Needs DESCRIBE on each group, else
GROUP_AUTHORIZATION_FAILED for it; where groups depend on `group.version`, also DESCRIBE on all of their topics, else
TOPIC_AUTHORIZATION_FAILED. INVALID_GROUP_ID for an empty id.
Differs from Kafka: a group that is named twice is described once.
Version notes: v1 adds the members' types.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.consumer.description import no_consumer_group
from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.authorized_operations import authorized_group_operations
from falkirk.node.handlers.parts.described_groups import DescribedGroups
from falkirk.node.handlers.parts.group_requests import allowed_groups
from falkirk.node.handlers.parts.handler_result import AnswerLater, guarded
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.topic_authorization import allowed_topics
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from falkirk.protocol.messages.consumer_group_describe_response import DescribedGroup
from falkirk.versions.features import GROUP_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import Answer
    from falkirk.protocol.schema import WireMessage

_HIDDEN_TOPICS: Final = "The group has described topic(s) that the client is not authorized to describe."


def handle(
    view: BrokerView, context: RequestContext, request: ConsumerGroupDescribeRequest
) -> WireMessage | AnswerLater:
    """Have the shards describe the groups."""
    if not view.broker.groups.is_consumer_protocol_enabled:
        return error_response(request, context.api_version, ErrorCode.UNSUPPORTED_VERSION)
    return AnswerLater(partial(_describe, view, context, request))


def _describe(view: BrokerView, context: RequestContext, request: ConsumerGroupDescribeRequest, answer: Answer) -> None:
    allowed, forbidden = allowed_groups(view, context, AclOperation.DESCRIBE, request.group_ids)
    if "" in allowed:
        allowed.remove("")
        forbidden.append("")
    refused_count, names = len(forbidden), [*forbidden, *allowed]

    def finish(found: Sequence[DescribedGroup | ErrorCode | None]) -> None:
        def group_at(place: int) -> DescribedGroup:
            name = names[place]
            if place < refused_count:
                return _failed(name, ErrorCode.GROUP_AUTHORIZATION_FAILED if name else ErrorCode.INVALID_GROUP_ID)
            group = found[place - refused_count]
            if isinstance(group, ErrorCode):
                return _failed(name, group)
            group = no_consumer_group(name, None) if group is None else _without_hidden_topics(view, context, group)
            if request.include_authorized_operations and group.error_code == ErrorCode.NONE:
                group.authorized_operations = authorized_group_operations(view, context, name)
            return group

        answer(ConsumerGroupDescribeResponse(groups=mapped_array(group_at, range(len(names)))))

    described: DescribedGroups[DescribedGroup] = DescribedGroups(
        view,
        allowed,
        lambda shard, group_ids, token: shard.describe_consumer_groups(group_ids, token),
        guarded(answer, finish),
    )
    described.start()


def _without_hidden_topics(view: BrokerView, context: RequestContext, group: DescribedGroup) -> DescribedGroup:
    if GROUP_VERSION not in view.release.features or not view.authorizer.is_configured:
        return group
    topics = {
        topic.topic_name
        for member in group.members
        for assignment in (member.assignment, member.target_assignment)
        for topic in assignment.topic_partitions
    }
    if len(allowed_topics(view, context, AclOperation.DESCRIBE, topics)) == len(topics):
        return group
    return DescribedGroup(
        group_id=group.group_id, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message=_HIDDEN_TOPICS
    )


def _failed(name: str, error: ErrorCode) -> DescribedGroup:
    return DescribedGroup(group_id=name, error_code=error)


ROUTE: Final[Route[BrokerView, ConsumerGroupDescribeRequest]] = Route(BrokerView, ConsumerGroupDescribeRequest, handle)
