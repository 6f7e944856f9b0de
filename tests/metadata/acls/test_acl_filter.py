"""Which ACLs a filter takes."""

import pytest

from falkirk.metadata.acls.acl_filter import AclFilter
from falkirk.metadata.acls.acl_types import AclOperation, AclPermissionType, PatternType, ResourceType
from falkirk.metadata.image.acls import Acl


def acl(name, pattern=PatternType.LITERAL):
    return Acl(ResourceType.TOPIC, name, pattern, "User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)


ACLS = {
    "foo": acl("foo"),
    "*": acl("*"),
    "fo+": acl("fo", PatternType.PREFIXED),
    "foo+": acl("foo", PatternType.PREFIXED),
    "foob+": acl("foob", PatternType.PREFIXED),
    "bar": acl("bar"),
}


@pytest.mark.parametrize(
    ("pattern", "name", "taken"),
    [
        (PatternType.LITERAL, "foo", {"foo"}),
        (PatternType.LITERAL, "*", {"*"}),
        (PatternType.PREFIXED, "foo", {"foo+"}),
        (PatternType.ANY, "foo", {"foo", "foo+"}),
        (PatternType.MATCH, "foo", {"foo", "*", "fo+", "foo+"}),
        (PatternType.MATCH, "*", {"*"}),
        (PatternType.LITERAL, None, {"foo", "*", "bar"}),
        (PatternType.MATCH, None, set(ACLS)),
        (PatternType.ANY, None, set(ACLS)),
    ],
)
def test_names_are_taken_by_pattern(pattern, name, taken):
    acl_filter = AclFilter(pattern_type=pattern, resource_name=name)
    assert {key for key, entry in ACLS.items() if acl_filter.matches(entry)} == taken


@pytest.mark.parametrize(
    ("field", "same", "other"),
    [
        ("resource_type", ResourceType.TOPIC, ResourceType.GROUP),
        ("principal", "User:a", "User:b"),
        ("host", "*", "10.0.0.1"),
        ("operation", AclOperation.READ, AclOperation.ALL),
        ("permission_type", AclPermissionType.ALLOW, AclPermissionType.DENY),
    ],
)
def test_every_field_may_be_asked_for(field, same, other):
    assert AclFilter(**{field: same}).matches(ACLS["foo"])
    assert not AclFilter(**{field: other}).matches(ACLS["foo"])


@pytest.mark.parametrize("field", ["resource_type", "pattern_type", "operation", "permission_type"])
def test_numbers_without_meaning_are_known_as_such(field):
    assert not AclFilter().is_unknown
    assert AclFilter(**{field: 0}).is_unknown
    assert AclFilter(**{field: 99}).is_unknown
