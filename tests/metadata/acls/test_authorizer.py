"""Who may do what: as real Kafka decides, and as the rules read one by one decide."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from falkirk.metadata.acls.acl_hosts import java_address, matches_host, parse_range
from falkirk.metadata.acls.acl_types import AclOperation, PatternType, ResourceType
from falkirk.metadata.acls.authorizer import ALLOW_ALL, Authorizer
from falkirk.metadata.image.acls import ALLOW, DENY, Acl, AclsDelta, AclsImage
from falkirk.metadata.requests.request_context import Principal, RequestContext

DECISIONS = Path(__file__).parents[2] / "data/acls/decisions.tsv"
ALICE = "User:alice"


def context(principal=ALICE, host="10.0.0.1"):
    kind, name = principal.split(":", 1)
    return RequestContext(api_key=0, api_version=0, principal=Principal(kind, name), client_host=host)


def acl(
    name="foo",
    operation=AclOperation.READ,
    permission=ALLOW,
    *,
    kind=ResourceType.TOPIC,
    pattern=PatternType.LITERAL,
    principal=ALICE,
    host="*",
):
    return Acl(int(kind), name, int(pattern), principal, host, int(operation), permission)


def image(*acls):
    return AclsImage(Map({index.to_bytes(16, "big"): entry for index, entry in enumerate(acls)}))


def is_allowed(*acls, operation=AclOperation.READ, name="foo", who=None, **settings):
    authorizer = Authorizer.of(image(*acls), **settings)
    return authorizer.is_allowed(who or context(), operation, ResourceType.TOPIC, name)


@pytest.mark.parametrize(("release", "column"), [("4.4.0", 0), ("4.3.1", 2)])
def test_decisions_are_those_of_real_kafka(release, column):
    knows_ranges = release == "4.4.0"
    acls, settings, asked = [], {}, 0
    for line in DECISIONS.read_text().splitlines():
        kind, *fields = line.split("\t")
        if kind == "case":
            acls, settings = [], {"super_users": fields[0], "allow_everyone": fields[1] == "true"}
        elif kind == "acl":
            resource, name, pattern, principal, host, operation, permission = fields
            acls.append(Acl(int(resource), name, int(pattern), principal, host, int(operation), int(permission)))
        else:
            principal, host, operation, resource, name, *answers = fields
            authorizer = Authorizer.of(image(*acls), knows_ranges=knows_ranges, **settings)
            who = context(principal, host)
            told = authorizer.is_allowed(who, int(operation), int(resource), name)
            anywhere = authorizer.is_allowed_on_any(who, int(operation), int(resource))
            assert [told, anywhere] == [answer == "A" for answer in answers[column : column + 2]], (acls, line)
            asked += 1
    assert asked > 800


def test_a_deny_wins_over_any_allow():
    assert is_allowed(acl())
    assert not is_allowed(acl(), acl(permission=DENY))
    assert not is_allowed(acl(), acl("*", permission=DENY))
    assert not is_allowed(acl(), acl("f", permission=DENY, pattern=PatternType.PREFIXED))
    assert is_allowed(acl(), acl("g", permission=DENY, pattern=PatternType.PREFIXED))


@pytest.mark.parametrize("operation", ["READ", "WRITE", "DELETE", "ALTER", "DESCRIBE", "ALL"])
def test_an_allow_of_doing_something_implies_describe_and_a_deny_does_not(operation):
    allowed = acl(operation=AclOperation[operation])
    assert is_allowed(allowed, operation=AclOperation.DESCRIBE)
    denied = acl(operation=AclOperation[operation], permission=DENY)
    describe = acl(operation=AclOperation.DESCRIBE)
    assert is_allowed(describe, denied, operation=AclOperation.DESCRIBE) == (operation not in {"DESCRIBE", "ALL"})


def test_alter_configs_implies_describe_configs_and_create_implies_nothing():
    assert is_allowed(acl(operation=AclOperation.ALTER_CONFIGS), operation=AclOperation.DESCRIBE_CONFIGS)
    assert not is_allowed(acl(operation=AclOperation.CREATE), operation=AclOperation.DESCRIBE)
    assert not is_allowed(acl(operation=AclOperation.DESCRIBE_CONFIGS), operation=AclOperation.DESCRIBE)


def test_without_an_acl_for_the_resource_the_configuration_decides():
    other = acl("bar")
    assert not is_allowed(other)
    assert is_allowed(other, allow_everyone=True)
    # An ACL that speaks of somebody else is one all the same.
    assert not is_allowed(acl(principal="User:bob"), allow_everyone=True)
    assert not is_allowed(acl("fo", pattern=PatternType.PREFIXED, principal="User:bob"), allow_everyone=True)


def test_super_users_may_do_everything():
    assert is_allowed(acl(permission=DENY), super_users="User:bob; User:alice ;")
    assert not is_allowed(acl(permission=DENY), super_users="User:bob")


def test_without_an_authorizer_everything_is_allowed():
    assert ALLOW_ALL.is_allowed(context(), AclOperation.ALTER, ResourceType.CLUSTER, "kafka-cluster")
    assert ALLOW_ALL.is_allowed_on_any(context(), AclOperation.WRITE, ResourceType.TOPIC)
    assert ALLOW_ALL.changed_by(AclsDelta(image(acl(permission=DENY)))) is ALLOW_ALL
    assert not ALLOW_ALL.is_configured
    assert Authorizer().is_configured


@pytest.mark.parametrize(
    ("host", "client", "matches"),
    [
        ("*", "1.2.3.4", True),
        ("10.0.0.0/8", "10.9.9.9", True),
        ("10.1.2.3/8", "10.9.9.9", True),
        ("10.0.0.0/8", "11.0.0.0", False),
        ("10.0.0.0/31", "10.0.0.0", True),
        ("10.0.0.1/32", "10.0.0.1", True),
        ("10.0.0.0/8", "fd00:0:0:0:0:0:0:1", False),
        ("fd00::/8", "fd00:0:0:0:0:0:0:1", True),
        ("10.0.0.0/255.0.0.0", "10.0.0.1", False),
        ("somewhere/8", "10.0.0.1", False),
        ("::ffff:10.0.0.0/104", "10.0.0.1", False),
        ("0.0.0.0/0", "10.0.0.0", True),
        ("::/0", "fd00:0:0:0:0:0:0:1", True),
    ],
)
def test_hosts_may_be_ranges_of_addresses(host, client, matches):
    assert matches_host(host, client, knows_ranges=True) == matches
    assert matches_host(host, client, knows_ranges=False) == (host == "*")


def test_addresses_are_written_as_java_writes_them():
    assert java_address("::1") == "0:0:0:0:0:0:0:1"
    assert java_address("fe80::1%eth0") == "fe80:0:0:0:0:0:0:1"
    assert java_address("::ffff:10.0.0.1") == "10.0.0.1"
    assert java_address("10.0.0.1") == "10.0.0.1"
    assert parse_range("10.0.0.0/33") is None


NAMES = ("a", "ab", "abc", "b", "ba")
acls_of_chance = st.builds(
    acl,
    st.sampled_from((*NAMES, "*")),
    st.sampled_from((2, 3, 4, 8, 10, 11)),
    st.sampled_from((DENY, ALLOW, ALLOW)),
    kind=st.sampled_from((2, 3)),
    pattern=st.sampled_from((3, 4)),
    principal=st.sampled_from((ALICE, "User:bob", "User:*")),
    host=st.sampled_from(("*", "10.0.0.1", "10.0.0.2", "10.0.0.0/30")),
)


def naive(acls, who, operation, kind, name, *, allow_everyone):
    """Decide by reading every entry."""
    implied = {8: {3, 4, 6, 7}, 10: {11}}.get(operation, set())
    applying = [
        entry
        for entry in acls
        if entry.resource_type == kind
        and (
            name.startswith(entry.resource_name)
            if entry.pattern_type == PatternType.PREFIXED
            else entry.resource_name in {name, "*"}
        )
    ]
    if not applying:
        return allow_everyone
    about = [
        entry
        for entry in applying
        if entry.principal in {str(who.principal), "User:*"}
        and (entry.host in {"*", who.client_host} or (entry.host == "10.0.0.0/30" and who.client_host < "10.0.0.4"))
    ]
    if any(entry.permission_type == DENY and entry.operation in {2, operation} for entry in about):
        return False
    return any(entry.permission_type == ALLOW and entry.operation in {2, operation, *implied} for entry in about)


@given(
    st.lists(acls_of_chance, max_size=12),
    st.lists(st.tuples(st.integers(0, 15), acls_of_chance | st.none()), max_size=8),
    st.booleans(),
    st.data(),
)
def test_an_authorizer_decides_as_reading_every_entry_does_also_after_changes(acls, changes, allow_everyone, data):
    before = image(*acls)
    delta = AclsDelta(before)
    for number, entry in changes:
        acl_id = number.to_bytes(16, "big")
        if entry is None:
            delta.acls.remove(acl_id)
        else:
            delta.acls.put(acl_id, entry)
    after = delta.apply()
    authorizer = Authorizer.of(before, allow_everyone=allow_everyone).changed_by(delta)
    who = context(
        data.draw(st.sampled_from((ALICE, "User:bob", "Group:x"))),
        data.draw(st.sampled_from(("10.0.0.1", "10.0.0.2", "10.0.0.9"))),
    )
    for operation in (3, 8, 10, 11):
        for name in NAMES:
            expected = naive(after.acls.values(), who, operation, 2, name, allow_everyone=allow_everyone)
            assert authorizer.is_allowed(who, operation, 2, name) == expected
