"""DescribeConfigs (key 32), v0-4: configs with their sources. KIP-133, KIP-226, KIP-569, KIP-714.

Behaviour: needs DESCRIBE_CONFIGS on the topic or group, else on CLUSTER; every node answers. Of brokers a node knows
its own configs and the cluster-wide default; it has no log levels (BROKER_LOGGER). Secrets are left out.
Differs from Kafka: documentation is where Kafka's stands, whose text is Kafka's.
Version notes: v0 has whether a value is the default; v1 its source and, on request, its synonyms; v3 its type; v4 is
the first flexible version.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.controller.configs.config_resolution import DEFAULT_CONFIG
from falkirk.metadata.controller.configs.config_validation import is_known_resource_type
from falkirk.metadata.controller.state.topic_names import reason_invalid_name
from falkirk.metadata.image.configs import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC, ConfigResource
from falkirk.metadata.requests.api_error import NO_ERROR, ApiError
from falkirk.node.config.config_descriptions import ConfigDescriptions
from falkirk.node.handlers.parts.config_resources import authorization_error
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import NodeView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import DescribeConfigsRequest, DescribeConfigsResponse
from falkirk.protocol.messages.describe_configs_response import DescribeConfigsResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.config.config_descriptions import Descriptions
    from falkirk.protocol.messages.describe_configs_request import DescribeConfigsResource
    from falkirk.protocol.schema import WireMessage

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,10}")
_MUST_NOT_BE_EMPTY: Final[Mapping[int, str]] = {
    CLIENT_METRICS: "Client metrics subscription name must not be empty",
    GROUP: "Group name must not be empty",
}

_DOCUMENTATION: Final = "https://kafka.apache.org/documentation/#"
_ANCHORS: Final[Mapping[int, str]] = {TOPIC: "topicconfigs_", BROKER: "brokerconfigs_", GROUP: "groupconfigs_"}


def handle(view: NodeView, context: RequestContext, request: DescribeConfigsRequest) -> WireMessage:
    """Return the configs that the client may see."""
    descriptions = ConfigDescriptions(view.release, view.node_id, view.static_configs, view.image.configs)

    def result_of(requested: DescribeConfigsResource) -> DescribeConfigsResult:
        resource = ConfigResource(requested.resource_type, requested.resource_name)
        configs = _describe(view, context, descriptions, resource)
        # As in Kafka an absent message is empty.
        result = DescribeConfigsResult(resource_type=resource.resource_type, resource_name=resource.resource_name)
        if isinstance(configs, ApiError):
            result.error_code, result.error_message = configs.error_code, configs.message or ""
        else:
            result.configs = _as_requested(configs, requested.configuration_keys, request, context.api_version)
            if request.include_documentation and resource.resource_type in _ANCHORS:
                for config in result.configs:
                    config.documentation = f"{_DOCUMENTATION}{_ANCHORS[resource.resource_type]}{config.name}"
        return result

    return DescribeConfigsResponse(results=mapped_array(result_of, request.resources))


def _describe(
    view: NodeView, context: RequestContext, descriptions: ConfigDescriptions, resource: ConfigResource
) -> Descriptions | ApiError:
    kind, name = resource
    if kind != BROKER_LOGGER and not is_known_resource_type(kind, view.release):
        return ApiError(ErrorCode.INVALID_REQUEST, f"This node has no configs of resource type {kind}.")
    error = authorization_error(view, context, AclOperation.DESCRIBE_CONFIGS, resource)
    if not error.is_failure:
        error = _resource_error(view, kind, name)
    return error if error.is_failure else _DESCRIBE[kind](descriptions, name)


def _resource_error(view: NodeView, kind: int, name: str) -> ApiError:
    if kind == TOPIC:
        reason = reason_invalid_name(name)
        if reason is not None:
            return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
        is_there = view.image.topics.topic(name) is not None
        return NO_ERROR if is_there else ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if kind in {BROKER, BROKER_LOGGER}:
        reason = _reason_not_this_node(view, kind, name)
    else:
        reason = None if name else _MUST_NOT_BE_EMPTY[kind]
    return NO_ERROR if reason is None else ApiError(ErrorCode.INVALID_REQUEST, reason)


def _reason_not_this_node(view: NodeView, kind: int, name: str) -> str | None:
    if kind == BROKER_LOGGER and not name:
        return "Broker id must not be empty"
    if name and not _INTEGER.fullmatch(name):
        return f"Broker id must be an integer, but it is: {name}"
    if name and int(name) != view.node_id:
        or_default = " or empty string," if kind == BROKER else ""
        return f"Unexpected broker id, expected {view.node_id}{or_default} but received {name}"
    return "This node has no log levels." if kind == BROKER_LOGGER else None


def _describe_brokers(descriptions: ConfigDescriptions, name: str) -> Descriptions:
    return descriptions.of_this_node() if name else descriptions.of_all_brokers()


_DESCRIBE: Final[Mapping[int, Callable[[ConfigDescriptions, str], Descriptions]]] = {
    TOPIC: ConfigDescriptions.of_topic,
    BROKER: _describe_brokers,
    CLIENT_METRICS: ConfigDescriptions.of_client_metrics,
    GROUP: ConfigDescriptions.of_group,
}


def _as_requested(
    configs: Descriptions, names: Sequence[str] | None, request: DescribeConfigsRequest, api_version: int
) -> Descriptions:
    if names:
        requested = frozenset(names)
        configs = [config for config in configs if config.name in requested]
    for config in configs:
        if api_version == 0:
            config.is_default = config.config_source == DEFAULT_CONFIG
        if not request.include_synonyms:
            config.synonyms = []
    return configs


ROUTE: Final[Route[NodeView, DescribeConfigsRequest]] = Route(NodeView, DescribeConfigsRequest, handle)
