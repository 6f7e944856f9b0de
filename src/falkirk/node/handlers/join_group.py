"""JoinGroup (key 11), v0-9: a client becomes, or stays, a member of a classic group. KIP-62, KIP-345, KIP-394.

Behaviour: needs READ on the group, else GROUP_AUTHORIZATION_FAILED; INVALID_GROUP_ID without one. The response is sent
when the rebalance completes.
Version notes: v1 adds the rebalance timeout, v4 MEMBER_ID_REQUIRED for an empty member id, v5 the group instance id, v7
the protocol type and a nullable protocol name, v8 the reason, v9 whether to skip the assignment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.coordinator_requests import client_of
from falkirk.node.handlers.parts.group_requests import ask_group, group_error
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import NO_ERROR
from falkirk.protocol.messages import JoinGroupRequest, JoinGroupResponse

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import AnswerLater
    from falkirk.protocol.schema import WireMessage

_NULL_PROTOCOL_SINCE: Final = 7


def handle(view: BrokerView, context: RequestContext, request: JoinGroupRequest) -> WireMessage | AnswerLater:
    """Have the group's shard process the request."""
    error = group_error(view, context, AclOperation.READ, request.group_id)
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
    """Replace a missing protocol by the empty name, for versions where it is not nullable."""
    assert isinstance(response, JoinGroupResponse)
    if response.protocol_name is None and context.api_version < _NULL_PROTOCOL_SINCE:
        response.protocol_name = ""
    return response


ROUTE: Final[Route[BrokerView, JoinGroupRequest]] = Route(BrokerView, JoinGroupRequest, handle)
