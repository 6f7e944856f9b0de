"""JoinGroup (key 11), v0-9: a client becomes, or stays, a member of a classic group. KIP-62, KIP-345, KIP-394.

Behaviour: needs READ on the group, else GROUP_AUTHORIZATION_FAILED; INVALID_GROUP_ID without one. The answer comes
when the group has been rebalanced.
Version notes: v1 adds the rebalance timeout, v4 MEMBER_ID_REQUIRED for an empty member id, v5 the group instance id, v7
the protocol type and a protocol name that may be null, v8 the reason, v9 says whether to skip the assignment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.group_requests import ask_group, client_of, why_refused
from falkirk.node.handlers.handler import AnswerLater, NodeView, Route
from falkirk.protocol.error_codes import NO_ERROR
from falkirk.protocol.messages import JoinGroupRequest, JoinGroupResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

_NULL_PROTOCOL_SINCE: Final = 7


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage | AnswerLater:
    """Let the group's shard answer."""
    assert isinstance(request, JoinGroupRequest)
    error = why_refused(view, context, AclOperation.READ, request.group_id)
    if error is not NO_ERROR:
        return _fit(JoinGroupResponse(error_code=error, protocol_name=None, member_id=request.member_id), context)
    client = client_of(context)
    return ask_group(
        view,
        context,
        request,
        request.group_id,
        lambda shard, token: shard.join_group(client, request, token),
        change=lambda response: _fit(response, context),
    )


def _fit(response: WireMessage, context: RequestContext) -> WireMessage:
    """Write no protocol as older versions can."""
    assert isinstance(response, JoinGroupResponse)
    if response.protocol_name is None and context.api_version < _NULL_PROTOCOL_SINCE:
        response.protocol_name = ""
    return response


ROUTE: Final = Route(api_key=11, handler=handle, needs_controller=False)
