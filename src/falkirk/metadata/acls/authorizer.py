"""The authorizer: decides by the ACLs of an image as Kafka's StandardAuthorizer does (KIP-801)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from immutables import Map

from falkirk.metadata.acls.acl_hosts import java_address, matches_host
from falkirk.metadata.acls.acl_types import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclOperation,
    PatternType,
)
from falkirk.metadata.image.acls import ALLOW, DENY, Acl, AclsDelta, AclsImage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from falkirk.metadata.requests.request_context import RequestContext

_Pattern = tuple[int, int, str]  # resource type, pattern type, name
# What an ALLOW of other operations implies.
_IMPLY: Final[Mapping[int, frozenset[int]]] = {
    AclOperation.DESCRIBE: frozenset(
        {AclOperation.DESCRIBE, AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER}
    ),
    AclOperation.DESCRIBE_CONFIGS: frozenset({AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS}),
}


class Authorizer:
    """Authorizes requests. Immutable: a change of ACLs makes a new one, at the cost of the change."""

    is_configured = True
    """True if ACLs are kept at all; otherwise their APIs answer SECURITY_DISABLED."""

    def __init__(
        self,
        *,
        super_users: frozenset[str] = frozenset(),
        allow_everyone: bool = False,
        knows_ranges: bool = True,
        patterns: Map[_Pattern, Map[bytes, Acl]] | None = None,
        prefix_lengths: Map[tuple[int, int], int] | None = None,
    ) -> None:
        self._super_users = super_users
        self._allow_everyone = allow_everyone
        self._knows_ranges = knows_ranges
        # The entries of each pattern by id, and how many prefixed patterns of a resource type have a length.
        self._patterns: Map[_Pattern, Map[bytes, Acl]] = Map() if patterns is None else patterns
        self._prefix_lengths: Map[tuple[int, int], int] = Map() if prefix_lengths is None else prefix_lengths

    @classmethod
    def of(
        cls, acls: AclsImage, *, super_users: str = "", allow_everyone: bool = False, knows_ranges: bool = True
    ) -> Authorizer:
        """Make an authorizer of all ACLs.

        `super_users`: the value of super.users, `User:a;User:b`. `allow_everyone`: allow.everyone.if.no.acl.found.
        `knows_ranges`: whether the release accepts address ranges as hosts.
        """
        users = frozenset(user.strip() for user in super_users.split(";") if user.strip())
        empty = cls(super_users=users, allow_everyone=allow_everyone, knows_ranges=knows_ranges)
        return empty.changed_by(AclsDelta.between(AclsImage(), acls))

    def changed_by(self, delta: AclsDelta) -> Authorizer:
        """Return the authorizer after a change."""
        before = delta.acls.base
        patterns, lengths = self._patterns, self._prefix_lengths
        for acl_id, acl in delta.acls.changes.items():
            old = before.get(acl_id)
            if old is not None:
                patterns, lengths = _without(patterns, lengths, acl_id, old)
            if acl is not None:
                patterns, lengths = _with(patterns, lengths, acl_id, acl)
        return Authorizer(
            super_users=self._super_users,
            allow_everyone=self._allow_everyone,
            knows_ranges=self._knows_ranges,
            patterns=patterns,
            prefix_lengths=lengths,
        )

    def is_allowed(self, context: RequestContext, operation: int, resource_type: int, resource_name: str) -> bool:
        """Return whether the principal may perform the operation. Numbers are those of AclOperation and ResourceType.

        A DENY wins over every ALLOW. An ALLOW of some operations implies DESCRIBE or DESCRIBE_CONFIGS, a DENY implies
        nothing. Without any ACL for the resource the configuration decides.
        """
        principal = str(context.principal)
        if principal in self._super_users:
            return True
        host = java_address(context.client_host)
        has_acls = is_allowed = False
        for entries in self._applying(resource_type, resource_name):
            has_acls = True
            for acl in entries.values():
                if not self._is_about(acl, principal, host) or not _covers(acl, operation):
                    continue
                if acl.permission_type == DENY:
                    return False
                is_allowed = True
        return is_allowed if has_acls else self._allow_everyone

    def is_allowed_on_any(self, context: RequestContext, operation: int, resource_type: int) -> bool:
        """Return whether the principal may perform the operation on some resource of the type (KIP-679)."""
        # A name that no resource has: decides for super users, and for everyone where there are no ACLs.
        if self.is_allowed(context, operation, resource_type, "hardcode"):
            return True
        principal, host = str(context.principal), java_address(context.client_host)
        allowed: list[_Pattern] = []
        denied: set[_Pattern] = set()
        for pattern, entries in self._patterns.items():
            if pattern[0] != resource_type:
                continue
            for acl in entries.values():
                if acl.operation not in {operation, AclOperation.ALL} or not self._is_about(acl, principal, host):
                    continue
                if acl.permission_type == DENY:
                    denied.add(pattern)
                else:
                    allowed.append(pattern)
        if (resource_type, PatternType.LITERAL, WILDCARD) in denied:
            return False
        return any(not _is_dominated(pattern, denied) for pattern in allowed)

    def _applying(self, resource_type: int, name: str) -> Iterator[Map[bytes, Acl]]:
        """Yield the ACLs of all patterns that match a resource."""
        literal = self._patterns.get((resource_type, PatternType.LITERAL, name))
        if literal is not None:
            yield literal
        wildcard = self._patterns.get((resource_type, PatternType.LITERAL, WILDCARD)) if name != WILDCARD else None
        if wildcard is not None:
            yield wildcard
        for kind, length in self._prefix_lengths:
            if kind == resource_type and length <= len(name):
                prefixed = self._patterns.get((resource_type, PatternType.PREFIXED, name[:length]))
                if prefixed is not None:
                    yield prefixed

    def _is_about(self, acl: Acl, principal: str, host: str) -> bool:
        if acl.principal not in {principal, WILDCARD_PRINCIPAL}:
            return False
        return matches_host(acl.host, host, knows_ranges=self._knows_ranges)


class AllowAll(Authorizer):
    """The authorizer where none is configured: everything is allowed, and there are no ACLs."""

    is_configured = False

    def changed_by(self, delta: AclsDelta) -> Authorizer:  # noqa: ARG002 - there is nothing to change
        """Return itself."""
        return self

    def is_allowed(self, context: RequestContext, operation: int, resource_type: int, resource_name: str) -> bool:  # noqa: ARG002
        """Return True."""
        return True

    def is_allowed_on_any(self, context: RequestContext, operation: int, resource_type: int) -> bool:  # noqa: ARG002
        """Return True."""
        return True


ALLOW_ALL: Final = AllowAll()


def _covers(acl: Acl, operation: int) -> bool:
    if acl.operation in {AclOperation.ALL, operation}:
        return True
    return acl.permission_type == ALLOW and acl.operation in _IMPLY.get(operation, frozenset())


def _is_dominated(pattern: _Pattern, denied: AbstractSet[_Pattern]) -> bool:
    """Return whether a DENY covers everything that an ALLOW of this pattern could allow."""
    resource_type, pattern_type, name = pattern
    if pattern_type == PatternType.LITERAL and name == WILDCARD:
        return False
    if pattern_type == PatternType.LITERAL and pattern in denied:
        return True
    return any((resource_type, PatternType.PREFIXED, name[:end]) in denied for end in range(1, len(name) + 1))


def _pattern(acl: Acl) -> _Pattern:
    return acl.resource_type, acl.pattern_type, acl.resource_name


def _with(
    patterns: Map[_Pattern, Map[bytes, Acl]], lengths: Map[tuple[int, int], int], acl_id: bytes, acl: Acl
) -> tuple[Map[_Pattern, Map[bytes, Acl]], Map[tuple[int, int], int]]:
    pattern = _pattern(acl)
    entries = patterns.get(pattern)
    if entries is None and acl.pattern_type == PatternType.PREFIXED:
        key = (acl.resource_type, len(acl.resource_name))
        lengths = lengths.set(key, lengths.get(key, 0) + 1)
    return patterns.set(pattern, (Map() if entries is None else entries).set(acl_id, acl)), lengths


def _without(
    patterns: Map[_Pattern, Map[bytes, Acl]], lengths: Map[tuple[int, int], int], acl_id: bytes, acl: Acl
) -> tuple[Map[_Pattern, Map[bytes, Acl]], Map[tuple[int, int], int]]:
    pattern = _pattern(acl)
    entries = patterns[pattern].delete(acl_id)
    if entries:
        return patterns.set(pattern, entries), lengths
    if acl.pattern_type == PatternType.PREFIXED:
        key = (acl.resource_type, len(acl.resource_name))
        count = lengths[key] - 1
        lengths = lengths.set(key, count) if count else lengths.delete(key)
    return patterns.delete(pattern), lengths
