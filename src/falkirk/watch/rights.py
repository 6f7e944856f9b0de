"""Rights that a watch lacks, named by the ACL that gives each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.client.errors import NodeRefusedError
from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.operations.lift_rights import BROKERS, CONTROLLERS, Right
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from falkirk.mirror.cluster_mirror import LiveSource

_REFUSALS: Final = frozenset({ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.TOPIC_AUTHORIZATION_FAILED})
_OPERATIONS: Final = {
    "DescribeQuorum": AclOperation.DESCRIBE,
    "DescribeCluster": AclOperation.DESCRIBE,
}


def missing_right(error: Exception, source: LiveSource, *, topic: str | None = None) -> str | None:
    """Return the right for lack of which a request was refused; None if it failed for another reason.

    `topic`: the coordinators' topic that was read; None: the metadata log, or what nodes answer.
    """
    if not isinstance(error, NodeRefusedError) or error.error_code not in _REFUSALS:
        return None
    if topic is not None:
        right = Right(
            operation=AclOperation.READ,
            resource_type=ResourceType.TOPIC,
            resource_name=topic,
            principal=source.config.principal,
            nodes=BROKERS,
        )
        return str(right)
    of_controllers = (source.controller_config or source.config).principal
    operation = next((each for name, each in _OPERATIONS.items() if name in str(error)), None)
    if operation is None:
        return str(Right(operation=AclOperation.CLUSTER_ACTION, principal=of_controllers, nodes=CONTROLLERS))
    if error.endpoint in source.controllers:
        return str(Right(operation=operation, principal=of_controllers, nodes=CONTROLLERS))
    return str(Right(operation=operation, principal=source.config.principal, nodes=BROKERS))
