"""Heartbeat (key 12), v0-4: a classic group's member is alive, and learns of rebalances. KIP-345, KIP-394.

Behaviour: needs READ on the group, else GROUP_AUTHORIZATION_FAILED; INVALID_GROUP_ID without one. While the coordinator
loads the response is NONE: whether the member is known is not yet clear.
Version notes: v3 adds the group instance id, v4 flexible fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.broker.coordinator_runtime.operation_error import operation_error
from falkirk.node.handlers.parts.coordinator_requests import client_of
from falkirk.node.handlers.parts.group_requests import ask_group, group_error
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import NO_ERROR, ErrorCode
from falkirk.protocol.messages import HeartbeatRequest, HeartbeatResponse

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import AnswerLater
    from falkirk.protocol.schema import WireMessage


def handle(view: BrokerView, context: RequestContext, request: HeartbeatRequest) -> WireMessage | AnswerLater:
    """Have the group's shard process the heartbeat."""
    error = group_error(view, context, AclOperation.READ, request.group_id)
    if error is not NO_ERROR:
        return HeartbeatResponse(error_code=error)
    client = client_of(context)
    return ask_group(
        view,
        context,
        request,
        request.group_id,
        lambda shard, token: shard.heartbeat(client, request, token),
        client_error=_client_error,
    )


def _client_error(error: ErrorCode) -> ErrorCode:
    return NO_ERROR if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else operation_error(error)


ROUTE: Final[Route[BrokerView, HeartbeatRequest]] = Route(BrokerView, HeartbeatRequest, handle)
