"""The leader's assignments reach every member, in every version of SyncGroup, when they are written."""

import pytest
from classic_world import GROUP, ClassicWorld

from falkirk.protocol.error_codes import ErrorCode

SYNC_VERSIONS = range(6)


@pytest.mark.parametrize("version", SYNC_VERSIONS)
def test_every_member_gets_what_the_leader_gave_it(version: int):
    world = ClassicWorld()
    leader, follower, third = world.members(3)
    waits = world.sync(follower, 1, version=version)
    assert waits in world.open_tokens

    leads = world.sync(leader, 1, {leader: b"0", follower: b"1", third: b"2"}, version=version)
    late = world.sync(third, 1, version=version)

    assert [world.synced(token).assignment for token in (leads, waits, late)] == [b"0", b"1", b"2"]
    names = {(world.synced(token).protocol_type, world.synced(token).protocol_name) for token in (leads, waits, late)}
    assert names == ({("consumer", "range")} if version >= 5 else {(None, None)})
    assert world.group().state_name == "Stable"


def test_a_stable_group_is_written_with_all_its_members():
    world = ClassicWorld()
    leader, follower = world.members(2, session_ms=12_000, rebalance_ms=34_000)
    completing_since = world.group().current_state_timestamp_ms
    world.pass_time(5)

    world.sync(leader, 1, {leader: b"0", "stranger": b"?"})

    value = world.written[-1]
    assert value is not None
    assert (value.generation, value.leader, value.protocol) == (1, leader, "range")
    assert value.protocol_type == "consumer"
    assert value.current_state_timestamp == completing_since
    assert [(member.member_id, member.assignment) for member in value.members] == [(leader, b"0"), (follower, b"")]
    assert {(member.session_timeout, member.rebalance_timeout) for member in value.members} == {(12_000, 34_000)}
    assert {(member.client_id, member.client_host) for member in value.members} == {("c", "/127.0.0.1")}


def test_what_the_log_refuses_is_told_to_whoever_waits_and_the_group_rebalances():
    world = ClassicWorld()
    leader, follower = world.members(2)
    waits = world.sync(follower, 1)
    world.refusal = ErrorCode.UNKNOWN_SERVER_ERROR

    leads = world.sync(leader, 1, {leader: b"0"})

    assert world.synced(leads).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.synced(waits).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.group().state_name == "PreparingRebalance"
    assert world.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_sync_that_is_sent_again_supersedes_the_one_that_waits():
    world = ClassicWorld()
    leader, follower = world.members(2)
    first = world.sync(follower, 1)

    second = world.sync(follower, 1)
    world.sync(leader, 1, {follower: b"1"})

    assert world.synced(first).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.synced(second).assignment == b"1"


def test_while_members_join_again_there_is_nothing_to_sync():
    world = ClassicWorld()
    leader, follower = world.stable(2)
    world.join(leader)

    assert world.synced(world.sync(follower, 1)).error_code == ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"generation": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "someone"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"instance": "someone"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group": "other"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": None}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": None}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_a_sync_that_does_not_fit_is_refused(asked: dict[str, object], error: ErrorCode):
    world = ClassicWorld()
    leader, _ = world.members(2)

    answer = world.synced(world.sync(**{"member_id": leader, "generation": 1, **asked}))  # type: ignore[arg-type]

    assert answer.error_code == error
    assert world.group().state_name == "CompletingRebalance"


def test_an_empty_group_has_no_member_to_sync():
    world = ClassicWorld()
    world.join(version=4)

    assert world.synced(world.sync("", 0, group=GROUP)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
