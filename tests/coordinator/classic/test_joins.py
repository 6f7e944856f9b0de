"""Who may join a classic group, and what it is told, in every version of JoinGroup."""

import pytest
from classic_world import GROUP, REBALANCE_MS, SESSION_MS, ClassicWorld, subscription

from falkirk.coordinator.classic.joins import NEW_MEMBER_JOIN_TIMEOUT_MS
from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.protocol.error_codes import ErrorCode

JOIN_VERSIONS = range(10)


def joined_alone(world: ClassicWorld, *, version: int = 9) -> str:
    """Have one member join, as its version does it, and complete the join phase; return its id."""
    token = world.join(version=version)
    if version >= 4:
        token = world.join(world.joined(token).member_id, version=version)
    world.pass_time(world.settings.group_initial_rebalance_delay_ms)
    return world.joined(token).member_id


@pytest.mark.parametrize("version", JOIN_VERSIONS)
def test_a_first_member_leads_a_first_generation(version: int):
    world = ClassicWorld()

    member_id = joined_alone(world, version=version)

    answer = world.joined(max(world.answers))
    assert answer.error_code == ErrorCode.NONE
    assert answer.generation_id == 1
    assert answer.leader == member_id
    assert member_id.startswith("c-")
    assert answer.protocol_name == "range"
    assert answer.protocol_type == ("consumer" if version >= 7 else None)
    assert [(member.member_id, member.metadata) for member in answer.members] == [(member_id, subscription("t"))]
    assert world.group().state_name == "CompletingRebalance"
    assert world.group().rebalance_timeout_ms == (REBALANCE_MS if version else SESSION_MS)


@pytest.mark.parametrize("version", range(4))
def test_below_version_4_a_member_without_an_id_joins_at_once(version: int):
    world = ClassicWorld()

    token = world.join(version=version)

    assert token in world.open_tokens
    assert world.group().state_name == "PreparingRebalance"


@pytest.mark.parametrize("version", range(4, 10))
def test_from_version_4_on_a_member_without_an_id_is_given_one_and_comes_again(version: int):
    world = ClassicWorld()

    answer = world.joined(world.join(version=version))

    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert answer.protocol_name == (None if version >= 7 else "")
    assert world.group().pending_joins == {answer.member_id}
    assert world.group().state_name == "Empty"


def test_an_id_that_was_given_out_is_forgotten_after_the_session_timeout():
    world = ClassicWorld()
    member_id = world.joined(world.join()).member_id

    world.pass_time(SESSION_MS - 1)
    assert world.group().pending_joins
    world.pass_time(1)

    assert not world.group().pending_joins
    assert world.joined(world.join(member_id)).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_waits_for_an_id_that_was_given_out_until_its_session_times_out():
    world = ClassicWorld()
    first = joined_alone(world)
    world.sync(first, 1, {first: b"all"})
    world.joined(world.join())
    token = world.join(first)

    world.pass_time(SESSION_MS - 1)
    assert token in world.open_tokens
    world.pass_time(1)

    assert world.joined(token).generation_id == 2


def test_a_pending_member_that_calls_itself_static_is_refused():
    world = ClassicWorld()
    member_id = world.joined(world.join()).member_id

    answer = world.joined(world.join(member_id, instance="i"))

    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_group_is_written_as_empty_when_it_is_made():
    world = ClassicWorld()

    world.join(version=0)

    (value,) = world.written
    assert value is not None
    assert (value.protocol_type, value.protocol, value.leader, value.generation) == ("", None, None, 0)
    assert value.members == []
    assert value.current_state_timestamp == 1_000_000


def test_the_old_coordinator_writes_nothing_of_a_group_before_it_is_stable():
    world = ClassicWorld(kind=CoordinatorKind.OLD)

    world.join(version=0)

    assert world.written == []


@pytest.mark.parametrize("version", JOIN_VERSIONS)
def test_a_group_whose_first_record_the_log_refuses_is_not_there(version: int):
    world = ClassicWorld()
    world.refusal = ErrorCode.COORDINATOR_NOT_AVAILABLE

    answer = world.joined(world.join(version=version))

    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert GROUP not in world.context.groups
    assert world.context.timers.next_due_ms is None


def test_a_member_of_a_group_that_is_not_there_is_unknown():
    world = ClassicWorld()

    answer = world.joined(world.join("someone"))

    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "someone")
    assert GROUP not in world.context.groups


def test_a_member_that_never_was_in_a_group_is_unknown():
    world = ClassicWorld()
    joined_alone(world)

    assert world.joined(world.join("someone")).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_needs_a_name():
    world = ClassicWorld()

    assert world.joined(world.join(group="")).error_code == ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize(
    ("session_ms", "error"),
    [
        (5_999, ErrorCode.INVALID_SESSION_TIMEOUT),
        (6_000, ErrorCode.MEMBER_ID_REQUIRED),
        (1_800_000, ErrorCode.MEMBER_ID_REQUIRED),
        (1_800_001, ErrorCode.INVALID_SESSION_TIMEOUT),
    ],
)
def test_session_timeouts_have_limits(session_ms: int, error: ErrorCode):
    world = ClassicWorld()

    assert world.joined(world.join(session_ms=session_ms)).error_code == error


def test_members_speak_one_protocol_type():
    world = ClassicWorld()
    member_id = joined_alone(world)

    new = world.joined(world.join(protocol_type="connect"))
    again = world.joined(world.join(member_id, protocol_type="connect"))

    assert (new.error_code, new.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert (again.error_code, again.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id)


@pytest.mark.parametrize("asked", [{"protocol_type": ""}, {"protocols": {}}])
def test_a_first_member_needs_a_protocol(asked: dict[str, object]):
    world = ClassicWorld()

    answer = world.joined(world.join(**asked))  # type: ignore[arg-type]

    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_member_joins_only_with_a_protocol_that_all_support():
    world = ClassicWorld()
    world.join(version=0, protocols={"range": b"", "sticky": b""})
    world.join(version=0, protocols={"sticky": b"", "mine": b""})

    refused = world.joined(world.join(version=0, protocols={"range": b"", "mine": b""}))
    token = world.join(version=0, protocols={"mine": b"", "sticky": b""})

    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert token in world.open_tokens


def test_the_protocol_is_the_one_that_most_members_prefer():
    world = ClassicWorld()
    tokens = [
        world.join(version=9, instance="a", protocols={"range": b"r", "sticky": b"s"}),
        world.join(version=9, instance="b", protocols={"sticky": b"s", "range": b"r"}),
        world.join(version=9, instance="c", protocols={"mine": b"m", "sticky": b"s", "range": b"r"}),
    ]

    world.pass_time(6_000)

    assert {world.joined(token).protocol_name for token in tokens} == {"sticky"}
    assert {member.metadata for member in world.joined(tokens[0]).members} == {b"s"}


def test_a_protocol_that_a_member_names_twice_counts_once():
    world = ClassicWorld()
    protocols = {"range": b"r"}
    token = world.join(version=0, protocols=protocols)
    (member,) = world.group().members.values()
    world.group().update(member, member.protocols * 2, rebalance_timeout_ms=1, session_timeout_ms=6_000)

    world.pass_time(3_000)

    assert world.joined(token).protocol_name == "range"


def test_a_full_group_takes_no_new_member_but_lets_its_members_join_again():
    world = ClassicWorld(group_max_size=1)
    member_id = joined_alone(world)
    world.sync(member_id, 1, {})

    refused = world.joined(world.join())
    again = world.join(member_id)

    assert (refused.error_code, refused.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert world.joined(again).generation_id == 2


def test_of_too_many_members_the_last_to_join_again_are_left_out():
    world = ClassicWorld()
    ids = world.stable(3, static=True)
    world.reload(group_max_size=2)

    again = [world.join(each, instance=f"i{number}") for number, each in enumerate(ids)]
    world.pass_time(REBALANCE_MS)

    assert [world.joined(token).error_code for token in again] == [0, 0, ErrorCode.GROUP_MAX_SIZE_REACHED]
    assert list(world.group().members) == ids[:2]


def test_a_follower_that_joins_a_stable_group_again_as_before_is_told_where_it_is():
    world = ClassicWorld()
    leader, follower = world.stable(2)

    answer = world.joined(world.join(follower))

    assert (answer.generation_id, answer.leader, answer.members) == (1, leader, [])
    assert world.group().state_name == "Stable"


def test_a_follower_with_something_new_makes_a_stable_group_rebalance():
    world = ClassicWorld()
    leader, follower = world.stable(2)

    world.join(follower, protocols={"range": subscription("other")})

    assert world.group().state_name == "PreparingRebalance"
    assert world.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_leader_that_joins_a_stable_group_again_makes_it_rebalance():
    world = ClassicWorld()
    leader, follower = world.stable(2)

    again = world.join(leader)
    assert again in world.open_tokens
    world.join(follower)

    assert world.joined(again).generation_id == 2


def test_who_missed_the_answer_to_its_join_gets_it_again_while_the_group_completes():
    world = ClassicWorld()
    leader, follower = world.members(2)

    leads, follows = world.joined(world.join(leader)), world.joined(world.join(follower))

    assert [member.member_id for member in leads.members] == [leader, follower]
    assert (follows.generation_id, follows.members) == (1, [])
    assert world.group().state_name == "CompletingRebalance"


def test_something_new_while_the_group_completes_makes_it_rebalance_and_whoever_synced_join_again():
    world = ClassicWorld()
    leader, follower = world.members(2)
    waiting = world.sync(follower, 1)

    world.join(leader, protocols={"range": subscription("other")})

    assert world.synced(waiting).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.group().state_name == "PreparingRebalance"


def test_a_join_that_is_sent_again_supersedes_the_one_that_waits():
    world = ClassicWorld()
    member_id = world.joined(world.join()).member_id
    first = world.join(member_id)

    second = world.join(member_id)
    world.pass_time(6_000)

    assert world.joined(first).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.joined(second).generation_id == 1


def test_a_new_member_whose_rebalance_takes_too_long_has_to_begin_anew():
    world = ClassicWorld()
    first = joined_alone(world)
    world.sync(first, 1, {})
    world.join(first, rebalance_ms=2**30)
    world.pass_time(1)
    world.sync(first, 2, {})

    token = world.join(version=3)
    for _ in range(NEW_MEMBER_JOIN_TIMEOUT_MS // 5_000):
        assert token in world.open_tokens
        assert world.heartbeat(first, 2) == ErrorCode.REBALANCE_IN_PROGRESS
        world.pass_time(5_000)

    answer = world.joined(token)
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert list(world.group().members) == [first]
