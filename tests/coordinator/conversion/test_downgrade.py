"""A consumer group becomes a classic group as its last member of the new protocol goes."""

import pytest
from consumer_world import SESSION_MS as CONSUMER_SESSION_MS
from consumer_world import Consumer
from mixed_world import GROUP, SESSION_MS, ClassicConsumer, MixedWorld, group_state, stable_group

from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.protocol.coordinator_record import encode_key
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import GroupMetadataKey


def _mixed_group(world, *, count=2, instance=None, **given):
    """Return two consumers of the classic protocol and one of the new one, which have come to rest in one group."""
    classics = stable_group(world, count=count, **given)
    new = Consumer(world, "new", "foo", instance=instance)
    _come_to_rest(world, *classics, new)
    assert world.group.state_name == "Stable"
    return [*classics, new]


def _come_to_rest(world, *consumers):
    for _ in range(6):
        for consumer in consumers:
            consumer.settle() if isinstance(consumer, ClassicConsumer) else consumer.beat()
        world.pass_time(1_000)


def _kept_keys(world):
    """Name the groups' types of record that a log has a value of, when it was cleaned to the end."""
    values = {}
    for record in (record for batch in world.batches for record in batch):
        values[encode_key(record.key)] = record
    return {type(record.key).__name__ for record in values.values() if record.value is not None}


def test_it_leaves_nothing_of_the_new_protocol_in_the_log():
    world = MixedWorld()
    *_, new = _mixed_group(world)

    new.leave()

    assert _kept_keys(world) == {"GroupMetadataKey"}


@pytest.mark.parametrize("regex", [None, "fo."])
def test_so_it_does_where_the_topics_were_written_down_or_there_was_an_expression(regex):
    world = MixedWorld(levels={"metadata.version": 20, "group.version": 1})
    classics = stable_group(world)
    new = Consumer(world, "new", **({"regex": regex} if regex else {}))
    new.topics = None if regex else ("foo",)
    _come_to_rest(world, *classics, new)
    assert "ConsumerGroupPartitionMetadataKey" in _kept_keys(world)
    assert ("ConsumerGroupRegularExpressionKey" in _kept_keys(world)) == (regex is not None)

    new.leave()

    assert _kept_keys(world) == {"GroupMetadataKey"}


def test_who_stays_is_told_to_join_again_and_gets_what_is_free():
    world = MixedWorld()
    first, second, new = _mixed_group(world)
    epoch = world.group.group_epoch
    first.errors.clear()

    new.leave()

    assert world.classic_group.state_name == "PreparingRebalance"
    assert world.classic_group.generation_id == epoch
    assert world.classic_group.members.keys() == {first.member_id, second.member_id}
    _come_to_rest(world, first, second)
    assert first.errors == [ErrorCode.REBALANCE_IN_PROGRESS] * len(first.errors)
    assert world.classic_group.state_name == "Stable"
    assert len(first.names()["foo"] | second.names()["foo"]) == 4
    assert not first.names()["foo"] & second.names()["foo"]


def test_the_record_has_what_members_have_and_the_one_that_goes():
    world = MixedWorld()
    first, second, new = _mixed_group(world)
    had = {first.member_id: dict(first.owned), second.member_id: dict(second.owned), "new": new.assigned}

    new.leave()
    world.reload()

    assert world.classic_group.members.keys() == {first.member_id, second.member_id, "new"}
    world.beat("back", 0, owned={}, timeout_ms=1_000, topics=["foo"])
    assert {
        member_id: {topic: set(parts) for topic, parts in member.assigned.items()}
        for member_id, member in world.group.members.items()
        if member_id != "back"
    } == had


def test_a_coordinator_that_takes_over_before_the_rebalance_begins_it_when_the_session_of_who_went_ends():
    world = MixedWorld()
    first, second, new = _mixed_group(world)
    new.leave()
    world.reload()

    for _ in range(CONSUMER_SESSION_MS // 5_000 + 1):
        _come_to_rest(world, first, second)

    assert world.classic_group.members.keys() == {first.member_id, second.member_id}
    assert len(first.names()["foo"] | second.names()["foo"]) == 4
    assert ErrorCode.ILLEGAL_GENERATION not in first.errors + second.errors


def test_the_end_of_the_last_ones_session_is_as_if_it_left():
    world = MixedWorld()
    first, second, _ = _mixed_group(world)

    for _ in range(CONSUMER_SESSION_MS // 5_000):
        _come_to_rest(world, first, second)

    assert isinstance(world.context.groups[GROUP], ClassicGroup)
    assert len(first.names()["foo"] | second.names()["foo"]) == 4


def test_as_long_as_another_of_the_new_protocol_is_there_nothing_changes():
    world = MixedWorld()
    *_, new = _mixed_group(world)
    other = Consumer(world, "other", "foo")
    other.beat()

    new.leave()

    assert isinstance(world.context.groups[GROUP], ConsumerGroup)
    other.leave()
    assert isinstance(world.context.groups[GROUP], ClassicGroup)


def test_the_last_of_all_leaves_an_empty_consumer_group():
    world = MixedWorld()
    new = Consumer(world, "new", "foo")
    new.beat()

    new.leave()

    assert world.group.state_name == "Empty"


def test_a_policy_may_forbid_it_and_those_who_stay_go_on():
    world = MixedWorld(consumer_migration_policy="upgrade")
    first, second, new = _mixed_group(world)

    new.leave()
    _come_to_rest(world, first, second)

    assert world.group.state_name == "Stable"
    assert len(first.names()["foo"] | second.names()["foo"]) == 4
    # One more goes: nobody of the new protocol is there to ask for another assignment.
    second.leave()
    _come_to_rest(world, first)
    assert first.names() == {"foo": {0, 1, 2, 3}}


def test_a_group_that_is_too_large_for_a_classic_one_stays():
    world = MixedWorld()
    *_, new = _mixed_group(world)
    world.settings = world.context.settings = type(world.settings)(group_max_size=1)

    new.leave()

    assert isinstance(world.context.groups[GROUP], ConsumerGroup)


def test_a_static_member_that_is_away_for_a_while_keeps_the_group_as_it_is():
    world = MixedWorld()
    *_, new = _mixed_group(world, instance="i1")

    new.leave(keeps_place=True)

    assert isinstance(world.context.groups[GROUP], ConsumerGroup)


@pytest.mark.parametrize("has_time", [True, False])
def test_a_static_member_that_comes_back_with_the_classic_protocol_takes_over_its_partitions(has_time):
    world = MixedWorld()
    first, second, new = _mixed_group(world, instance="i1")
    new.leave(keeps_place=True)
    back = ClassicConsumer(world, "foo", instance="i1")

    back.step()

    assert _kept_keys(world) == {"GroupMetadataKey"}
    assert "new" not in world.classic_group.members
    assert world.classic_group.static_members == {"i1": back_id(world)}
    if not has_time:
        world.reload()
    for _ in range(10):
        _come_to_rest(world, first, second, back)
    assert world.classic_group.state_name == "Stable"
    parts = [each.names()["foo"] for each in (first, second, back)]
    assert set().union(*parts) == {0, 1, 2, 3}
    assert sum(map(len, parts)) == 4


def back_id(world):
    (member,) = (each for each in world.classic_group.members.values() if each.is_static)
    assert member.waiting_join is not None
    return member.member_id


def test_a_log_that_refuses_the_conversion_leaves_the_group_as_it_is():
    world = MixedWorld()
    first, second, new = _mixed_group(world)
    before = group_state(world)

    world.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    new.leave()
    world.refusal = None

    assert group_state(world) == before
    # Nobody speaks for it any more.
    for _ in range(CONSUMER_SESSION_MS // 5_000):
        _come_to_rest(world, first, second)
    assert isinstance(world.context.groups[GROUP], ClassicGroup)


def test_sessions_of_the_time_before_do_not_end_those_of_a_group_that_changes_again():
    world = MixedWorld()
    first, second, new = _mixed_group(world)
    new.leave()
    _come_to_rest(world, first, second)
    again = Consumer(world, "again", "foo")
    again.beat()
    ids = world.group.members.keys()

    for _ in range(3 * SESSION_MS // 5_000):
        _come_to_rest(world, first, second, again)

    assert world.group.members.keys() == ids


def test_what_was_committed_in_one_protocol_is_there_in_the_other():
    world = MixedWorld()
    first, _, new = _mixed_group(world)
    (part,) = first.names().values()
    assert world.commit(first.member_id, first.generation, "foo", min(part), 17) is ErrorCode.NONE

    new.leave()

    assert world.committed() == {("foo", min(part)): 17}
    world.reload()
    assert world.committed() == {("foo", min(part)): 17}
    assert GroupMetadataKey(group=GROUP) in [record.key for record in world.batches[-1]]
