"""Groups of types that we do not coordinate keep their names, and what they have in the log."""

import pytest
from group_records import Log, member
from offsets_world import GROUP, OffsetsWorld

from falkirk.coordinator.records.record_type import GroupType
from falkirk.coordinator.runtime.client import ClientContext
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ConsumerGroupHeartbeatRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from falkirk.protocol.messages.leave_group_request import MemberIdentity

TYPES = {GroupType.SHARE: (11, 10), GroupType.STREAMS: (17, 19)}


def world_with(type_, *, members):
    group_record, member_record = TYPES[type_]
    log = Log()
    log.value(group_record, GROUP, epoch=1)
    for member_id in members:
        log.value(member_record, member(GROUP, member_id))
    return OffsetsWorld().reloaded(log.entries)


def answer(world, method, request, version=4, **given):
    (reply,) = world.apply(getattr(world.shard, method)(ClientContext(api_version=version), request, 1, **given))
    return reply.response


@pytest.mark.parametrize("type_", TYPES)
def test_members_of_other_protocols_are_refused_as_kafka_refuses_them(type_):
    for world in (world_with(type_, members=["m"]), world_with(type_, members=[])):
        join = JoinGroupRequest(group_id=GROUP, session_timeout_ms=10_000, protocol_type="consumer")
        assert answer(world, "join_group", join).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        sync = SyncGroupRequest(group_id=GROUP, member_id="m")
        assert answer(world, "sync_group", sync).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        beat = HeartbeatRequest(group_id=GROUP, member_id="m")
        assert answer(world, "heartbeat", beat).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        leave = LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(member_id="m", group_instance_id="i")])
        (left,) = answer(world, "leave_group", leave).members
        assert (left.member_id, left.group_instance_id, left.error_code) == ("m", "i", ErrorCode.UNKNOWN_MEMBER_ID)
        heartbeat = ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id="m", rebalance_timeout_ms=1, subscribed_topic_names=("t",), topic_partitions=[]
        )
        refused = answer(world, "consumer_group_heartbeat", heartbeat, 1, is_describable=bool)
        assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert refused.error_message == "Group g is not a consumer group."
        assert world.context.groups[GROUP].type is type_
        assert not world.written


@pytest.mark.parametrize("type_", TYPES)
def test_they_are_neither_deleted_nor_do_they_expire(type_):
    with_members, empty = world_with(type_, members=["m"]), world_with(type_, members=[])
    assert answer(with_members, "delete_group", GROUP).error_code == ErrorCode.NON_EMPTY_GROUP
    assert answer(empty, "delete_group", GROUP).error_code == ErrorCode.UNSUPPORTED_VERSION
    empty.pass_time(30 * 86_400_000)
    assert empty.context.groups[GROUP].state_name == "Empty"
    assert not empty.written


def test_a_members_tombstone_and_the_groups_are_understood():
    log = Log()
    log.value(11, GROUP, epoch=1)
    log.value(10, member(GROUP))
    log.value(14, member(GROUP), member_epoch=1)
    log.tombstone(14, member(GROUP))
    log.tombstone(10, member(GROUP))
    world = OffsetsWorld().reloaded(log.entries)
    assert world.context.groups[GROUP].is_empty
    log.tombstone(12, GROUP)
    log.tombstone(11, GROUP)
    assert world.reloaded(log.entries).context.groups == {}


def test_offsets_of_a_streams_group_are_read_by_who_is_no_member():
    log = Log()
    log.value(17, GROUP, epoch=1)
    log.commit(GROUP)
    world = OffsetsWorld().reloaded(log.entries)
    assert world.fetch().committed_offset == 5
    assert world.fetch_group(0, member="m", epoch=1).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.commit(member="m", epoch=1) is ErrorCode.UNKNOWN_MEMBER_ID
