"""DescribeGroups (key 15), v0-6: state and members of classic groups. KIP-345, KIP-430, KIP-1043.

Behaviour: needs DESCRIBE on each group, else GROUP_AUTHORIZATION_FAILED for it. Groups that do not exist are Dead.
Differs from Kafka: a group that is named twice is described once.
Version notes: v3 adds the authorized operations, v4 the group instance ids, v6 GROUP_ID_NOT_FOUND and messages.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.classic.description import describe
from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.authorized_operations import authorized_group_operations
from falkirk.node.handlers.parts.coordinator_requests import client_of
from falkirk.node.handlers.parts.described_groups import DescribedGroups
from falkirk.node.handlers.parts.group_requests import allowed_groups
from falkirk.node.handlers.parts.handler_result import AnswerLater, guarded
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import DescribeGroupsRequest, DescribeGroupsResponse
from falkirk.protocol.messages.describe_groups_response import DescribedGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import Answer


def handle(view: BrokerView, context: RequestContext, request: DescribeGroupsRequest) -> AnswerLater:
    """Have the shards describe the groups."""
    return AnswerLater(partial(_describe, view, context, request))


def _describe(view: BrokerView, context: RequestContext, request: DescribeGroupsRequest, answer: Answer) -> None:
    allowed, forbidden = allowed_groups(view, context, AclOperation.DESCRIBE, request.groups)
    forbidden_count, names = len(forbidden), [*forbidden, *allowed]
    client = client_of(context)

    def finish(found: Sequence[DescribedGroup | ErrorCode | None]) -> None:
        def group_at(place: int) -> DescribedGroup:
            if place < forbidden_count:
                return _failed(names[place], ErrorCode.GROUP_AUTHORIZATION_FAILED)
            group = found[place - forbidden_count]
            if isinstance(group, ErrorCode):
                return _failed(names[place], group)
            group = group or describe(names[place], None, context.api_version)
            if request.include_authorized_operations and group.error_code == ErrorCode.NONE:
                group.authorized_operations = authorized_group_operations(view, context, group.group_id)
            return group

        answer(DescribeGroupsResponse(groups=mapped_array(group_at, range(len(names)))))

    described: DescribedGroups[DescribedGroup] = DescribedGroups(
        view,
        allowed,
        lambda shard, group_ids, token: shard.describe_groups(client, group_ids, token),
        guarded(answer, finish),
    )
    described.start()


def _failed(name: str, error: ErrorCode) -> DescribedGroup:
    return DescribedGroup(group_id=name, error_code=error)


ROUTE: Final[Route[BrokerView, DescribeGroupsRequest]] = Route(BrokerView, DescribeGroupsRequest, handle)
