"""Members leave, one or several, in every version of LeaveGroup."""

import pytest
from classic_world import ClassicWorld

from falkirk.protocol.error_codes import ErrorCode


@pytest.mark.parametrize("version", range(6))
def test_when_a_member_leaves_the_others_rebalance(version: int):
    world = ClassicWorld()
    leader, follower = world.stable(2)

    answer = world.leave(leader, version=version)

    assert answer.error_code == ErrorCode.NONE
    assert [member.error_code for member in answer.members] == ([0] if version >= 3 else [])
    assert world.group().leader_id == follower
    assert world.heartbeat(follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize("version", range(6))
def test_a_member_that_is_not_there_cannot_leave(version: int):
    world = ClassicWorld()
    world.stable(1)

    for group in ("g", "other"):
        answer = world.leave("someone", version=version, group=group)
        told = [member.error_code for member in answer.members] if version >= 3 else [answer.error_code]
        assert told == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert world.group().state_name == "Stable"


def test_a_group_needs_a_name():
    assert ClassicWorld().leave("someone", group="").error_code == ErrorCode.INVALID_GROUP_ID


def test_several_members_leave_with_one_rebalance():
    world = ClassicWorld()
    ids = world.stable(4, static=True)

    answer = world.leave(("", "i0"), (ids[1], "i1"), ("", "i9"), (ids[2], "i3"), ("", None))

    assert [(member.group_instance_id, member.error_code) for member in answer.members] == [
        ("i0", ErrorCode.NONE),
        ("i1", ErrorCode.NONE),
        ("i9", ErrorCode.UNKNOWN_MEMBER_ID),
        ("i3", ErrorCode.FENCED_INSTANCE_ID),
        (None, ErrorCode.UNKNOWN_MEMBER_ID),
    ]
    assert [member.member_id for member in answer.members] == ["", ids[1], "", ids[2], ""]
    assert list(world.group().members) == ids[2:]
    world.join(ids[2], instance="i2")
    world.join(ids[3], instance="i3")
    assert world.group().generation_id == 2


def test_a_group_that_all_have_left_is_written_as_empty():
    world = ClassicWorld()
    ids = world.stable(2)

    world.leave(*ids)

    value = world.written[-1]
    assert value is not None
    assert (value.members, value.generation) == ([], 2)
    assert world.group().state_name == "Empty"
    assert world.context.timers.next_due_ms is None


def test_if_the_log_refuses_the_empty_group_whoever_left_is_told_so():
    world = ClassicWorld()
    ids = world.stable(1)
    world.refusal = ErrorCode.COORDINATOR_NOT_AVAILABLE

    answer = world.leave(*ids)

    assert (answer.error_code, answer.members) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, [])


def test_if_the_log_refuses_the_empty_group_whoever_waited_has_to_begin_anew():
    world = ClassicWorld()
    ids = world.stable(2, static=True)
    waits = world.join(ids[0], instance="i0")
    world.refusal = ErrorCode.COORDINATOR_NOT_AVAILABLE

    answer = world.leave(("", "i0"), ("", "i1"))

    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.joined(waits).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_that_was_given_out_is_given_back():
    world = ClassicWorld()
    leader = world.stable(1)[0]
    token = world.joined(world.join())
    waits = world.join(leader)
    assert waits in world.open_tokens

    answer = world.leave(token.member_id)

    assert answer.members[0].error_code == ErrorCode.NONE
    assert world.joined(waits).generation_id == 2


def test_whoever_waits_while_it_is_taken_out_has_to_begin_anew():
    world = ClassicWorld()
    leader, follower = world.members(2, static=True)
    syncs = world.sync(follower, 1, instance="i1")
    joins = world.join(instance="i2")

    world.leave(("", "i1"), ("", "i2"))

    assert world.synced(syncs).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.joined(joins).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert list(world.group().members) == [leader]


def test_whoever_waits_for_its_assignment_while_it_is_taken_out_has_to_begin_anew():
    world = ClassicWorld()
    _, follower = world.members(2, static=True)
    syncs = world.sync(follower, 1, instance="i1")

    world.leave(("", "i1"))

    assert world.synced(syncs).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_members_that_leave_a_first_rebalance_do_not_end_it():
    world = ClassicWorld()
    token = world.join(version=9, instance="i0")

    world.leave(("", "i0"))

    assert world.joined(token).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.group().state_name == "PreparingRebalance"
    world.pass_time(3_000)
    assert world.group().state_name == "Empty"
