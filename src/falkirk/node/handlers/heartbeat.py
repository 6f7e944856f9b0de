"""Heartbeat (key 12), v0-4: a classic group's member is alive, and hears of rebalances. KIP-345, KIP-394.

Behaviour: needs READ on the group, else GROUP_AUTHORIZATION_FAILED; INVALID_GROUP_ID without one. Asked of a
coordinator that loads, the answer is NONE: it knows nothing yet.
Version notes: v3 adds the group instance id, v4 flexible fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.group_coordinator.operation_errors import operation_error
from falkirk.node.handlers.group_requests import ask_group, client_of, why_refused
from falkirk.node.handlers.handler import AnswerLater, NodeView, Route
from falkirk.protocol.error_codes import NO_ERROR, ErrorCode
from falkirk.protocol.messages import HeartbeatRequest, HeartbeatResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage | AnswerLater:
    """Let the group's shard answer."""
    assert isinstance(request, HeartbeatRequest)
    error = why_refused(view, context, AclOperation.READ, request.group_id)
    if error is not NO_ERROR:
        return HeartbeatResponse(error_code=error)
    client = client_of(context)
    return ask_group(
        view,
        context,
        request,
        request.group_id,
        lambda shard, token: shard.heartbeat(client, request, token),
        told=_told,
    )


def _told(error: ErrorCode) -> ErrorCode:
    return NO_ERROR if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else operation_error(error)


ROUTE: Final = Route(api_key=12, handler=handle, needs_controller=False)
