"""SyncGroup (key 14), v0-5: a classic group's leader sends the assignment, each member gets its own. KIP-345.

Behaviour: needs READ on the group, else GROUP_AUTHORIZATION_FAILED; INVALID_GROUP_ID without one. From v5 on protocol
type and name are required, else INCONSISTENT_GROUP_PROTOCOL. The response is sent when the leader's assignment has
arrived.
Version notes: v3 adds the group instance id, v4 flexible fields, v5 protocol type and name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.coordinator_requests import client_of
from falkirk.node.handlers.parts.group_requests import ask_group, group_error
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import NO_ERROR, ErrorCode
from falkirk.protocol.messages import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import AnswerLater
    from falkirk.protocol.schema import WireMessage

_PROTOCOL_SINCE: Final = 5


def handle(view: BrokerView, context: RequestContext, request: SyncGroupRequest) -> WireMessage | AnswerLater:
    """Have the group's shard process the request."""
    has_protocol = request.protocol_type is not None and request.protocol_name is not None
    if context.api_version >= _PROTOCOL_SINCE and not has_protocol:
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    error = group_error(view, context, AclOperation.READ, request.group_id)
    if error is not NO_ERROR:
        return SyncGroupResponse(error_code=error)
    client = client_of(context)
    return ask_group(
        view, context, request, request.group_id, lambda shard, token: shard.sync_group(client, request, token)
    )


ROUTE: Final[Route[BrokerView, SyncGroupRequest]] = Route(BrokerView, SyncGroupRequest, handle)
