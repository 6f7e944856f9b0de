"""ListConfigResources (key 74), v0-1: the resources that can have configs. KIP-1000, KIP-1142.

Behaviour: needs DESCRIBE_CONFIGS on CLUSTER; brokers answer, from their image: all topics, all registered brokers that
have the listener of the request (and their loggers), and those groups and client metrics that have configs. No types in
the request stand for all; UNSUPPORTED_VERSION for any other type.
Version notes: v0 is ListClientMetricsResources and returns client metrics only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.image.configs import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from falkirk.node.handlers.parts.broker_endpoints import broker_endpoints
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import NodeView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import ListConfigResourcesRequest, ListConfigResourcesResponse
from falkirk.protocol.messages.list_config_resources_response import ConfigResource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

# In Kafka's order.
_TYPES: Final = (GROUP, CLIENT_METRICS, BROKER_LOGGER, BROKER, TOPIC)


def handle(view: NodeView, context: RequestContext, request: ListConfigResourcesRequest) -> WireMessage:
    """Return their names."""
    refused = refusal(view, context, request, AclOperation.DESCRIBE_CONFIGS)
    if refused is not None:
        return refused
    known = _TYPES if context.api_version >= 1 else (CLIENT_METRICS,)
    requested = request.resource_types or known
    if not set(requested) <= set(known):
        return error_response(request, context.api_version, ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(name, resource_type)
            for resource_type in known
            if resource_type in requested
            for name in _names(view, context, resource_type)
        ]
    )


def _names(view: NodeView, context: RequestContext, resource_type: int) -> Iterable[str]:
    if resource_type == TOPIC:
        return sorted(view.image.topics.by_name)
    if resource_type in {BROKER, BROKER_LOGGER}:
        return [str(broker.broker_id) for broker in broker_endpoints(view.image.cluster, context.listener).all]
    return sorted(name for kind, name in view.image.configs.resources if kind == resource_type)


ROUTE: Final[Route[NodeView, ListConfigResourcesRequest]] = Route(NodeView, ListConfigResourcesRequest, handle)
