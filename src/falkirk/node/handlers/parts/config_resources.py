"""The resources of requests about configs: authorization and duplicates."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from falkirk.metadata.acls.acl_types import CLUSTER_NAME, AclOperation, ResourceType
from falkirk.metadata.controller.configs.config_validation import is_known_resource_type
from falkirk.metadata.image.configs import BROKER_LOGGER, GROUP, TOPIC, ConfigResource
from falkirk.metadata.requests.api_error import NO_ERROR, ApiError
from falkirk.node.handlers.parts.cluster_authorization import CLUSTER_AUTHORIZATION_FAILED
from falkirk.node.handlers.parts.group_requests import GROUP_AUTHORIZATION_FAILED
from falkirk.node.handlers.parts.topic_authorization import TOPIC_AUTHORIZATION_FAILED
from falkirk.protocol.error_codes import ErrorCode
from falkirk.slices import SliceBudget

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.view import NodeView
    from falkirk.slices import Slices

# Configs of other resources need the operation on the cluster.
_PROTECTED_BY: Final[Mapping[int, tuple[ResourceType, ApiError]]] = {
    TOPIC: (ResourceType.TOPIC, ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED)),
    GROUP: (ResourceType.GROUP, ApiError(ErrorCode.GROUP_AUTHORIZATION_FAILED, GROUP_AUTHORIZATION_FAILED)),
}


class NamedResource(Protocol):
    """A resource in a request."""

    resource_type: int
    resource_name: str


R = TypeVar("R", bound=NamedResource)


def authorization_error(
    view: NodeView, context: RequestContext, operation: AclOperation, resource: ConfigResource
) -> ApiError:
    """Return the error of an operation on a resource's configs; NO_ERROR if it is allowed."""
    name = resource.resource_name
    if resource.resource_type in _PROTECTED_BY:
        kind, error = _PROTECTED_BY[resource.resource_type]
    else:
        error = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED)
        kind, name = ResourceType.CLUSTER, CLUSTER_NAME
    return NO_ERROR if view.authorizer.is_allowed(context, operation, kind, name) else error


def sort_changes(
    view: NodeView, context: RequestContext, resources: Iterable[R]
) -> Slices[tuple[dict[ConfigResource, R], dict[ConfigResource, ApiError]]]:
    """Return the resources whose configs may be changed, and the others with their errors; each once, in order."""
    accepted: dict[ConfigResource, R] = {}
    refused: dict[ConfigResource, ApiError] = {}
    budget = SliceBudget()
    for given in resources:
        if budget.spend(1):
            yield
        resource = ConfigResource(given.resource_type, given.resource_name)
        if resource in accepted:
            del accepted[resource]
            refused[resource] = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate resource.")
        elif resource not in refused:
            error = _change_error(view, context, resource)
            if error.is_failure:
                refused[resource] = error
            else:
                accepted[resource] = given
    return accepted, refused


@cache
def _unknown_type(kind: int) -> ApiError:
    """Return the same error each time: a request may have thousands of such resources."""
    return ApiError(ErrorCode.UNSUPPORTED_VERSION, f"Unknown resource type {kind}.")


def _change_error(view: NodeView, context: RequestContext, resource: ConfigResource) -> ApiError:
    kind = resource.resource_type
    if kind == BROKER_LOGGER:
        # Differs from Kafka: from 3.9 on its controllers' log levels can be changed.
        return ApiError(ErrorCode.INVALID_REQUEST, "Log levels of this node cannot be changed.")
    if not is_known_resource_type(kind, view.release):
        return _unknown_type(kind)
    return authorization_error(view, context, AclOperation.ALTER_CONFIGS, resource)
