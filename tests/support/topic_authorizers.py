"""Authorizers that allow given operations on topics and other resources."""

from immutables import Map

from falkirk.metadata.acls.acl_types import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclOperation,
    PatternType,
    ResourceType,
)
from falkirk.metadata.acls.authorizer import Authorizer
from falkirk.metadata.image.acls import ALLOW, Acl, AclsImage


def topic_authorizer(
    allowed: dict[str, tuple[AclOperation, ...]], *, cluster: tuple[AclOperation, ...] = ()
) -> Authorizer:
    """Allow everyone operations by topic, and some on the cluster."""
    entries = [
        (ResourceType.TOPIC, name, operation) for name, operations in allowed.items() for operation in operations
    ]
    entries += [(ResourceType.CLUSTER, CLUSTER_NAME, operation) for operation in cluster]
    return resource_authorizer(*entries)


def resource_authorizer(*entries: tuple[ResourceType, str, AclOperation]) -> Authorizer:
    """Allow everyone operations on resources, and nothing else."""
    acls = {
        bytes([number]) * 16: Acl(
            resource_type, name, PatternType.LITERAL, WILDCARD_PRINCIPAL, WILDCARD, operation, ALLOW
        )
        for number, (resource_type, name, operation) in enumerate(entries)
    }
    return Authorizer.of(AclsImage(Map(acls)))
