"""LeaveGroup (key 13), v0-5: members leave a group, or an administrator removes them. KIP-345.

Behaviour: needs READ on the group, else GROUP_AUTHORIZATION_FAILED; INVALID_GROUP_ID without one.
Version notes: v0-2 name one member, whose error is the top-level one; v3 accepts many, v5 adds the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.coordinator_requests import client_of
from falkirk.node.handlers.parts.group_requests import ask_group, group_error
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import NO_ERROR
from falkirk.protocol.messages import LeaveGroupRequest, LeaveGroupResponse
from falkirk.protocol.messages.leave_group_request import MemberIdentity

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import AnswerLater
    from falkirk.protocol.schema import WireMessage

_MEMBERS_SINCE: Final = 3


def handle(view: BrokerView, context: RequestContext, request: LeaveGroupRequest) -> WireMessage | AnswerLater:
    """Have the group's shard remove the members."""
    error = group_error(view, context, AclOperation.READ, request.group_id)
    if error is not NO_ERROR:
        return LeaveGroupResponse(error_code=error)
    client = client_of(context)
    requested = request
    if context.api_version < _MEMBERS_SINCE:
        requested = replace(request, members=[MemberIdentity(member_id=request.member_id)])
    return ask_group(
        view,
        context,
        request,
        request.group_id,
        lambda shard, token: shard.leave_group(client, requested, token),
        change=lambda response: _fit(response, context),
    )


def _fit(response: WireMessage, context: RequestContext) -> WireMessage:
    """Move the error of the single member to the top level, for versions without members."""
    assert isinstance(response, LeaveGroupResponse)
    if context.api_version >= _MEMBERS_SINCE:
        return response
    errors = (response.error_code, *(member.error_code for member in response.members))
    return LeaveGroupResponse(error_code=next((error for error in errors if error), NO_ERROR))


ROUTE: Final[Route[BrokerView, LeaveGroupRequest]] = Route(BrokerView, LeaveGroupRequest, handle)
