"""Rights that a lift needs, as the ACLs that allow it. Sources: KIP-11 (ACLs), KIP-430 (authorized operations)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import CLUSTER_NAME, AclOperation, ResourceType

if TYPE_CHECKING:
    from falkirk.client.cluster_description import ClusterDescription

BROKERS: Final = "brokers"
CONTROLLERS: Final = "controllers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """An operation on a resource that a principal needs an ACL for. `nodes`: BROKERS or CONTROLLERS."""

    operation: AclOperation
    resource_type: ResourceType = ResourceType.CLUSTER
    resource_name: str = CLUSTER_NAME
    principal: str
    nodes: str

    def __str__(self) -> str:
        resource = f"{self.resource_type.name} {self.resource_name}"
        return f"{self.operation.name} on {resource} for {self.principal}, at the {self.nodes}"


def missing_at_brokers(cluster: ClusterDescription, principal: str) -> tuple[Right, ...]:
    """Return the rights on the cluster that a lift needs at the brokers, and that they report as missing.

    Those that report none have no authorizer, or are too old to report any; without DESCRIBE they report 0.
    """
    operations = cluster.authorized_operations
    if operations is None:
        return ()
    needed = (AclOperation.ALTER, AclOperation.DESCRIBE)
    return tuple(
        Right(operation=operation, principal=principal, nodes=BROKERS)
        for operation in needed
        if not operations & 1 << operation and (operations or operation is AclOperation.DESCRIBE)
    )
