"""LeaveGroup (key 13), v0-5: members leave a group, by themselves or by an administrator's hand. KIP-345.

Behaviour: needs READ on the group, else GROUP_AUTHORIZATION_FAILED; INVALID_GROUP_ID without one.
Version notes: v0-2 name one member, and its error is that of the whole; v3 takes many, v5 the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.group_requests import ask_group, client_of, why_refused
from falkirk.node.handlers.handler import AnswerLater, NodeView, Route
from falkirk.protocol.error_codes import NO_ERROR
from falkirk.protocol.messages import LeaveGroupRequest, LeaveGroupResponse
from falkirk.protocol.messages.leave_group_request import MemberIdentity

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

_MEMBERS_SINCE: Final = 3


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage | AnswerLater:
    """Let the group's shard answer."""
    assert isinstance(request, LeaveGroupRequest)
    error = why_refused(view, context, AclOperation.READ, request.group_id)
    if error is not NO_ERROR:
        return LeaveGroupResponse(error_code=error)
    client = client_of(context)
    asked = request
    if context.api_version < _MEMBERS_SINCE:
        asked = replace(request, members=[MemberIdentity(member_id=request.member_id)])
    return ask_group(
        view,
        context,
        request,
        request.group_id,
        lambda shard, token: shard.leave_group(client, asked, token),
        change=lambda response: _fit(response, context),
    )


def _fit(response: WireMessage, context: RequestContext) -> WireMessage:
    """Tell the error of the one member as that of the whole."""
    assert isinstance(response, LeaveGroupResponse)
    if context.api_version >= _MEMBERS_SINCE:
        return response
    errors = (response.error_code, *(member.error_code for member in response.members))
    return LeaveGroupResponse(error_code=next((error for error in errors if error), NO_ERROR))


ROUTE: Final = Route(api_key=13, handler=handle, needs_controller=False)
