"""The APIs of ACLs: who may, what travels."""

import pytest
from controllers import make_controller
from immutables import Map
from node_views import ask

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.acls.authorizer import ALLOW_ALL
from falkirk.metadata.image.acls import Acl
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest
from falkirk.protocol.messages.create_acls_request import AclCreation
from falkirk.protocol.messages.delete_acls_request import DeleteAclsFilter

LITERAL, PREFIXED, ANY = 3, 4, 1
FOO = AclCreation(2, "foo", LITERAL, "User:alice", "*", 3, 3)
FOO_WRITE = AclCreation(2, "foo", LITERAL, "User:alice", "*", 4, 3)
PRE = AclCreation(2, "pre", PREFIXED, "User:alice", "*", 3, 3)
ALL = DeleteAclsFilter(1, None, ANY, None, None, 1, 1)
DESCRIBE_ALL = DescribeAclsRequest(1, None, ANY, None, None, 1, 1)


def test_acls_are_created_described_and_deleted():
    controller = make_controller()
    bad = AclCreation(2, "", LITERAL, "User:alice", "*", 3, 3)
    results = ask(controller, CreateAclsRequest([FOO, bad, FOO_WRITE, PRE])).results
    assert [result.error_code for result in results] == [0, ErrorCode.INVALID_REQUEST, 0, 0]
    assert results[0].error_message == ""
    resources = ask(controller, DESCRIBE_ALL).resources
    assert [(resource.resource_name, resource.pattern_type, len(resource.acls)) for resource in resources] == [
        ("foo", LITERAL, 2),
        ("pre", PREFIXED, 1),
    ]
    foo, nothing = ask(
        controller,
        DeleteAclsRequest(
            [DeleteAclsFilter(2, "foo", LITERAL, None, None, 1, 1), DeleteAclsFilter(2, "x", LITERAL, None, None, 1, 1)]
        ),
    ).filter_results
    assert {(acl.resource_name, acl.operation, acl.error_code) for acl in foo.matching_acls} == {
        ("foo", 3, 0),
        ("foo", 4, 0),
    }
    assert (nothing.error_code, nothing.matching_acls) == (0, [])
    assert [resource.resource_name for resource in ask(controller, DESCRIBE_ALL).resources] == ["pre"]


@pytest.mark.parametrize("version", range(4))
def test_acls_are_answered_in_every_version(version):
    controller = make_controller(release="3.9")
    assert [result.error_code for result in ask(controller, CreateAclsRequest([FOO]), version).results] == [0]
    # Version 0 has no pattern types: it asks for literal names.
    open_filter = ANY if version else LITERAL
    described = ask(controller, DescribeAclsRequest(1, None, open_filter, None, None, 1, 1), version)
    assert [resource.acls[0].principal for resource in described.resources] == ["User:alice"]
    deleted = ask(controller, DeleteAclsRequest([DeleteAclsFilter(1, None, open_filter, None, None, 1, 1)]), version)
    assert [acl.resource_name for acl in deleted.filter_results[0].matching_acls] == ["foo"]


REQUESTS = {
    "create": (CreateAclsRequest([FOO]), AclOperation.ALTER, lambda answer: answer.results[0].error_code),
    "delete": (DeleteAclsRequest([ALL]), AclOperation.ALTER, lambda answer: answer.filter_results[0].error_code),
    "describe": (DESCRIBE_ALL, AclOperation.DESCRIBE, lambda answer: answer.error_code),
}
EVERY_OPERATION = frozenset(range(3, 16))
IMPLYING = {AclOperation.DESCRIBE: {3, 4, 6, 7}}


@pytest.mark.parametrize("name", REQUESTS)
def test_acls_need_their_right_on_the_cluster(name):
    request, operation, error = REQUESTS[name]
    controller = make_controller()
    assert error(ask(controller, request, operations=[operation])) == 0
    others = EVERY_OPERATION - {operation} - IMPLYING.get(operation, set())
    assert error(ask(controller, request, operations=others)) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.parametrize("name", REQUESTS)
def test_without_an_authorizer_there_are_no_acls(name):
    request, _, error = REQUESTS[name]
    controller = make_controller()
    assert error(ask(controller, request, authorizer=ALLOW_ALL)) == ErrorCode.SECURITY_DISABLED
    assert controller.state.image.acls.acls == Map()


def test_filters_without_meaning_are_refused():
    controller = make_controller()
    answer = ask(controller, DescribeAclsRequest(1, None, ANY, None, None, 77, 1))
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    (result,) = ask(controller, DeleteAclsRequest([DeleteAclsFilter(1, None, ANY, None, None, 77, 1)])).filter_results
    assert result.error_code == ErrorCode.INVALID_REQUEST


def test_what_is_described_is_what_is_published():
    controller = make_controller()
    published = controller.state.image
    ask(controller, CreateAclsRequest([FOO]))
    assert ask(controller, DESCRIBE_ALL, image=published).resources == []
    assert Acl(2, "foo", LITERAL, "User:alice", "*", 3, 3) in controller.state.existing_acls
