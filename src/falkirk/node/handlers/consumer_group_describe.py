"""ConsumerGroupDescribe (key 69), v0-1: state, epochs and members of groups of the consumer protocol. KIP-848.

Behaviour: UNSUPPORTED_VERSION where the protocol is not enabled. Needs DESCRIBE on each group, else
GROUP_AUTHORIZATION_FAILED for it; where groups depend on `group.version`, DESCRIBE on all their topics too, else
TOPIC_AUTHORIZATION_FAILED. INVALID_GROUP_ID for an empty one.
Version notes: v1 adds the members' types.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.authorized_operations import authorized_group_operations
from falkirk.node.handlers.group_requests import ask_groups, client_of, groups_of, is_group_allowed
from falkirk.node.handlers.handler import AnswerLater, NodeView, Route
from falkirk.node.handlers.topic_authorization import allowed_topics
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from falkirk.protocol.messages.consumer_group_describe_response import DescribedGroup
from falkirk.versions.features import GROUP_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.node.handlers.handler import Answer
    from falkirk.protocol.schema import WireMessage

_HIDDEN_TOPICS: Final = "The group has described topic(s) that the client is not authorized to describe."


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage | AnswerLater:
    """Let the shards of the groups answer."""
    assert isinstance(request, ConsumerGroupDescribeRequest)
    if not groups_of(view).is_consumer_protocol_enabled:
        return error_response(request, context.api_version, ErrorCode.UNSUPPORTED_VERSION)
    return AnswerLater(partial(_describe, view, context, request))


def _describe(view: NodeView, context: RequestContext, request: ConsumerGroupDescribeRequest, answer: Answer) -> None:
    allowed: list[str] = []
    refused: list[DescribedGroup] = []
    for name in request.group_ids:
        if not is_group_allowed(view, context, AclOperation.DESCRIBE, name):
            refused.append(_failed(name, ErrorCode.GROUP_AUTHORIZATION_FAILED))
        elif not name:
            refused.append(_failed(name, ErrorCode.INVALID_GROUP_ID))
        else:
            allowed.append(name)

    def finish(groups: Sequence[DescribedGroup]) -> None:
        told = [_without_hidden_topics(view, context, group) for group in groups]
        if request.include_authorized_operations:
            for group in told:
                if group.error_code == ErrorCode.NONE:
                    group.authorized_operations = authorized_group_operations(view, context, group.group_id)
        answer(ConsumerGroupDescribeResponse(groups=[*refused, *told]))

    client = client_of(context)
    ask_groups(
        view,
        allowed,
        lambda shard, name, token: shard.describe_consumer_group(client, name, token),
        of_error=_failed,
        finish=finish,
    )


def _without_hidden_topics(view: NodeView, context: RequestContext, group: DescribedGroup) -> DescribedGroup:
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


ROUTE: Final = Route(api_key=69, handler=handle, needs_controller=False)
