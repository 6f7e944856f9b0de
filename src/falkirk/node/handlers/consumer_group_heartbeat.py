"""ConsumerGroupHeartbeat (key 68), v0-1: a member of a consumer group joins, stays, and leaves. KIP-848.

Behaviour: UNSUPPORTED_VERSION unless the protocol is enabled. Needs READ on the group, else GROUP_AUTHORIZATION_FAILED;
where groups depend on `group.version`, also DESCRIBE on all topics in the request, else TOPIC_AUTHORIZATION_FAILED. A
pattern matches only topics that the client may describe.
Version notes: v1 adds the pattern, and lets clients generate their member ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.node.handlers.parts.coordinator_requests import client_of
from falkirk.node.handlers.parts.group_requests import ask_group, is_group_allowed
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.topic_authorization import allowed_topics
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from falkirk.versions.features import GROUP_VERSION

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import AnswerLater
    from falkirk.protocol.schema import WireMessage


def handle(
    view: BrokerView, context: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> WireMessage | AnswerLater:
    """Have the group's shard process the heartbeat."""
    if not view.broker.groups.is_consumer_protocol_enabled:
        return error_response(request, context.api_version, ErrorCode.UNSUPPORTED_VERSION)
    if not is_group_allowed(view, context, AclOperation.READ, request.group_id):
        return error_response(request, context.api_version, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    names = set(request.subscribed_topic_names or ())
    if (
        names
        and GROUP_VERSION in view.release.features
        and not names <= allowed_topics(view, context, AclOperation.DESCRIBE, names)
    ):
        return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    client = client_of(context)

    def is_describable(topic: str) -> bool:
        return view.authorizer.is_allowed(context, AclOperation.DESCRIBE, ResourceType.TOPIC, topic)

    return ask_group(
        view,
        context,
        request,
        request.group_id,
        lambda shard, token: shard.consumer_group_heartbeat(client, request, token, is_describable=is_describable),
    )


ROUTE: Final[Route[BrokerView, ConsumerGroupHeartbeatRequest]] = Route(
    BrokerView, ConsumerGroupHeartbeatRequest, handle
)
