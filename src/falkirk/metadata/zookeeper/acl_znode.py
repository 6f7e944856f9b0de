"""The znodes of the ACLs of the cluster, as Kafka's AclAuthorizer keeps them.

Literal ones are in `/kafka-acl/Cluster/kafka-cluster`, prefixed ones (KIP-290) below `/kafka-acl-extended/prefixed`.
Requests can name nothing but the cluster itself; whoever writes to ZooKeeper can also name `*` or a prefix of it, and
AclAuthorizer goes by these too.

`{"acls":[{"principal":"User:admin","permissionType":"Allow","host":"*","operation":"Alter"}],"version":1}`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from immutables import Map

from falkirk.metadata.acls.acl_types import (
    CLUSTER_NAME,
    WILDCARD,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from falkirk.metadata.image.acls import Acl, AclsImage
from falkirk.metadata.zookeeper.znode_json import read_object, read_version, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from enum import IntEnum

    from falkirk.metadata.zookeeper.znode_json import ZnodeObject

_LITERAL: Final = "/kafka-acl/Cluster/"
_PREFIXED: Final = "/kafka-acl-extended/prefixed/Cluster/"
CLUSTER_ACLS_PATH: Final = f"{_LITERAL}{CLUSTER_NAME}"
ALL_CLUSTER_ACLS_PATHS: Final = (
    CLUSTER_ACLS_PATH,
    f"{_LITERAL}{WILDCARD}",
    *(f"{_PREFIXED}{CLUSTER_NAME[:end]}" for end in range(1, len(CLUSTER_NAME) + 1)),
)
"""Every znode whose ACLs apply to the cluster."""

_VERSIONS: Final = range(1, 2)
_ID_BYTES: Final = 16


def decode_acls(data: bytes, path: str = CLUSTER_ACLS_PATH) -> tuple[Acl, ...]:
    """Decode the ACLs of one of the znodes; an empty znode has none, as in Kafka. Raises ZnodeError.

    Differs from Kafka: an unknown operation or permission is an error, where Kafka keeps an ACL without effect; a DENY
    that cannot be read must not be ignored.
    """
    if not data:
        return ()
    znode = read_object(data, path)
    read_version(znode, _VERSIONS)
    pattern_type = PatternType.PREFIXED if path.startswith(_PREFIXED) else PatternType.LITERAL
    name = path.rpartition("/")[2]
    return tuple(_acl(entry, pattern_type, name) for entry in znode.parts("acls", "ACL"))


def acls_image(acls: Iterable[Acl]) -> AclsImage:
    """Return the image of ACLs; their ids are made up, because in ZooKeeper they have none."""
    return AclsImage(Map({index.to_bytes(_ID_BYTES, "big"): acl for index, acl in enumerate(acls)}))


def _acl(entry: ZnodeObject, pattern_type: PatternType, resource_name: str) -> Acl:
    principal = entry.text("principal")
    principal_type, colon, name = principal.partition(":")
    if not (principal_type and colon and name):
        raise entry.fault(f"principal is {shown(principal)}, not a type and a name, as User:alice")
    return Acl(
        resource_type=ResourceType.CLUSTER,
        resource_name=resource_name,
        pattern_type=pattern_type,
        principal=principal,
        host=entry.text("host"),
        operation=_number(entry, "operation", _OPERATIONS),
        permission_type=_number(entry, "permissionType", _PERMISSION_TYPES),
    )


def _number(entry: ZnodeObject, key: str, known: Mapping[str, int]) -> int:
    name = entry.text(key)
    if name not in known:
        raise entry.fault(f"{key} is {shown(name)}, which is unknown")
    return known[name]


def _by_name(numbers: type[IntEnum]) -> dict[str, int]:
    """Return numbers by the names that znodes have: ClusterAction, or CLUSTERACTION, for CLUSTER_ACTION."""
    known = {each.name.title().replace("_", ""): each.value for each in numbers if each.name not in {"UNKNOWN", "ANY"}}
    return known | {name.upper(): number for name, number in known.items()}


_OPERATIONS: Final = _by_name(AclOperation)
_PERMISSION_TYPES: Final = _by_name(AclPermissionType)
