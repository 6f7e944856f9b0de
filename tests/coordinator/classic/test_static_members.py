"""Static members that come back: their place is kept, and whoever has their old id is fenced (KIP-345, KIP-814)."""

import pytest
from classic_world import SESSION_MS, ClassicWorld, subscription

from falkirk.protocol.error_codes import ErrorCode

JOIN_VERSIONS = range(5, 10)


@pytest.mark.parametrize("version", JOIN_VERSIONS)
def test_a_static_member_joins_without_being_given_an_id_first(version: int):
    world = ClassicWorld()

    token = world.join(version=version, instance="i0")
    world.pass_time(3_000)

    answer = world.joined(token)
    assert answer.error_code == ErrorCode.NONE
    assert answer.member_id.startswith("i0-")
    assert world.group().static_members == {"i0": answer.member_id}
    assert answer.members[0].group_instance_id == "i0"


@pytest.mark.parametrize("version", JOIN_VERSIONS)
def test_a_follower_that_comes_back_to_a_stable_group_keeps_its_assignment_without_a_rebalance(version: int):
    world = ClassicWorld()
    leader, follower = world.stable(2, static=True)

    answer = world.joined(world.join(version=version, instance="i1"))

    assert answer.member_id not in {leader, follower}
    assert (answer.generation_id, answer.leader, answer.members) == (1, leader, [])
    assert not answer.skip_assignment
    assert world.synced(world.sync(answer.member_id, 1, instance="i1")).assignment == b"1"
    assert world.group().state_name == "Stable"
    last = world.written[-1]
    assert last is not None
    assert {(member.member_id, member.assignment) for member in last.members} == {
        (leader, b"0"),
        (answer.member_id, b"1"),
    }


@pytest.mark.parametrize("version", range(5, 9))
def test_before_version_9_a_leader_that_comes_back_is_told_its_old_id_as_the_leaders(version: int):
    world = ClassicWorld()
    leader, _ = world.stable(2, static=True)

    answer = world.joined(world.join(version=version, instance="i0"))

    assert (answer.leader, answer.members) == (leader, [])
    assert world.group().leader_id == answer.member_id


def test_from_version_9_on_a_leader_that_comes_back_leads_without_assigning():
    world = ClassicWorld()
    _, follower = world.stable(2, static=True)

    answer = world.joined(world.join(version=9, instance="i0"))

    assert answer.leader == answer.member_id
    assert answer.skip_assignment
    assert {member.member_id for member in answer.members} == {answer.member_id, follower}


def test_the_old_id_is_fenced():
    world = ClassicWorld()
    _, old = world.stable(2, static=True)
    world.join(instance="i1")

    assert world.heartbeat(old, 1, instance="i1") == ErrorCode.FENCED_INSTANCE_ID
    assert world.synced(world.sync(old, 1, instance="i1")).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert world.joined(world.join(old, instance="i1")).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert world.leave((old, "i1")).members[0].error_code == ErrorCode.FENCED_INSTANCE_ID
    assert world.heartbeat(old, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_whoever_waits_under_the_old_id_is_fenced_at_once():
    world = ClassicWorld()
    waits = world.join(instance="i0")

    world.join(instance="i0")

    answer = world.joined(waits)
    assert answer.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert answer.member_id.startswith("i0-")
    assert len(world.group().members) == 1


def test_whoever_waits_for_its_assignment_under_the_old_id_is_fenced_and_the_group_rebalances():
    world = ClassicWorld()
    _, follower = world.members(2, static=True)
    waits = world.sync(follower, 1, instance="i1")

    again = world.join(instance="i1")

    assert world.synced(waits).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert again in world.open_tokens
    assert world.group().state_name == "PreparingRebalance"


def test_a_static_member_that_comes_back_without_the_groups_protocol_makes_it_rebalance():
    world = ClassicWorld()
    both = {"range": b"r", "sticky": b"s"}
    world.join(version=9, instance="i0", protocols=both)
    world.join(version=9, instance="i1", protocols=both)
    world.pass_time(6_000)
    leader = world.group().leader_id
    world.sync(leader, 1, {})

    token = world.join(instance="i1", protocols={"sticky": b"s"})

    assert token in world.open_tokens
    assert world.group().state_name == "PreparingRebalance"
    world.join(leader, instance="i0", protocols=both)
    assert world.joined(token).protocol_name == "sticky"


@pytest.mark.parametrize("version", JOIN_VERSIONS)
def test_if_the_log_refuses_the_new_id_the_old_one_stays(version: int):
    world = ClassicWorld()
    leader, follower = world.stable(2, static=True)
    before = world.written
    world.refusal = ErrorCode.UNKNOWN_SERVER_ERROR

    answer = world.joined(
        world.join(version=version, instance="i0", protocols={"range": subscription("new")}, session_ms=20_000)
    )

    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_SERVER_ERROR, "")
    assert world.written == before
    member = world.group().members[leader]
    assert (member.session_timeout_ms, member.metadata("range")) == (SESSION_MS, subscription("t"))
    assert world.group().leader_id == leader
    assert not world.group().is_subscribed_to("new")
    assert world.heartbeat(leader, 1, instance="i0") == ErrorCode.NONE
    assert world.heartbeat(follower, 1, instance="i1") == ErrorCode.NONE


def test_a_static_member_that_does_not_join_again_in_time_stays_until_its_session_ends():
    world = ClassicWorld()
    ids = world.stable(2, static=True, session_ms=100_000, rebalance_ms=20_000)

    token = world.join(ids[0], instance="i0", session_ms=100_000, rebalance_ms=20_000)
    world.pass_time(20_000)

    assert {member.member_id for member in world.joined(token).members} == set(ids)
    world.sync(ids[0], 2, {ids[1]: b"kept"}, instance="i0")
    assert world.synced(world.sync(ids[1], 2, instance="i1")).assignment == b"kept"


def test_static_members_without_time_to_join_are_not_looked_for_all_the_time():
    world = ClassicWorld()
    world.stable(2, static=True, session_ms=100_000, rebalance_ms=20_000)
    for member in world.group().members.values():
        member.rebalance_timeout_ms = -1
    timers, count, end_ms = world.context.timers, 0, world.context.now_ms + 1_000
    world.apply(world.protocol.rebalance(world.group()))
    while count < 50 and (due_ms := timers.next_due_ms) is not None and due_ms <= end_ms:
        world.context.now_ms = max(due_ms, world.context.now_ms)
        world.apply(timers.pop_due(world.context.now_ms)())
        count += 1
    assert count == 11
    world.pass_time(100_000)
    assert world.group().state_name == "Empty"


def test_a_static_member_that_comes_back_while_others_join_waits_with_them():
    world = ClassicWorld()
    ids = world.stable(1)
    world.join(instance="i0")
    token = world.join(instance="i0")

    for _ in range(3):
        world.pass_time(SESSION_MS - 1)
        world.heartbeat(ids[0], 1)

    assert token in world.open_tokens
    world.join(ids[0])
    assert world.joined(token).generation_id == 2


def test_a_member_that_was_replaced_before_it_synced_is_waited_for_under_its_new_id():
    world = ClassicWorld()
    leader, _ = world.members(2, static=True)
    world.sync(leader, 1, {leader: b"0"})

    answer = world.joined(world.join(instance="i1"))
    assert list(world.group().pending_syncs) == [answer.member_id]
    world.sync(answer.member_id, 1, instance="i1")

    assert not world.group().pending_syncs
    assert world.group().state_name == "Stable"
