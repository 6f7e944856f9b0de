"""Metadata (key 3), v0-12: the brokers and the controller of a cluster on ZooKeeper. KIP-430, KIP-516.

Behaviour: told are the brokers that are registered as far as this node knows, with the listener where the request came
in; the controller is the one that is elected, -1 if nobody is known to be. There are no topics: one that is asked for
is UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION if it could not be, UNKNOWN_TOPIC_ID by its id; none is created.
Differs from Kafka: no right is needed to learn that there is no topic; a topic without name and id is INVALID_REQUEST.
Version notes: v0 has no null for all topics (an empty list is that); v1 adds controller and racks; v2 the cluster's id;
v8 to v10 the operations that the asker may do with the cluster; v8 those with topics; v10 tells topic ids, v12 may ask
by id, names besides do not count then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.state.topic_names import reason_invalid_name
from falkirk.node.handlers.metadata import (
    CLUSTER_OPERATIONS,
    TOPIC_OPERATIONS_SINCE,
    reason_invalid,
)
from falkirk.node.handlers.parts.authorized_operations import authorized_cluster_operations, authorized_topic_operations
from falkirk.node.handlers.parts.handler_result import EncodedResponse
from falkirk.node.handlers.parts.route import Route
from falkirk.protocol.codec import encode
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import MetadataRequest, MetadataResponse
from falkirk.protocol.messages.metadata_response import MetadataResponseBroker, MetadataResponseTopic
from falkirk.protocol.schema import ZERO_UUID
from falkirk.zookeeper_node.handlers.broker_nodes import broker_nodes
from falkirk.zookeeper_node.handlers.zookeeper_view import ZooKeeperView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: ZooKeeperView, context: RequestContext, request: MetadataRequest) -> WireMessage | EncodedResponse:
    """Return brokers and controller; no topic exists."""
    version = context.api_version
    reason = reason_invalid(request, version)
    if reason is not None:
        return error_response(request, version, ErrorCode.INVALID_REQUEST, reason)
    response = MetadataResponse(
        brokers=[MetadataResponseBroker(*broker) for broker in broker_nodes(view, context.listener)],
        cluster_id=view.cluster_id,
        controller_id=view.controller_id,
        topics=list(_topics(view, context, request)),
    )
    if version in CLUSTER_OPERATIONS and request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = authorized_cluster_operations(view, context)
    # Reused responses would skip authentication, or show one client's permissions to another.
    is_own = view.authorizer.is_configured or context.security_protocol.startswith("SASL")
    return EncodedResponse(encode(response, version), is_for_all=not is_own)


def _topics(view: ZooKeeperView, context: RequestContext, request: MetadataRequest) -> Iterator[MetadataResponseTopic]:
    topics = request.topics or ()
    ids = dict.fromkeys(topic.topic_id for topic in topics if topic.topic_id != ZERO_UUID)
    for topic_id in ids:
        yield MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
    if ids:
        return
    wants_operations = context.api_version >= TOPIC_OPERATIONS_SINCE and request.include_topic_authorized_operations
    for name in dict.fromkeys(topic.name for topic in topics if topic.name is not None):
        is_possible = reason_invalid_name(name) is None
        answer = MetadataResponseTopic(
            error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_possible else ErrorCode.INVALID_TOPIC_EXCEPTION,
            name=name,
            is_internal=name in view.internal_topics,
        )
        if wants_operations:
            answer.topic_authorized_operations = authorized_topic_operations(view, context, name)
        yield answer


ROUTE: Final[Route[ZooKeeperView, MetadataRequest]] = Route(ZooKeeperView, MetadataRequest, handle)
