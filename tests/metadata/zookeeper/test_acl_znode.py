import json

import pytest
from hypothesis import given
from znodes import KAFKA, hostile, read_or_refused

from falkirk.metadata.acls.acl_types import CLUSTER_NAME, AclOperation, AclPermissionType, PatternType, ResourceType
from falkirk.metadata.acls.authorizer import Authorizer
from falkirk.metadata.requests.request_context import Principal, RequestContext
from falkirk.metadata.zookeeper.acl_znode import ALL_CLUSTER_ACLS_PATHS, acls_image, decode_acls
from falkirk.metadata.zookeeper.errors import ZnodeError

PATH = "/kafka-acl/Cluster/kafka-cluster"
ENTRY = {"principal": "User:alice", "permissionType": "Allow", "operation": "Alter", "host": "*"}


def acls(*entries, **members):
    return decode_acls(json.dumps({"version": 1, "acls": entries} | members).encode())


def may(image, user, operation, host="10.0.0.1"):
    context = RequestContext(api_key=57, api_version=0, principal=Principal("User", user), client_host=host)
    return Authorizer.of(acls_image(image)).is_allowed(context, operation, ResourceType.CLUSTER, CLUSTER_NAME)


def test_what_kafka_was_told_decides():
    image = decode_acls(KAFKA["acls"].encode())
    assert len(image) == 4
    assert may(image, "admin", AclOperation.ALTER)
    assert may(image, "admin", AclOperation.DESCRIBE)
    assert not may(image, "admin", AclOperation.CREATE)
    assert not may(image, "bob", AclOperation.ALTER)
    assert not may(image, "admin", AclOperation.ALTER, host="10.0.0.9")


@given(hostile(KAFKA["acls"]))
def test_whatever_stands_there_is_read_or_refused(data):
    image = read_or_refused(lambda: decode_acls(data), PATH)
    assert image is None or all(acl.resource_name == CLUSTER_NAME for acl in image)


def test_prefixed_acls_are_of_their_own_znode():
    data = json.dumps({"version": 1, "acls": [ENTRY]}).encode()
    kinds = [decode_acls(data, path)[0].pattern_type for path in (PATH, ALL_CLUSTER_ACLS_PATHS[-1])]
    assert kinds == [PatternType.LITERAL, PatternType.PREFIXED]


def test_an_empty_znode_has_no_acl():
    assert not decode_acls(b"")
    assert not acls()


@pytest.mark.parametrize("name", ["ClusterAction", "CLUSTERACTION"])
def test_operations_have_the_names_of_kafka(name):
    (acl,) = acls(ENTRY | {"operation": name, "permissionType": "Deny"})
    assert (acl.operation, acl.permission_type) == (AclOperation.CLUSTER_ACTION, AclPermissionType.DENY)
    assert (acl.principal, acl.host) == ("User:alice", "*")


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"principal": "alice"}, r'ACL 2: principal is "alice", not a type and a name, as User:alice'),
        ({"principal": "User:"}, "ACL 2: principal is"),
        ({"principal": 5}, "ACL 2: principal is 5, not a text"),
        ({"operation": "Fly"}, 'ACL 2: operation is "Fly", which is unknown'),
        ({"operation": "Any"}, 'ACL 2: operation is "Any", which is unknown'),
        ({"permissionType": "Unknown"}, 'ACL 2: permissionType is "Unknown", which is unknown'),
        ({"host": None}, "ACL 2: host is null, not a text"),
    ],
)
def test_an_entry_that_cannot_be_meant_is_named(entry, fault):
    with pytest.raises(ZnodeError, match=f"^znode {PATH}: {fault}"):
        acls(ENTRY, ENTRY | entry)


@pytest.mark.parametrize(
    ("members", "fault"),
    [
        ({"version": 2}, r"the schema version 2 is unknown \(known are 1 to 1\)"),
        ({"acls": {}}, "acls is an object, not a list"),
        ({"acls": [1]}, r"acls\[0\] is 1, not an object"),
    ],
)
def test_what_the_schema_does_not_allow_is_named(members, fault):
    with pytest.raises(ZnodeError, match=f"^znode {PATH}: {fault}"):
        acls(**members)
