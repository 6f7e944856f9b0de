"""Requests of members: who may, what older versions are told, what comes of errors of the coordinator."""

import pytest
from broker_views import ask_broker, broker_view
from fake_groups import FakeGroups
from topic_authorizers import resource_authorizer

from falkirk.coordinator.runtime.client import ClientContext
from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from falkirk.protocol.messages.leave_group_request import MemberIdentity
from falkirk.protocol.messages.leave_group_response import MemberResponse

NOBODY = resource_authorizer((ResourceType.GROUP, "other", AclOperation.ALL))
READER = resource_authorizer(
    (ResourceType.GROUP, "g", AclOperation.READ), (ResourceType.TOPIC, "a", AclOperation.DESCRIBE)
)


def requests(group_id):
    """One request of each kind, for a group."""
    return [
        JoinGroupRequest(group_id, 10_000, 10_000, protocol_type="consumer", member_id="m"),
        SyncGroupRequest(group_id, 1, "m", protocol_type="consumer", protocol_name="range"),
        HeartbeatRequest(group_id, 1, "m"),
        LeaveGroupRequest(group_id, members=[MemberIdentity("m")]),
    ]


CONSUMER_HEARTBEAT = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", subscribed_topic_names=("a",))


@pytest.mark.parametrize("request_", [*requests("g"), CONSUMER_HEARTBEAT], ids=lambda each: type(each).__name__)
def test_who_may_not_read_the_group_is_refused(request_):
    groups = FakeGroups()
    answer = ask_broker(broker_view(groups=groups, authorizer=NOBODY), request_)
    assert (answer.error_code, groups.asked) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, [])


@pytest.mark.parametrize("request_", requests(""), ids=lambda each: type(each).__name__)
def test_a_group_has_a_name(request_):
    assert ask_broker(broker_view(groups=FakeGroups()), request_).error_code == ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize("version", range(10))
def test_a_joining_member_is_told_what_the_shard_says_in_every_version(version):
    groups = FakeGroups({"g": JoinGroupResponse(generation_id=3, protocol_name=None, member_id="m")})
    view = broker_view(groups=groups, authorizer=READER)
    answer = ask_broker(view, JoinGroupRequest("g", 10_000, -1, member_id="m"), version, client_id="me")
    assert (answer.generation_id, answer.protocol_name) == (3, None if version >= 7 else "")
    ((name, (client, request)),) = groups.asked
    assert (name, request.group_id) == ("join_group", "g")
    assert client == ClientContext(api_version=version, client_id="me", client_host="/127.0.0.1")


@pytest.mark.parametrize("version", [0, 7])
def test_a_refused_join_can_be_written_in_every_version(version):
    answer = ask_broker(broker_view(groups=FakeGroups()), JoinGroupRequest("", 10_000, member_id="m"), version)
    assert (answer.error_code, answer.member_id) == (ErrorCode.INVALID_GROUP_ID, "m")


def test_a_sync_without_its_protocol_is_refused_from_version_5_on():
    groups = FakeGroups({"g": SyncGroupResponse(assignment=b"x")})
    view = broker_view(groups=groups)
    request = SyncGroupRequest("g", 1, "m")
    assert ask_broker(view, request, 5).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert ask_broker(view, request, 4).assignment == b"x"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NONE),
        (ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_a_member_is_left_alone_while_its_group_loads(error, told):
    view = broker_view(groups=FakeGroups({"g": error}))
    assert ask_broker(view, HeartbeatRequest("g", 1, "m")).error_code == told
    assert ask_broker(broker_view(groups=FakeGroups({"g": HeartbeatResponse(error_code=27)})), HeartbeatRequest("g"))


@pytest.mark.parametrize("version", range(6))
def test_the_one_member_that_left_is_told_its_own_error_below_version_3(version):
    members = [MemberResponse("m", None, ErrorCode.UNKNOWN_MEMBER_ID)]
    groups = FakeGroups({"g": LeaveGroupResponse(members=members)})
    request = LeaveGroupRequest("g", "m") if version < 3 else LeaveGroupRequest("g", members=[MemberIdentity("m")])
    answer = ask_broker(broker_view(groups=groups), request, version)
    if version < 3:
        assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    else:
        assert (answer.error_code, answer.members) == (0, members)
    assert groups.asked[0][1][1].members == [MemberIdentity("m")]


def test_an_error_of_the_group_is_told_to_leaving_members_of_all_versions():
    view = broker_view(groups=FakeGroups({"g": ErrorCode.KAFKA_STORAGE_ERROR}))
    for version in range(6):
        assert ask_broker(view, LeaveGroupRequest("g"), version).error_code == ErrorCode.NOT_COORDINATOR


def test_the_consumer_protocol_is_a_version_that_nobody_supports_where_it_is_not_enabled():
    view = broker_view(groups=FakeGroups(is_enabled=False))
    assert ask_broker(view, CONSUMER_HEARTBEAT).error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize(("release", "error"), [("4.3", ErrorCode.TOPIC_AUTHORIZATION_FAILED), ("3.9", ErrorCode.NONE)])
def test_members_name_but_topics_that_they_may_describe_since_the_protocol_is_a_feature(release, error):
    groups = FakeGroups({"g": ConsumerGroupHeartbeatResponse(member_id="m", member_epoch=1)})
    view = broker_view(groups=groups, authorizer=READER, release=release)
    hidden = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", subscribed_topic_names=("a", "b"))
    assert ask_broker(view, hidden, 0).error_code == error
    assert ask_broker(view, CONSUMER_HEARTBEAT, 0).member_epoch == 1


def test_a_pattern_finds_what_the_member_may_describe():
    groups = FakeGroups({"g": ConsumerGroupHeartbeatResponse()})
    ask_broker(broker_view(groups=groups, authorizer=READER), CONSUMER_HEARTBEAT)
    is_describable = groups.asked[0][1][-1]
    assert (is_describable("a"), is_describable("b")) == (True, False)
