"""Which ACLs are created, and which filters delete."""

import pytest
from controllers import make_controller, run
from hypothesis import given
from hypothesis import strategies as st

from falkirk.metadata.acls.acl_filter import AclFilter
from falkirk.metadata.acls.acl_types import AclOperation, AclPermissionType, PatternType, ResourceType
from falkirk.metadata.image.acls import Acl
from falkirk.metadata.requests.api_error import NO_ERROR
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from falkirk.slices import exhaust


def acl(**fields):
    entry = {
        "resource_type": 2,
        "resource_name": "foo",
        "pattern_type": 3,
        "principal": "User:alice",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    return Acl(**(entry | fields))


def create(controller, *acls):
    """Create entries; return the errors and the number of records."""
    result = exhaust(controller.acls.create_acls(acls))
    assert all(isinstance(record, AccessControlEntryRecord) for record, _ in result.records)
    return run(controller, result), len(result.records)


def delete(controller, *filters):
    result = exhaust(controller.acls.delete_acls(filters))
    return run(controller, result), [record for record, _ in result.records]


def acls_of(controller):
    return set(controller.state.image.acls.acls.values())


def test_entries_are_created_once():
    controller = make_controller()
    one, two = acl(), acl(host="10.0.0.1")
    assert create(controller, one, two, one) == ([NO_ERROR] * 3, 2)
    assert acls_of(controller) == {one, two}
    assert create(controller, two) == ([NO_ERROR], 0)
    delete(controller, AclFilter(host="*"))
    assert create(controller, one, two) == ([NO_ERROR] * 2, 1)
    assert acls_of(controller) == {one, two}


def test_ids_come_from_chance():
    ids = {tuple(make_ids(seed)) for seed in (0, 0, 1)}
    assert len(ids) == 2


def make_ids(seed):
    controller = make_controller(seed=seed)
    create(controller, acl(), acl(host="h"))
    return sorted(controller.state.image.acls.acls)


@pytest.mark.parametrize(
    "fields",
    [
        {"resource_type": ResourceType.ANY},
        {"resource_type": 8},
        {"pattern_type": PatternType.MATCH},
        {"pattern_type": PatternType.ANY},
        {"operation": AclOperation.ANY},
        {"operation": 16},
        {"permission_type": AclPermissionType.ANY},
        {"permission_type": 0},
        {"resource_name": ""},
        {"resource_type": ResourceType.CLUSTER, "resource_name": "mine"},
        {"principal": "alice"},
        {"host": ""},
        {"host": "10.0.0.0/33"},
        {"host": "10.0.0.0/x"},
        {"host": "/"},
    ],
    ids=str,
)
def test_an_entry_without_meaning_is_refused_and_the_others_are_not(fields):
    controller = make_controller()
    (bad, good), count = create(controller, acl(**fields), acl())
    assert (bad.error_code, good, count) == (ErrorCode.INVALID_REQUEST, NO_ERROR, 1)
    assert bad.message


@pytest.mark.parametrize(
    ("release", "at", "error"),
    [
        ("4.4", "4.4-IV2", ErrorCode.NONE),
        ("4.4", "4.4-IV1", ErrorCode.NONE),
        ("4.4", "4.4-IV0", ErrorCode.UNSUPPORTED_VERSION),
        # To those before it is a name like any other.
        ("4.3", "4.3-IV0", ErrorCode.NONE),
    ],
)
def test_ranges_of_hosts_need_their_level(release, at, error):
    controller = make_controller(release=release, metadata_version=at)
    ((told,), _) = create(controller, acl(host="10.0.0.0/8"))
    assert told.error_code is error


@pytest.mark.parametrize(("release", "is_known"), [("4.0", False), ("4.1", True), ("4.4", True)])
def test_an_operation_is_known_from_its_release_on(release, is_known):
    controller = make_controller(release=release)
    fields = {"operation": AclOperation.TWO_PHASE_COMMIT, "resource_type": ResourceType.TRANSACTIONAL_ID}
    ((told,), _) = create(controller, acl(**fields))
    assert told.is_failure != is_known


def test_what_several_filters_match_is_deleted_once_and_told_to_each():
    controller = make_controller()
    one, two, three = acl(), acl(host="h"), acl(resource_name="bar")
    create(controller, one, two, three)
    told, records = delete(
        controller, AclFilter(resource_name="foo"), AclFilter(host="h"), AclFilter(host="x"), AclFilter(operation=0)
    )
    assert [set(result.acls) for result in told] == [{one, two}, {two}, set(), set()]
    assert [result.error.error_code for result in told] == [ErrorCode.NONE] * 3 + [ErrorCode.INVALID_REQUEST]
    assert len(records) == 2
    assert all(isinstance(record, RemoveAccessControlEntryRecord) for record in records)
    assert acls_of(controller) == {three}


@pytest.mark.slow
def test_a_request_may_not_change_too_much():
    controller = make_controller()
    errors, count = create(controller, *(acl(host=f"h{number}") for number in range(10_001)))
    assert ({error.error_code for error in errors}, count) == ({ErrorCode.POLICY_VIOLATION}, 0)
    create(controller, *(acl(host=f"h{number}") for number in range(10_000)))
    create(controller, acl(host="last"))
    told, records = delete(controller, AclFilter(host="last"), AclFilter())
    assert [result.error.error_code for result in told] == [ErrorCode.NONE, ErrorCode.POLICY_VIOLATION]
    assert len(records) == 1


entries = st.builds(
    acl,
    resource_name=st.sampled_from(("a", "b")),
    host=st.sampled_from(("*", "h")),
    operation=st.sampled_from((3, 4)),
)
steps = st.lists(st.tuples(st.booleans(), st.lists(entries, max_size=4)), max_size=6)


@given(steps)
def test_no_entry_is_ever_there_twice(steps):
    controller = make_controller()
    expected = set()
    for is_creation, acls in steps:
        if is_creation:
            create(controller, *acls)
            expected |= set(acls)
        else:
            delete(controller, *(AclFilter(resource_name=entry.resource_name, host=entry.host) for entry in acls))
            gone = {(entry.resource_name, entry.host) for entry in acls}
            expected -= {entry for entry in expected if (entry.resource_name, entry.host) in gone}
        assert acls_of(controller) == expected
        assert len(controller.state.image.acls.acls) == len(expected)
