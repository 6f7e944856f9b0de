"""Filters of ACLs, as DescribeAcls and DeleteAcls name them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.metadata.acls.acl_types import WILDCARD, AclOperation, AclPermissionType, PatternType, ResourceType

if TYPE_CHECKING:
    from falkirk.metadata.image.acls import Acl

_RESOURCE_TYPES = frozenset(ResourceType) - {ResourceType.UNKNOWN}
_PATTERN_TYPES = frozenset(PatternType) - {PatternType.UNKNOWN}
_OPERATIONS = frozenset(AclOperation) - {AclOperation.UNKNOWN}
_PERMISSION_TYPES = frozenset(AclPermissionType) - {AclPermissionType.UNKNOWN}


@dataclass(frozen=True, slots=True, kw_only=True)
class AclFilter:
    """What ACLs must match; None and ANY leave a field open. Numbers are Kafka's."""

    resource_type: int = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: int = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: int = AclOperation.ANY
    permission_type: int = AclPermissionType.ANY

    @property
    def is_unknown(self) -> bool:
        """True if a number in the filter is of no known type."""
        return (
            self.resource_type not in _RESOURCE_TYPES
            or self.pattern_type not in _PATTERN_TYPES
            or self.operation not in _OPERATIONS
            or self.permission_type not in _PERMISSION_TYPES
        )

    def matches(self, acl: Acl) -> bool:
        """Return whether the filter matches the ACL."""
        return (
            self.resource_type in {ResourceType.ANY, acl.resource_type}
            and self._matches_pattern(acl)
            and self.principal in {None, acl.principal}
            and self.host in {None, acl.host}
            and self.operation in {AclOperation.ANY, acl.operation}
            and self.permission_type in {AclPermissionType.ANY, acl.permission_type}
        )

    def _matches_pattern(self, acl: Acl) -> bool:
        if self.pattern_type not in {PatternType.ANY, PatternType.MATCH, acl.pattern_type}:
            return False
        if self.resource_name is None or acl.resource_name == self.resource_name:
            return True
        if self.pattern_type != PatternType.MATCH:
            return False
        if acl.pattern_type == PatternType.LITERAL:
            return acl.resource_name == WILDCARD
        return self.resource_name.startswith(acl.resource_name)
