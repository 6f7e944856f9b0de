"""DeleteGroups (key 42), v0-3: delete groups without members, with their offsets. KIP-229.

Behaviour: needs DELETE on each group, else GROUP_AUTHORIZATION_FAILED for it; NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND. A
group that is named twice is deleted once.
Version notes: v3 adds messages.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.coordinator_requests import ask_each, client_of
from falkirk.node.handlers.parts.group_requests import allowed_groups
from falkirk.node.handlers.parts.handler_result import AnswerLater, guarded
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import DeleteGroupsRequest, DeleteGroupsResponse
from falkirk.protocol.messages.delete_groups_response import DeletableGroupResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import Answer


def handle(view: BrokerView, context: RequestContext, request: DeleteGroupsRequest) -> AnswerLater:
    """Have the shards delete the groups."""
    return AnswerLater(partial(_delete, view, context, request))


def _delete(view: BrokerView, context: RequestContext, request: DeleteGroupsRequest, answer: Answer) -> None:
    allowed, forbidden = allowed_groups(view, context, AclOperation.DELETE, request.groups_names)
    refused = [DeletableGroupResult(name, ErrorCode.GROUP_AUTHORIZATION_FAILED) for name in forbidden]

    def finish(results: Sequence[DeletableGroupResult]) -> None:
        answer(DeleteGroupsResponse(results=[*results, *refused]))

    client = client_of(context)
    ask_each(
        view.broker.groups,
        allowed,
        lambda shard, name, token: shard.delete_group(client, name, token),
        of_error=DeletableGroupResult,
        finish=guarded(answer, finish),
    )


ROUTE: Final[Route[BrokerView, DeleteGroupsRequest]] = Route(BrokerView, DeleteGroupsRequest, handle)
