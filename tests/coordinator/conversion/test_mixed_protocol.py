"""Members of the classic protocol in a consumer group."""

import pytest
from consumer_world import Consumer
from mixed_world import GROUP, REBALANCE_MS, SESSION_MS, ClassicConsumer, MixedWorld, group_state

from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.consumer.member import MemberState
from falkirk.protocol.consumer_protocol import decode_embedded, encode_embedded
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from falkirk.protocol.messages.join_group_request import JoinGroupRequestProtocol
from falkirk.versions.release import Release

READS_FOO = encode_embedded(ConsumerProtocolSubscription(topics=("foo",)), 1)


def _world(**given):
    """Return a group of one consumer of the new protocol, which has all of foo."""
    world = MixedWorld(**given)
    new = Consumer(world, "new", "foo")
    new.beat()
    return world, new


def _join(world, member_id="", *, version=9, instance=None, protocols=None, protocol_type="consumer", session_ms=None):
    protocols = {"range": READS_FOO} if protocols is None else protocols
    request = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=session_ms or SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS if version else -1,
        member_id=member_id,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocols=[JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols.items()],
    )
    return world.answer(world.ask("join_group", request, version), JoinGroupResponse)


def _sync(world, member_id, generation, *, instance=None, protocol_type="consumer", protocol_name="range"):
    request = SyncGroupRequest(
        group_id=GROUP,
        generation_id=generation,
        member_id=member_id,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocol_name=protocol_name,
    )
    return world.answer(world.ask("sync_group", request, 5), SyncGroupResponse)


# --- JoinGroup


def test_a_member_without_an_id_is_given_one_and_joins_with_it():
    world, _ = _world()

    first = _join(world, version=4)
    assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert first.member_id not in world.group.members
    second = _join(world, first.member_id, version=4)

    assert second.error_code == ErrorCode.NONE
    assert second.member_id == first.member_id
    assert second.generation_id == world.group.group_epoch == 2
    assert (second.leader, second.members) == ("", [])
    assert _join(world).error_code == ErrorCode.MEMBER_ID_REQUIRED


@pytest.mark.parametrize("version", [0, 3])
def test_before_version_4_it_joins_at_once(version):
    world, _ = _world()

    answer = _join(world, version=version)

    assert answer.error_code == ErrorCode.NONE
    member = world.group.members[answer.member_id]
    assert member.rebalance_timeout_ms == (REBALANCE_MS if version else SESSION_MS)
    assert world.group.group_epoch == 2


def test_static_members_join_without_an_id():
    world, _ = _world()

    assert _join(world, instance="i").error_code == ErrorCode.NONE


def test_its_assignment_is_what_is_free_and_comes_in_the_version_of_its_subscription():
    world, new = _world()
    answer = _join(world, version=3)
    assert answer.protocol_name == "range"

    nothing = _sync(world, answer.member_id, 2).assignment
    assert nothing[:2] == b"\0\1"
    assert decode_embedded(ConsumerProtocolAssignment, nothing).assigned_partitions == []
    new.beat()
    new.beat()
    assert world.heartbeat(answer.member_id, 2) is ErrorCode.REBALANCE_IN_PROGRESS, "something is free"
    _join(world, answer.member_id)
    (topic,) = decode_embedded(
        ConsumerProtocolAssignment, _sync(world, answer.member_id, 2).assignment
    ).assigned_partitions

    assert topic.topic == "foo"
    assert set(topic.partitions) == {0, 1, 2, 3} - new.assigned[world.id("foo")]
    assert len(topic.partitions) == 2


def test_who_has_to_give_back_is_told_to_join_again_and_others_wait_for_it():
    world, new = _world()
    first = ClassicConsumer(world, "foo")
    for _ in range(4):
        first.settle()
        new.beat()
    late = Consumer(world, "late", "foo"), Consumer(world, "later", "foo")
    for each in late:
        each.beat()
    assert world.heartbeat(first.member_id, first.generation) is ErrorCode.REBALANCE_IN_PROGRESS

    first.step()
    first.step()
    assert world.group.members[first.member_id].state is MemberState.UNREVOKED_PARTITIONS
    assert len(first.names()["foo"]) == 1
    assert not late[0].assigned
    assert not late[1].assigned
    first.settle()
    for each in (new, new, *late):
        each.beat()

    assert [len(parts) for each in late for parts in each.assigned.values()] == [1, 1]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": {}}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": {"roundrobin": READS_FOO}}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"session_ms": 5_999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"member_id": "m", "instance": "unknown"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "m", "instance": "i"}, ErrorCode.FENCED_INSTANCE_ID),
        ({"member_id": "m", "protocols": {"range": b"\0"}}, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_who_may_not_join(given, error):
    world, _ = _world()
    _join(world, instance="i")
    before = group_state(world)

    answer = _join(world, **given)

    assert answer.error_code == error
    assert group_state(world) == before


def test_a_full_group_takes_nobody_but_its_members():
    world, _ = _world(consumer_max_size=2)
    member_id = _join(world, version=3).member_id

    assert _join(world, version=3).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert _join(world, member_id).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("release", "error"),
    [
        ("3.7.2", ErrorCode.GROUP_ID_NOT_FOUND),
        ("3.9.1", ErrorCode.NONE),
        ("4.0.0", ErrorCode.NONE),
        ("4.3.1", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_without_migration_each_release_answers_as_it_does(release, error):
    world, _ = _world(release=Release.parse(release), consumer_migration_policy="disabled")

    assert _join(world, version=3).error_code == error


@pytest.mark.parametrize("policy", ["disabled", "bidirectional"])
def test_an_empty_consumer_group_makes_place_for_a_classic_one_under_any_policy(policy):
    world, new = _world(consumer_migration_policy=policy)
    new.leave()

    consumer = ClassicConsumer(world, "foo")
    consumer.settle()
    world.pass_time(3_000)
    consumer.settle()

    assert consumer.names() == {"foo": {0, 1, 2, 3}}
    before = group_state(world)
    world.reload()
    assert group_state(world) == before
    assert isinstance(world.context.groups[GROUP], ClassicGroup)


def test_who_claims_an_id_does_not_begin_a_group_anew():
    world, new = _world()
    new.leave()

    assert _join(world, "old").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert isinstance(world.context.groups[GROUP], ConsumerGroup)


def test_a_log_that_refuses_a_classic_group_leaves_the_empty_consumer_group():
    world, new = _world()
    new.leave()
    before = group_state(world)

    world.refusal = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert _join(world, version=3).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE

    assert group_state(world) == before


def test_a_subscription_that_changes_is_a_rebalance():
    world, _ = _world()
    member_id = _join(world, version=3).member_id
    both = encode_embedded(ConsumerProtocolSubscription(topics=("foo", "bar")), 1)

    answer = _join(world, member_id, protocols={"range": both})

    assert answer.generation_id == 3
    assert world.group.members[member_id].subscribed_topics == {"foo", "bar"}
    assert _join(world, member_id, protocols={"range": both}).generation_id == 3


def test_a_static_member_of_the_new_protocol_may_come_back_with_the_old_one_in_a_group_that_stays():
    world, new = _world()
    static = Consumer(world, "static", "foo", instance="i")
    for _ in range(3):
        static.beat()
        new.beat()
    had = static.assigned

    answer = _join(world, instance="i")

    assert answer.error_code == ErrorCode.NONE
    assert "static" not in world.group.members
    member = world.group.members[answer.member_id]
    assert member.uses_classic_protocol
    assert {topic: frozenset(parts) for topic, parts in member.assigned.items()} == had
    assert static.beat() is ErrorCode.FENCED_INSTANCE_ID


# --- SyncGroup and Heartbeat


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "new"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"instance": "unknown"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "other", "instance": "i"}, ErrorCode.FENCED_INSTANCE_ID),
        ({"generation": 3}, ErrorCode.ILLEGAL_GENERATION),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "roundrobin"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": None}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({}, ErrorCode.NONE),
        ({"instance": "i"}, ErrorCode.NONE),
    ],
)
def test_who_may_sync(given, error):
    world, _ = _world()
    member_id = _join(world, instance="i").member_id

    asked = {"member_id": member_id, "generation": 2, **given}

    assert _sync(world, asked.pop("member_id"), asked.pop("generation"), **asked).error_code == error


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "new"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"instance": "unknown"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "other", "instance": "i"}, ErrorCode.FENCED_INSTANCE_ID),
        ({"generation": 1}, ErrorCode.ILLEGAL_GENERATION),
        ({"instance": "i"}, ErrorCode.NONE),
    ],
)
def test_who_may_send_heartbeats(given, error):
    world, _ = _world()
    member_id = _join(world, instance="i").member_id

    asked = {"member_id": member_id, "generation": 2, **given}

    assert world.heartbeat(asked.pop("member_id"), asked.pop("generation"), **asked) is error


def test_when_the_epoch_has_moved_both_say_so():
    world, _ = _world()
    member_id = _join(world, version=3).member_id
    Consumer(world, "newer", "foo").beat()

    assert _sync(world, member_id, 2).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.heartbeat(member_id, 2) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_topic_that_grows_is_noticed_where_all_members_use_the_classic_protocol():
    world, new = _world(consumer_migration_policy="upgrade")
    consumer = ClassicConsumer(world, "foo")
    consumer.settle()
    new.leave()
    consumer.settle()
    assert world.heartbeat(consumer.member_id, consumer.generation) is ErrorCode.NONE

    world.change_topic("foo", 6)
    consumer.settle()
    consumer.settle()

    assert consumer.names() == {"foo": set(range(6))}


def test_a_member_that_does_not_sync_in_time_is_fenced():
    world, new = _world()
    member_id = _join(world, version=3).member_id

    for _ in range(REBALANCE_MS // 5_000):
        assert member_id in world.group.members
        world.heartbeat(member_id, 2)
        new.beat()
        world.pass_time(5_000)

    assert member_id not in world.group.members


def test_a_member_that_does_not_join_again_in_time_is_fenced():
    world, new = _world()
    member_id = _join(world, version=3).member_id
    _sync(world, member_id, 2)
    Consumer(world, "newer", "foo").beat()
    assert world.heartbeat(member_id, 2) is ErrorCode.REBALANCE_IN_PROGRESS

    for _ in range(REBALANCE_MS // 5_000):
        assert member_id in world.group.members
        world.heartbeat(member_id, 2)
        new.beat()
        world.pass_time(5_000)

    assert member_id not in world.group.members


def test_a_member_that_syncs_and_joins_in_time_stays():
    world, new = _world()
    consumer = ClassicConsumer(world, "foo")
    for _ in range(4 * REBALANCE_MS // 5_000):
        consumer.settle()
        new.beat()
        world.pass_time(5_000)

    assert consumer.member_id in world.group.members
    assert set(consumer.errors) == {ErrorCode.REBALANCE_IN_PROGRESS}


def test_a_member_that_is_silent_for_its_session_timeout_is_fenced():
    world, new = _world()
    member_id = _join(world, version=3).member_id
    _sync(world, member_id, 2)

    world.pass_time(SESSION_MS - 1)
    assert member_id in world.group.members
    world.pass_time(1)

    assert world.group.members.keys() == {new.member_id}


# --- LeaveGroup


def test_members_leave_each_with_its_own_answer():
    world, new = _world()
    dynamic = _join(world, version=3).member_id
    static = _join(world, instance="i").member_id
    other = _join(world, instance="j").member_id

    answer = world.leave((dynamic, None), ("nobody", None), ("", "unknown"), ("wrong", "i"), ("", "i"), (other, "j"))

    assert [member.error_code for member in answer.members] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.NONE,
        ErrorCode.NONE,
    ]
    assert static not in world.group.members
    assert world.group.members.keys() == {new.member_id}
    new.beat()
    assert len(new.assigned[world.id("foo")]) == 4


@pytest.mark.parametrize("release", ["3.8.1", "3.9.1"])
def test_before_4_0_only_members_of_the_classic_protocol_leave_and_static_ones_are_named(release):
    world, new = _world(release=Release.parse(release))
    dynamic = _join(world, version=3).member_id
    static = _join(world, instance="i").member_id

    answer = world.leave((new.member_id, None), (dynamic, None), ("wrong", "i"), ("", "i"))

    assert [(member.member_id, member.error_code) for member in answer.members] == [
        (new.member_id, ErrorCode.UNKNOWN_MEMBER_ID),
        (dynamic, ErrorCode.NONE),
        ("wrong", ErrorCode.FENCED_INSTANCE_ID),
        (static, ErrorCode.NONE),
    ]
    assert world.group.members.keys() == {new.member_id}


def test_from_4_0_on_a_member_is_named_as_it_was_in_the_request():
    world, new = _world(release=Release.parse("4.0"))
    assert _join(world, instance="i").error_code == ErrorCode.NONE

    answer = world.leave(("", "i"), (new.member_id, None))

    assert [(member.member_id, member.error_code) for member in answer.members] == [("", 0), (new.member_id, 0)]


@pytest.mark.parametrize("version", [2, 5])
def test_in_3_7_there_is_no_consumer_group_to_leave(version):
    world, new = _world(release=Release.parse("3.7"))

    answer = world.leave((new.member_id, None), version=version)

    assert (answer.error_code, answer.members) == (ErrorCode.GROUP_ID_NOT_FOUND, [])
    assert world.group.members.keys() == {new.member_id}


def test_up_to_version_2_the_one_members_error_is_that_of_the_answer():
    world, _ = _world()
    member_id = _join(world, version=3).member_id

    assert world.leave((member_id, None), version=2).error_code == ErrorCode.NONE
    assert world.leave((member_id, None), version=2).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_operator_may_take_out_the_last_member_of_the_new_protocol_and_the_group_becomes_classic():
    world, _ = _world()
    consumer = ClassicConsumer(world, "foo")
    consumer.settle()

    assert [each.error_code for each in world.leave(("new", None)).members] == [ErrorCode.NONE]

    assert isinstance(world.context.groups[GROUP], ClassicGroup)
    for _ in range(3):
        consumer.settle()
    assert consumer.names() == {"foo": {0, 1, 2, 3}}


def test_all_may_leave_at_once():
    world, _ = _world()
    member_id = _join(world, version=3).member_id

    world.leave((member_id, None), ("new", None))

    assert world.group.state_name == "Empty"


def test_a_classic_member_is_not_told_to_join_again_before_the_group_may_be_assigned():
    world, _ = _world(consumer_assignment_interval_ms=1_000)
    member_id = _join(world, version=3).member_id
    joined = _join(world, member_id)
    assert (joined.generation_id, world.group.group_epoch) == (1, 2)
    assert _sync(world, member_id, 1).error_code == ErrorCode.NONE
    heartbeat = HeartbeatRequest(group_id=GROUP, generation_id=1, member_id=member_id)
    assert world.answer(world.ask("heartbeat", heartbeat, 4), HeartbeatResponse).error_code == ErrorCode.NONE
    world.pass_time(1_000)
    answer = world.answer(world.ask("heartbeat", heartbeat, 4), HeartbeatResponse)
    assert answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert _join(world, member_id).generation_id == world.group.target_epoch == 2
