"""The operations that the client is authorized for, one bit for each by its number (KIP-430)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import CLUSTER_NAME, AclOperation, ResourceType
from falkirk.node.handlers.parts.cluster_authorization import is_cluster_operation_allowed
from falkirk.versions.features import GROUP_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.cluster_authorization import AuthorizingView
    from falkirk.node.handlers.parts.view import NodeView

NOT_REQUESTED: Final = -(2**31)
_CLUSTER_OPERATIONS: Final = (
    AclOperation.CREATE,
    AclOperation.ALTER,
    AclOperation.DESCRIBE,
    AclOperation.CLUSTER_ACTION,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
    AclOperation.IDEMPOTENT_WRITE,
)
_TOPIC_OPERATIONS: Final = (
    AclOperation.READ,
    AclOperation.WRITE,
    AclOperation.CREATE,
    AclOperation.DELETE,
    AclOperation.ALTER,
    AclOperation.DESCRIBE,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
)
_GROUP_OPERATIONS: Final = (AclOperation.READ, AclOperation.DELETE, AclOperation.DESCRIBE)
_CONFIG_OPERATIONS: Final = (AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)
_ALL_TOPIC_OPERATIONS: Final = sum(1 << operation for operation in _TOPIC_OPERATIONS)


def authorized_cluster_operations(view: AuthorizingView, context: RequestContext) -> int:
    """Return the authorized operations on the cluster; none without DESCRIBE on it."""
    if not is_cluster_operation_allowed(view, context, AclOperation.DESCRIBE):
        return 0
    return _bits(view, context, _CLUSTER_OPERATIONS, ResourceType.CLUSTER, CLUSTER_NAME)


def authorized_topic_operations(view: AuthorizingView, context: RequestContext, name: str) -> int:
    """Return the authorized operations on a topic, whether it exists or not."""
    if not view.authorizer.is_configured:
        return _ALL_TOPIC_OPERATIONS
    return _bits(view, context, _TOPIC_OPERATIONS, ResourceType.TOPIC, name)


def authorized_group_operations(view: NodeView, context: RequestContext, name: str) -> int:
    """Return the authorized operations on a group, whether it exists or not."""
    operations = _GROUP_OPERATIONS + (_CONFIG_OPERATIONS if GROUP_VERSION in view.release.features else ())
    return _bits(view, context, operations, ResourceType.GROUP, name)


def _bits(
    view: AuthorizingView, context: RequestContext, operations: Iterable[AclOperation], kind: ResourceType, name: str
) -> int:
    is_allowed = view.authorizer.is_allowed
    return sum(1 << operation for operation in operations if is_allowed(context, operation, kind, name))
