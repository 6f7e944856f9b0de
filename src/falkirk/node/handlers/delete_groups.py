"""DeleteGroups (key 42), v0-3: groups without members go, with their offsets. KIP-229.

Behaviour: needs DELETE on each group, else GROUP_AUTHORIZATION_FAILED for it; NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND. A
group that is named twice is deleted once.
Version notes: v3 adds messages.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.group_requests import ask_groups, client_of, is_group_allowed
from falkirk.node.handlers.handler import AnswerLater, NodeView, Route
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import DeleteGroupsRequest, DeleteGroupsResponse
from falkirk.protocol.messages.delete_groups_response import DeletableGroupResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.node.handlers.handler import Answer
    from falkirk.protocol.schema import WireMessage


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> AnswerLater:
    """Let the shards of the groups answer."""
    assert isinstance(request, DeleteGroupsRequest)
    return AnswerLater(partial(_delete, view, context, request))


def _delete(view: NodeView, context: RequestContext, request: DeleteGroupsRequest, answer: Answer) -> None:
    names = dict.fromkeys(request.groups_names)
    allowed = [name for name in names if is_group_allowed(view, context, AclOperation.DELETE, name)]
    refused = [
        DeletableGroupResult(name, ErrorCode.GROUP_AUTHORIZATION_FAILED) for name in names if name not in allowed
    ]

    def finish(results: Sequence[DeletableGroupResult]) -> None:
        answer(DeleteGroupsResponse(results=[*results, *refused]))

    client = client_of(context)
    ask_groups(
        view,
        allowed,
        lambda shard, name, token: shard.delete_group(client, name, token),
        of_error=DeletableGroupResult,
        finish=finish,
    )


ROUTE: Final = Route(api_key=42, handler=handle, needs_controller=False)
