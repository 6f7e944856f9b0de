"""How long rebalances wait, for whom, and who is left out."""

from classic_world import GROUP, REBALANCE_MS, SESSION_MS, ClassicWorld

from falkirk.protocol.error_codes import ErrorCode


def test_a_first_rebalance_waits_three_seconds_for_more_members():
    world = ClassicWorld()
    token = world.join(version=0)

    world.pass_time(2_999)
    assert token in world.open_tokens
    world.pass_time(1)

    assert world.joined(token).generation_id == 1


def test_each_new_member_prolongs_a_first_rebalance_up_to_the_rebalance_timeout():
    world = ClassicWorld()
    tokens = [world.join(version=1, rebalance_ms=8_000)]
    for _ in range(3):
        world.pass_time(2_500)
        tokens.append(world.join(version=1, rebalance_ms=8_000))

    assert world.open_tokens == set(tokens)
    world.pass_time(500)

    assert {world.joined(token).generation_id for token in tokens} == {1}


def test_without_a_delay_a_first_member_does_not_wait():
    world = ClassicWorld(group_initial_rebalance_delay_ms=0)
    token = world.join(version=0)

    world.pass_time(0)

    assert world.joined(token).generation_id == 1


def test_a_rebalance_is_over_when_all_members_have_joined():
    world = ClassicWorld()
    ids = world.stable(3)

    tokens = [world.join(each) for each in ids[:2]]
    assert world.open_tokens == set(tokens)
    tokens.append(world.join(ids[2]))

    assert {world.joined(token).generation_id for token in tokens} == {2}


def test_who_does_not_join_in_time_is_left_out():
    world = ClassicWorld()
    ids = world.stable(2, session_ms=100_000)

    token = world.join(ids[0], session_ms=100_000)
    world.pass_time(REBALANCE_MS - 1)
    assert token in world.open_tokens
    world.pass_time(1)

    assert [member.member_id for member in world.joined(token).members] == [ids[0]]
    assert world.heartbeat(ids[1], 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_leader_that_does_not_join_in_time_loses_the_lead():
    world = ClassicWorld()
    ids = world.stable(2, static=True, session_ms=100_000)

    world.join(ids[1], instance="i1", session_ms=100_000, protocols={"range": b"new"})
    world.pass_time(REBALANCE_MS)

    assert world.group().leader_id == ids[1]
    assert ids[0] in world.group().members


def test_a_rebalance_that_no_member_joins_goes_on_until_their_sessions_end():
    world = ClassicWorld()
    world.stable(2, static=True, session_ms=90_000, rebalance_ms=20_000)
    world.leave(("", "i0"))

    world.pass_time(40_000)
    assert world.group().state_name == "PreparingRebalance"
    world.pass_time(50_000)

    assert world.group().state_name == "Empty"
    assert world.group().generation_id == 2


def test_a_rebalance_that_no_member_joined_in_time_waits_as_long_again():
    world = ClassicWorld()
    ids = world.stable(3, static=True, session_ms=90_000, rebalance_ms=20_000)
    world.leave(("", "i2"))
    world.pass_time(25_000)

    token = world.join(ids[1], instance="i1", session_ms=90_000, rebalance_ms=20_000)
    world.pass_time(14_999)
    assert token in world.open_tokens
    world.pass_time(1)

    assert world.joined(token).leader == ids[1]


def test_a_member_without_heartbeats_is_taken_out_and_the_others_rebalance():
    world = ClassicWorld()
    ids = world.stable(2)

    world.pass_time(SESSION_MS - 1)
    assert world.heartbeat(ids[0], 1) == ErrorCode.NONE
    world.pass_time(1)

    assert list(world.group().members) == [ids[0]]
    assert world.heartbeat(ids[0], 1) == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.joined(world.join(ids[0])).generation_id == 2


def test_a_group_whose_last_member_is_lost_is_written_as_empty():
    world = ClassicWorld()
    world.stable(1)

    world.pass_time(SESSION_MS)

    value = world.written[-1]
    assert value is not None
    assert (value.members, value.leader, value.protocol, value.generation) == ([], None, None, 2)
    assert value.protocol_type == "consumer"
    assert value.current_state_timestamp == world.context.now_ms
    assert world.group().state_name == "Empty"


def test_a_group_is_empty_even_if_the_log_refuses_to_take_it_down():
    world = ClassicWorld()
    world.stable(1)
    count = len(world.log)
    world.refusal = ErrorCode.COORDINATOR_NOT_AVAILABLE

    world.pass_time(SESSION_MS)

    assert len(world.log) == count
    assert world.group().state_name == "Empty"


def test_who_waits_for_a_rebalance_or_an_assignment_needs_no_heartbeats():
    world = ClassicWorld()
    leader, follower = world.members(2)
    world.sync(follower, 1)

    for _ in range(5):
        world.pass_time(SESSION_MS - 1)
        world.heartbeat(leader, 1)

    assert list(world.group().members) == [leader, follower]


def test_who_does_not_ask_for_its_assignment_in_time_is_left_out():
    world = ClassicWorld()
    leader, _ = world.members(2, session_ms=100_000)
    world.sync(leader, 1, {})

    world.pass_time(REBALANCE_MS)

    assert list(world.group().members) == [leader]
    assert world.group().state_name == "PreparingRebalance"


def test_who_did_not_ask_for_its_assignment_may_still_join_again_when_the_next_rebalance_has_begun():
    world = ClassicWorld()
    leader, follower, third = world.members(3, session_ms=100_000)
    world.sync(leader, 1, {})
    world.pass_time(REBALANCE_MS // 2)
    world.leave(third)

    world.pass_time(REBALANCE_MS // 2)

    assert list(world.group().members) == [leader, follower]
    assert world.group().state_name == "PreparingRebalance"


def test_a_leader_that_does_not_assign_in_time_is_left_out_and_the_others_join_again():
    world = ClassicWorld()
    leader, follower = world.members(2, session_ms=100_000)
    waits = world.sync(follower, 1)

    world.pass_time(REBALANCE_MS)

    assert world.synced(waits).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert leader not in world.group().members
    assert world.group().leader_id == follower


def test_no_time_is_up_for_a_group_in_which_all_have_synced():
    world = ClassicWorld()
    ids = world.stable(2, session_ms=100_000)

    world.pass_time(REBALANCE_MS + 1)

    assert list(world.group().members) == ids
    assert world.group().state_name == "Stable"


def test_a_member_that_is_lost_while_others_join_ends_their_waiting():
    world = ClassicWorld()
    ids = world.stable(2)
    token = world.join(ids[0])

    world.pass_time(SESSION_MS)

    assert [member.member_id for member in world.joined(token).members] == [ids[0]]


def test_timers_of_a_group_that_is_gone_do_nothing():
    world = ClassicWorld()
    world.stable(2)
    world.joined(world.join())
    del world.context.groups[GROUP]
    count = len(world.log)

    world.pass_time(10 * REBALANCE_MS)

    assert len(world.log) == count
    assert not world.context.groups
