"""Heartbeats, groups that are read from the log, and what conversions ask of classic groups."""

import pytest
from classic_world import GROUP, REBALANCE_MS, SESSION_MS, ClassicWorld

from falkirk.coordinator.classic.classic_records import group_metadata_record
from falkirk.coordinator.classic.group import ClassicGroup, group_metadata_tombstone
from falkirk.coordinator.classic.member import ClassicMember
from falkirk.coordinator.runtime.outcome import Outcome
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import GroupMetadataKey, GroupMetadataValue
from falkirk.protocol.messages.group_metadata_value import MemberMetadata
from falkirk.protocol.messages.join_group_request import JoinGroupRequestProtocol


@pytest.mark.parametrize("version", range(5))
def test_a_heartbeat_keeps_a_member_alive(version: int):
    world = ClassicWorld()
    ids = world.stable(1)

    for _ in range(5):
        world.pass_time(SESSION_MS - 1)
        assert world.heartbeat(ids[0], 1, version=version) == ErrorCode.NONE

    assert world.group().state_name == "Stable"


def test_a_heartbeat_is_taken_before_the_assignment_is_there():
    world = ClassicWorld()
    ids = world.members(1)

    assert world.heartbeat(ids[0], 1) == ErrorCode.NONE


def test_a_heartbeat_while_members_join_again_keeps_alive_and_tells_of_it():
    world = ClassicWorld()
    ids = world.stable(2)
    world.join(ids[0])

    for _ in range(3):
        world.pass_time(SESSION_MS - 1)
        assert world.heartbeat(ids[1], 1) == ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"generation": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "someone"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"instance": "someone"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group": "other"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group": ""}, ErrorCode.INVALID_GROUP_ID),
    ],
)
def test_a_heartbeat_that_does_not_fit_is_refused(asked: dict[str, object], error: ErrorCode):
    world = ClassicWorld()
    ids = world.stable(1)

    assert world.heartbeat(**{"member_id": ids[0], "generation": 1, **asked}) == error  # type: ignore[arg-type]


def test_a_coordinator_that_takes_over_goes_on_with_a_stable_group():
    world = ClassicWorld()
    ids = world.stable(2, static=True)

    world.reload()

    group = world.group()
    assert group.state_name == "Stable"
    assert group.leader_id == ids[0]
    assert group.static_members == {"i0": ids[0], "i1": ids[1]}
    assert group.is_subscribed_to("t")
    assert world.heartbeat(ids[0], 1, instance="i0") == ErrorCode.NONE
    assert world.synced(world.sync(ids[1], 1, instance="i1")).assignment == b"1"
    assert world.leave(ids[1]).members[0].error_code == ErrorCode.NONE


def test_a_member_that_does_not_come_to_the_new_coordinator_is_taken_out():
    world = ClassicWorld()
    world.stable(1)
    world.reload()

    world.pass_time(SESSION_MS)

    assert world.group().state_name == "Empty"


def test_a_rebalance_that_the_old_coordinator_had_begun_begins_anew():
    world = ClassicWorld()
    ids = world.stable(2)
    for each in ids:
        world.join(each)
    assert world.group().generation_id == 2

    world.reload()

    assert world.heartbeat(ids[0], 2) == ErrorCode.ILLEGAL_GENERATION
    tokens = [world.join(each) for each in ids]
    assert {world.joined(token).generation_id for token in tokens} == {2}


def test_a_group_that_was_loaded_and_is_too_large_rebalances():
    world = ClassicWorld()
    ids = world.stable(2)

    world.reload(group_max_size=1)

    assert world.heartbeat(ids[0], 1) == ErrorCode.REBALANCE_IN_PROGRESS
    world.reload(group_max_size=2)
    assert world.heartbeat(ids[0], 1) == ErrorCode.NONE


def test_a_group_that_never_had_members_is_loaded_as_one_of_offsets():
    world = ClassicWorld()
    world.join(version=4)

    world.reload()

    assert world.group().is_simple
    assert world.group().is_empty


def test_a_tombstone_removes_a_group_and_its_timers():
    world = ClassicWorld()
    world.joined(world.join(version=4))

    world.apply(Outcome(records=[group_metadata_tombstone(GROUP)]))

    assert GROUP not in world.context.groups
    assert world.context.timers.next_due_ms is None
    world.apply(Outcome(records=[group_metadata_tombstone("never was")]))


def test_a_record_of_an_old_version_lacks_what_came_later():
    world = ClassicWorld()
    value = GroupMetadataValue(
        protocol_type="consumer",
        generation=3,
        protocol="range",
        leader="a",
        members=[MemberMetadata(member_id="a", session_timeout=SESSION_MS, subscription=b"?")],
    )

    world.protocol.replay(GroupMetadataKey(group=GROUP), value)

    group = world.group()
    assert group.rebalance_timeout_ms == SESSION_MS
    assert group.current_state_timestamp_ms is None
    assert group_metadata_record(group).value == GroupMetadataValue(
        protocol_type="consumer",
        generation=3,
        protocol="range",
        leader="a",
        members=[
            MemberMetadata(member_id="a", session_timeout=SESSION_MS, rebalance_timeout=SESSION_MS, subscription=b"?")
        ],
    )


def test_a_leader_who_is_no_member_is_succeeded_by_who_joins():
    world = ClassicWorld()
    members = [
        MemberMetadata(member_id=each, session_timeout=SESSION_MS, rebalance_timeout=REBALANCE_MS) for each in "ab"
    ]
    value = GroupMetadataValue(protocol_type="consumer", generation=1, protocol="range", leader="gone", members=members)
    world.protocol.replay(GroupMetadataKey(group=GROUP), value)
    world.apply(world.protocol.loaded(world.group()))

    tokens = [world.join("b", protocols={"range": b"new"}), world.join("a")]

    assert {world.joined(token).leader for token in tokens} == {"a"}


def test_a_group_made_of_members_of_another_type_rebalances_with_them():
    world = ClassicWorld()
    members = [
        ClassicMember(
            member_id=each,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
            assignment=each.encode(),
        )
        for each in "ab"
    ]
    group = ClassicGroup.stable(GROUP, members, now_ms=world.context.now_ms, protocol_type="consumer", generation_id=7)
    world.context.groups[GROUP] = group

    world.protocol.keep_members_alive(group)
    world.apply(world.protocol.rebalance(group))

    assert (group.protocol_name, group.leader_id, group.state_name) == ("range", "a", "PreparingRebalance")
    token = world.join("b")
    world.pass_time(SESSION_MS)
    assert world.joined(token).generation_id == 8
    assert list(group.members) == ["b"]


def test_whoever_waits_in_a_group_that_changes_its_type_can_be_told_so():
    world = ClassicWorld()
    leader, follower = world.members(2)
    syncs = world.sync(follower, 1)
    world.apply(Outcome(replies=world.protocol.refuse_waiting(world.group(), ErrorCode.REBALANCE_IN_PROGRESS)))
    world.join(leader, protocols={"range": b"new"})
    joins = max(world.open_tokens)

    world.apply(Outcome(replies=world.protocol.refuse_waiting(world.group(), ErrorCode.REBALANCE_IN_PROGRESS)))

    assert world.synced(syncs).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.joined(joins).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.joined(joins).member_id == leader
    assert not world.open_tokens
    assert world.group().waiting_joins == 0
