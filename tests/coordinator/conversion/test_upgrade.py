"""A classic group becomes a consumer group as a consumer of the new protocol joins."""

import pytest
from consumer_world import Consumer
from mixed_world import GROUP, REBALANCE_MS, SESSION_MS, ClassicConsumer, MixedWorld, group_state, stable_group

from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.consumer.member import MemberState
from falkirk.protocol.consumer_protocol import encode_embedded
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ConsumerProtocolAssignment,
    GroupMetadataKey,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    consumer_protocol_assignment,
)
from falkirk.protocol.messages.join_group_request import JoinGroupRequestProtocol
from falkirk.protocol.messages.sync_group_request import SyncGroupRequestAssignment


def _refusal(world, consumer):
    response = world.join(consumer.member_id, *consumer.topics)
    return ErrorCode(response.error_code), response.error_message


def test_members_stay_with_what_they_have_at_the_epoch_that_was_their_generation():
    world = MixedWorld()
    first, second = stable_group(world)
    generation = world.classic_group.generation_id

    assert Consumer(world, "new", "foo").beat() is ErrorCode.NONE

    records = world.last_records()
    assert isinstance(records[0].key, GroupMetadataKey)
    assert records[0].value is None
    group = world.group
    assert group.group_epoch == group.target_epoch == generation + 1
    for consumer in (first, second):
        member = group.members[consumer.member_id]
        assert member.uses_classic_protocol
        assert member.member_epoch == member.previous_member_epoch == generation
        assert {topic: set(parts) for topic, parts in member.assigned.items()} == {
            topic: set(parts) for topic, parts in consumer.owned.items()
        }
        assert member.subscribed_topics == {"foo"}
        assert member.rebalance_timeout_ms == REBALANCE_MS
        assert member.client_host == "/10.0.0.2"
        assert member.classic_metadata.session_timeout_ms == SESSION_MS
        assert [each.name for each in member.classic_metadata.supported_protocols] == ["cooperative-sticky"]


def test_the_replayed_records_are_the_group_that_was_decided_on():
    world = MixedWorld()
    stable_group(world)
    Consumer(world, "new", "foo").beat()
    before = group_state(world)

    world.reload()

    assert group_state(world) == before


def test_all_come_to_their_share_while_they_go_on_working():
    world = MixedWorld()
    consumers = stable_group(world)
    new = Consumer(world, "new", "foo")
    new.beat()

    assert sum(len(parts) for each in consumers for parts in each.owned.values()) == 4, "nobody has lost anything yet"
    for _ in range(4):
        for consumer in consumers:
            consumer.settle()
        new.beat()

    assert sorted(len(parts) for each in (*consumers, new) for parts in _owned(each).values()) == [1, 1, 2]
    assert {error for consumer in consumers for error in consumer.errors} == {ErrorCode.REBALANCE_IN_PROGRESS}


def _owned(consumer):
    return consumer.owned if isinstance(consumer, ClassicConsumer) else consumer.assigned


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_a_policy_may_forbid_it(policy):
    world = MixedWorld(consumer_migration_policy=policy)
    stable_group(world)

    error, message = _refusal(world, Consumer(world, "new", "foo"))

    assert error is ErrorCode.GROUP_ID_NOT_FOUND
    assert message == "Cannot upgrade classic group g to consumer group because online upgrade is disabled."
    assert isinstance(world.context.groups[GROUP], ClassicGroup)


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_a_group_without_members_changes_under_any_policy(policy):
    world = MixedWorld(consumer_migration_policy=policy)
    (consumer,) = stable_group(world, count=1)
    consumer.leave()

    assert Consumer(world, "new", "foo").beat() is ErrorCode.NONE

    assert isinstance(world.context.groups[GROUP], ConsumerGroup)
    before = group_state(world)
    world.reload()
    assert group_state(world) == before


def test_who_has_an_epoch_already_does_not_join_astable_group():
    world = MixedWorld()
    stable_group(world)

    response = world.beat("new", 3, owned={}, timeout_ms=REBALANCE_MS, topics=["foo"])

    assert response.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert isinstance(world.context.groups[GROUP], ClassicGroup)


def test_a_group_that_is_too_large_stays():
    world = MixedWorld(consumer_max_size=1)
    stable_group(world)

    error, message = _refusal(world, Consumer(world, "new", "foo"))

    assert error is ErrorCode.GROUP_ID_NOT_FOUND
    assert message is not None
    assert message.endswith("because the group size exceeds the consumer group maximum size.")


def test_a_group_that_would_be_full_stays_classic_and_nobody_who_waits_is_told_anything():
    world = MixedWorld(consumer_max_size=2)
    first, second = stable_group(world)
    world.shard.classic.rebalance(world.classic_group)
    first.settle()
    waiting = dict(world.waiting)

    error, _ = _refusal(world, Consumer(world, "new", "foo"))

    assert error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert waiting
    assert world.waiting == waiting
    second.settle()
    first.settle()
    assert first.owned


def _foreign_group(world, *, count=1, protocol_type="consumer", metadata=b"", assignment=b""):
    """Make a stable group, to all of whose members the leader gives the same."""
    request = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        protocol_type=protocol_type,
        protocols=[JoinGroupRequestProtocol(name="p", metadata=metadata)],
    )
    tokens = [world.ask("join_group", request, 3) for _ in range(count)]
    world.pass_time(6_000)
    ids = [world.answer(token, JoinGroupResponse).member_id for token in tokens]
    given = [SyncGroupRequestAssignment(member_id=each, assignment=assignment) for each in ids]
    request = SyncGroupRequest(group_id=GROUP, generation_id=1, member_id=ids[0], assignments=given)
    world.ask("sync_group", request, 3)
    assert world.classic_group.state_name == "Stable"


CUSTOM_ASSIGNOR = (
    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default assignor before"
    " re-attempting the upgrade."
)
NOTHING_READ = b"\0\0" + b"\0\0\0\0" + b"\xff\xff\xff\xff"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"protocol_type": "connect"}, "the group does not use the consumer embedded protocol."),
        ({"metadata": b"\0\0\0"}, "the embedded consumer protocol is malformed."),
        ({"metadata": NOTHING_READ, "assignment": b"\0"}, "the embedded consumer protocol is malformed."),
        (
            {"metadata": NOTHING_READ, "assignment": encode_embedded(ConsumerProtocolAssignment([], b"mine"), 0)},
            CUSTOM_ASSIGNOR,
        ),
    ],
    ids=["other type", "bad subscription", "bad assignment", "user data"],
)
def test_what_cannot_be_taken_over_stays(given, why):
    world = MixedWorld()
    _foreign_group(world, **given)

    error, message = _refusal(world, Consumer(world, "new", "foo"))

    assert error is ErrorCode.GROUP_ID_NOT_FOUND
    assert message == f"Cannot upgrade classic group g to consumer group because {why}"


def test_what_a_leader_gave_to_two_or_is_gone_has_one_owner_or_none():
    world = MixedWorld()
    parts = [
        consumer_protocol_assignment.TopicPartition(topic="foo", partitions=(0, 9)),
        consumer_protocol_assignment.TopicPartition(topic="gone", partitions=(0,)),
    ]
    assignment = encode_embedded(ConsumerProtocolAssignment(parts), 0)
    _foreign_group(world, count=2, metadata=NOTHING_READ, assignment=assignment)

    Consumer(world, "new", "foo").beat()

    classics = [each for each in world.group.members.values() if each.uses_classic_protocol]
    assert [{topic: set(parts) for topic, parts in each.assigned.items()} for each in classics] == [
        world.parts(foo=[0]),
        {},
    ]


def test_whoever_waits_in_a_rebalance_is_told_of_another_one():
    world = MixedWorld()
    first, second = stable_group(world)
    third = ClassicConsumer(world, "foo")
    third.settle()
    first.settle()
    assert world.classic_group.state_name == "PreparingRebalance"
    assert len(world.waiting) == 2

    Consumer(world, "new", "foo").beat()

    assert not world.waiting
    first.step()
    third.step()
    assert first.errors[-1] is third.errors[-1] is ErrorCode.REBALANCE_IN_PROGRESS
    assert world.group.members.keys() == {first.member_id, second.member_id, third.member_id, "new"}


def test_a_group_whose_first_members_are_joining_is_converted_too():
    world = MixedWorld()
    first = ClassicConsumer(world, "foo")
    first.settle()
    assert world.classic_group.generation_id == 0

    new = Consumer(world, "new", "foo")
    assert new.beat() is ErrorCode.NONE

    for _ in range(4):
        first.settle()
        new.beat()
    assert len(first.names()["foo"]) == len(new.assigned[world.id("foo")]) == 2


def test_what_members_still_work_on_while_their_leader_assigns_anew_is_not_given_away():
    world = MixedWorld()
    first, second = stable_group(world)
    third = ClassicConsumer(world, "foo")
    third.settle()
    first.step()
    first.step()
    second.step()
    second.step()
    # All have joined; the leader has not assigned, and one more comes, so that what was assigned is forgotten.
    world.shard.classic.rebalance(world.classic_group)
    assert not any(member.assignment for member in world.classic_group.members.values())
    assert first.owned
    assert second.owned

    Consumer(world, "new", "foo").beat()

    for consumer in (first, second):
        member = world.group.members[consumer.member_id]
        assert {topic: set(parts) for topic, parts in member.assigned.items()} == consumer.owned


def test_a_member_that_says_nothing_after_the_conversion_is_fenced_by_its_own_session_timeout():
    world = MixedWorld()
    first, second = stable_group(world)
    new = Consumer(world, "new", "foo")
    new.beat()
    first.settle()

    world.pass_time(SESSION_MS - 1)
    first.step()
    assert second.member_id in world.group.members
    world.pass_time(1)

    assert world.group.members.keys() == {first.member_id, "new"}


def test_a_static_member_that_changes_its_protocol_keeps_its_partitions():
    world = MixedWorld()
    old, other = stable_group(world, instance="i1", count=1)[0], ClassicConsumer(world, "foo")
    for _ in range(4):
        other.settle()
        old.settle()
    assert old.owned
    had = old.owned

    new = Consumer(world, "new", "foo", instance="i1")
    assert new.beat() is ErrorCode.NONE

    assert old.member_id not in world.group.members
    assert new.assigned == had
    assert world.group.members["new"].state is MemberState.STABLE


def test_a_log_that_refuses_the_conversion_leaves_the_group_as_it_is():
    world = MixedWorld()
    first, second = stable_group(world)
    before = group_state(world)

    world.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    Consumer(world, "new", "foo").beat()
    world.refusal = None

    assert group_state(world) == before
    first.settle()
    second.settle()
    assert not first.errors
    assert first.owned
