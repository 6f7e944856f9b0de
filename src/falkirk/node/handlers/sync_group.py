"""SyncGroup (key 14), v0-5: a classic group's leader hands in the assignment, each member gets its own. KIP-345.

Behaviour: needs READ on the group, else GROUP_AUTHORIZATION_FAILED; INVALID_GROUP_ID without one. From v5 on protocol
type and name must be told, else INCONSISTENT_GROUP_PROTOCOL. The answer comes when the leader has handed it in.
Version notes: v3 adds the group instance id, v4 flexible fields, v5 protocol type and name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.group_requests import ask_group, client_of, why_refused
from falkirk.node.handlers.handler import AnswerLater, NodeView, Route
from falkirk.protocol.error_codes import NO_ERROR, ErrorCode
from falkirk.protocol.messages import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

_PROTOCOL_SINCE: Final = 5


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage | AnswerLater:
    """Let the group's shard answer."""
    assert isinstance(request, SyncGroupRequest)
    has_protocol = request.protocol_type is not None and request.protocol_name is not None
    if context.api_version >= _PROTOCOL_SINCE and not has_protocol:
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    error = why_refused(view, context, AclOperation.READ, request.group_id)
    if error is not NO_ERROR:
        return SyncGroupResponse(error_code=error)
    client = client_of(context)
    return ask_group(
        view, context, request, request.group_id, lambda shard, token: shard.sync_group(client, request, token)
    )


ROUTE: Final = Route(api_key=14, handler=handle, needs_controller=False)
