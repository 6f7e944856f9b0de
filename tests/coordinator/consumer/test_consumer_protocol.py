"""Stories of consumer groups: members come and go, topics change, coordinators too."""

from typing import Any

import pytest
from consumer_world import (
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    Consumer,
    ConsumerWorld,
    state_of,
)

from falkirk.coordinator.classic.group import ClassicGroup, group_metadata_tombstone
from falkirk.coordinator.classic.member import ClassicMember
from falkirk.coordinator.classic.state import ClassicGroupState
from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.consumer.member import MemberState
from falkirk.coordinator.records.record_type import GroupRecordType
from falkirk.coordinator.runtime.outcome import CoordinatorRecord, Outcome
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupTargetAssignmentMemberKey,
)
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release


def test_the_first_member_gets_all_partitions_at_once():
    world = ConsumerWorld()

    response = world.join("a", "foo", "bar", rack="r1")

    assert (response.member_id, response.member_epoch, response.heartbeat_interval_ms) == ("a", 1, 5_000)
    assert _given(response) == world.parts(foo=range(4), bar=range(2))
    assert world.group.state_name == "Stable"
    member = world.group.members["a"]
    assert (member.client_id, member.client_host, member.rack_id) == ("client-a", "/10.0.0.1", "r1")
    assert [_type(record) for record in world.last_records()] == [5, 3, 7, 6, 8]


def test_a_member_that_reads_nothing_is_in_the_group_all_the_same():
    world = ConsumerWorld()

    response = world.join("a", topics=[])

    assert (response.error_code, response.member_epoch) == (ErrorCode.NONE, 1)
    assert world.group.state_name == "Stable"


@pytest.mark.parametrize(
    ("before", "topics", "epoch", "types"),
    [
        (0, ["foo"], 1, [5, 3, 7, 6, 8]),
        (0, [], 1, [5, 3, 7, 6, 8]),
        # As since 4.3: the group has an epoch before its first change, and a member that reads nothing changes nothing.
        (1, ["foo"], 2, [5, 3, 7, 6, 8]),
        (1, [], 1, [5, 8]),
    ],
)
def test_a_new_group_begins_at_the_epoch_of_the_release(before, topics, epoch, types):
    world = ConsumerWorld(new_consumer_group_epoch=before)
    assert world.join("a", topics=topics).member_epoch == epoch
    assert [_type(record) for record in world.last_records()] == types
    world.reload()
    assert (world.group.group_epoch, world.group.state_name) == (epoch, "Stable")


def test_an_expression_that_finds_nothing_changes_nothing_until_it_finds_a_topic():
    world = ConsumerWorld(new_consumer_group_epoch=1)
    consumer = Consumer(world, "a", regex="none|new.*")
    consumer.beat()
    assert (consumer.epoch, consumer.assigned) == (1, {})
    world.change_topic("new", 1)
    world.pass_time(10_001)
    consumer.beat()
    assert (consumer.epoch, consumer.assigned) == (2, world.parts(new=[0]))


def test_a_group_is_not_assigned_anew_before_its_interval_is_over():
    world = ConsumerWorld(consumer_assignment_interval_ms=1_000)
    first, second = Consumer(world, "a", "foo"), Consumer(world, "b", "foo")
    first.beat()
    world.pass_time(400)
    second.beat()
    # It is a member at the epoch that the group was assigned at, with nothing of it.
    assert (second.epoch, second.assigned, world.group.group_epoch) == (1, {}, 2)
    assert world.group.state_name == "Assigning"
    # A coordinator that takes over knows when that was.
    world.reload()
    world.pass_time(599)
    first.beat()
    assert (first.epoch, world.group.target_epoch) == (1, 1)
    world.pass_time(1)
    second.beat()
    assert (second.epoch, world.group.target_epoch) == (2, 2)


def test_a_group_that_was_assigned_by_a_clock_ahead_of_this_one_is_assigned_at_once():
    world = ConsumerWorld(consumer_assignment_interval_ms=1_000)
    world.join("a", "foo")
    # The coordinator that takes over has another clock.
    world.context.now_ms -= 600_000
    world.reload()
    world.join("b", "foo")
    assert world.group.target_epoch == world.group.group_epoch == 2


def test_the_interval_is_that_of_the_group_within_the_limits_of_the_broker():
    world = ConsumerWorld(consumer_max_assignment_interval_ms=500)
    world.group_configs = {GROUP: {"consumer.assignment.interval.ms": "10000"}}
    world.reload()
    world.join("a", "foo")
    world.join("b", "foo")
    assert world.group.target_epoch == 1
    world.pass_time(500)
    world.beat("b", 1)
    assert world.group.target_epoch == 2


def test_a_group_that_was_empty_is_assigned_at_once():
    world = ConsumerWorld(consumer_assignment_interval_ms=1_000)
    first = Consumer(world, "a", "foo")
    first.beat()
    first.leave()
    world.join("b", "foo")
    assert world.group.target_epoch == world.group.group_epoch == 3


def test_a_member_without_an_id_is_given_one_in_version_0():
    world = ConsumerWorld()

    response = world.join("", "foo", version=0)

    assert response.member_id is not None
    assert len(response.member_id) == 22
    assert list(world.group.members) == [response.member_id]


def test_a_second_member_gets_its_part_when_the_first_has_given_it_back():
    world = ConsumerWorld()
    first, second = Consumer(world, "a", "foo"), Consumer(world, "b", "foo")
    first.beat()

    second.beat()
    assert (second.epoch, second.assigned) == (2, {})
    assert world.group.members["b"].state is MemberState.UNRELEASED_PARTITIONS

    # It is told what it may keep, and stays at its epoch until it has done so.
    first.beat()
    assert (first.epoch, len(first.assigned[world.id("foo")])) == (1, 2)
    assert world.group.members["a"].state is MemberState.UNREVOKED_PARTITIONS
    second.beat()
    assert second.assigned == {}

    first.beat(gives_back=True)
    assert first.epoch == 2
    second.beat()
    assert first.assigned[world.id("foo")] | second.assigned[world.id("foo")] == frozenset(range(4))
    assert world.group.state_name == "Stable"


def test_the_group_is_assigning_reconciling_stable_and_empty_in_turn():
    world = ConsumerWorld()
    first, second = Consumer(world, "a", "foo"), Consumer(world, "b", "foo")
    first.beat()
    second.beat()
    assert world.group.state_name == "Reconciling"
    for _ in range(2):
        first.beat()
        second.beat()
    assert world.group.state_name == "Stable"

    second.leave()
    assert world.group.state_name == "Assigning"
    first.leave()
    assert world.group.state_name == "Empty"
    # A group that is empty counts as assigned, and its topics are those of nobody.
    assert world.group.group_epoch == world.group.target_epoch
    assert world.group.metadata_hash == 0


def test_a_heartbeat_that_changes_nothing_writes_nothing_and_says_nothing():
    world = ConsumerWorld()
    world.join("a", "foo")
    written = len(world.batches)

    response = world.beat("a", 1)

    assert response.assignment is None
    assert len(world.batches) == written


def test_a_full_request_is_told_the_assignment_again():
    world = ConsumerWorld()
    world.join("a", "foo")
    parts = world.parts(foo=range(4))

    assert _given(world.beat("a", 1, timeout_ms=REBALANCE_MS, topics=["foo"], owned=parts)) == parts
    assert world.beat("a", 1, topics=["foo"], owned=parts).assignment is None
    assert world.beat("a", 1, timeout_ms=REBALANCE_MS, owned=parts).assignment is None


def test_only_members_whose_target_changed_get_a_record():
    world = ConsumerWorld()
    consumers = [Consumer(world, member_id, "foo") for member_id in "ab"]
    for _ in range(3):
        for consumer in consumers:
            consumer.beat()

    world.join("c", "bar")

    assert [_key(record).member_id for record in world.last_records() if _type(record) == 7] == ["c"]


def test_a_member_that_leaves_is_taken_out_with_all_its_records():
    world = ConsumerWorld()
    first = Consumer(world, "a", "foo")
    first.beat()

    response = world.beat("a", -1)

    assert (response.error_code, response.member_id, response.member_epoch) == (ErrorCode.NONE, "a", -1)
    assert [(_type(record), record.value is None) for record in world.last_records()] == [
        (8, True),
        (7, True),
        (5, True),
        (3, False),
        (6, False),
    ]
    assert world.group.owners == {}


def test_a_member_that_goes_leaves_its_partitions_to_the_others():
    world = ConsumerWorld()
    first, second = Consumer(world, "a", "foo"), Consumer(world, "b", "foo")
    for _ in range(3):
        first.beat()
        second.beat()

    first.leave()
    second.beat()

    assert second.assigned == world.parts(foo=range(4))


def test_a_change_of_the_subscription_takes_at_once_what_is_not_read_any_more():
    world = ConsumerWorld()
    consumer = Consumer(world, "a", "foo", "bar")
    consumer.beat()
    consumer.topics = ("bar",)
    consumer.is_full_next = True

    consumer.beat()
    assert consumer.assigned == world.parts(bar=range(2))
    consumer.beat()
    assert consumer.epoch == 2
    assert world.group.state_name == "Stable"


def test_the_assignor_that_most_members_ask_for_is_taken():
    world = ConsumerWorld()
    world.join("a", "foo", "bar", assignor="range")
    assert world.protocol.describe(world.group).assignor_name == "range"
    world.join("b", "foo", "bar", assignor="uniform")
    world.join("c", "foo", "bar")
    assert world.protocol.describe(world.group).assignor_name == "uniform"
    epoch = world.group.group_epoch

    world.beat("c", world.group.members["c"].member_epoch, assignor="range")

    assert world.protocol.describe(world.group).assignor_name == "range"
    # By range, a has the first of each topic, and whoever is last has none of bar.
    assert world.group.group_epoch == epoch + 1
    assert world.group.target_of("a") == world.parts(foo=[0, 1], bar=[0])
    assert world.group.target_of("c") == world.parts(foo=[3])


def test_topics_that_grow_are_new_or_go_are_seen_at_the_next_heartbeat():
    world = ConsumerWorld()
    consumer = Consumer(world, "a", "foo", "late")
    other = world.join("z", "foo", group="other")
    consumer.beat()
    epoch = world.group.group_epoch

    world.change_topic("foo", 5)
    consumer.beat()
    assert (consumer.epoch, consumer.assigned) == (epoch + 1, world.parts(foo=range(5)))

    world.change_topic("late", 1)
    consumer.beat()
    assert consumer.assigned == world.parts(foo=range(5), late=[0])

    world.change_topic("foo", 0)
    for _ in range(2):
        consumer.beat()
    assert consumer.assigned == world.parts(late=[0])
    assert other.member_epoch == 1


def test_groups_that_do_not_read_a_topic_are_left_alone():
    world = ConsumerWorld()
    world.join("a", "foo")
    written = len(world.batches)

    world.change_topic("bar", 3)
    world.beat("a", 1)

    assert world.group.group_epoch == 1
    assert len(world.batches) == written


def test_of_a_group_that_is_gone_no_topic_is_remembered():
    """Else consumers with an id of their own for each run would fill the memory."""
    world = ConsumerWorld()
    Consumer(world, "a", "foo", regex="b.*").beat()
    assert world.protocol._groups_by_topic == {"foo": {GROUP}, "bar": {GROUP}}
    world.beat("a", -1)
    world.apply(Outcome(records=world.group.deletion_records()))
    assert GROUP not in world.context.groups
    assert (world.protocol._groups_by_topic, world.protocol._topics_by_group) == ({}, {})


def test_what_the_log_did_not_take_is_decided_again():
    world = ConsumerWorld()
    consumer = Consumer(world, "a", "foo", regex="f.*")
    consumer.beat()
    world.change_topic("foo", 5)
    world.change_topic("fun", 1)
    world.pass_time(10_001)
    world.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    consumer.beat(is_lost=True)

    world.refusal = None
    consumer.beat()

    assert consumer.assigned == world.parts(foo=range(5), fun=[0])


def test_a_topic_that_comes_again_is_another():
    world = ConsumerWorld()
    consumer = Consumer(world, "a", "bar")
    consumer.beat()
    world.change_topic("bar", 0)
    world.change_topic("bar", 2)

    for _ in range(2):
        consumer.beat()

    assert consumer.assigned == world.parts(bar=range(2))


def test_below_4_1_the_topics_stand_in_a_record_of_their_own():
    levels = {"metadata.version": int(MetadataVersion.parse("4.0-IV3").level), "group.version": 1}
    world = ConsumerWorld(levels=levels)
    world.join("a", "foo")

    records = {_type(record): record.value for record in world.last_records()}

    metadata, topics = records[3], records[4]
    assert isinstance(metadata, ConsumerGroupMetadataValue)
    assert isinstance(topics, ConsumerGroupPartitionMetadataValue)
    assert metadata.metadata_hash == 0
    assert [(topic.topic_name, topic.topic_id, topic.num_partitions) for topic in topics.topics] == [
        ("foo", world.id("foo"), 4)
    ]


def test_topics_become_a_hash_as_the_level_rises_and_again_a_record_as_it_falls():
    world = ConsumerWorld()
    low, high = (
        {"metadata.version": int(MetadataVersion.parse(level).level), "group.version": 1}
        for level in ("4.0-IV3", "4.1-IV1")
    )
    world.context.feature_levels = low
    world.join("a", "foo")

    world.context.feature_levels = high
    world.group.metadata_refresh_due_ms = 0
    world.beat("a", 1)
    assert [(_type(record), record.value is None) for record in world.last_records()][:2] == [(4, True), (3, False)]
    assert (world.group.metadata_hash != 0, _has_topics_record(world)) == (True, False)

    world.context.feature_levels = low
    world.group.metadata_refresh_due_ms = 0
    world.beat("a", 2)
    assert (world.group.metadata_hash != 0, _has_topics_record(world)) == (False, True)
    assert world.group.state_name == "Stable"


def test_a_silent_member_is_fenced_when_its_session_times_out():
    world = ConsumerWorld()
    world.join("a", "foo")
    world.pass_time(SESSION_MS - 1)
    world.beat("a", 1)
    world.pass_time(SESSION_MS - 1)
    assert "a" in world.group.members

    world.pass_time(1)

    assert world.group.is_empty
    assert world.beat("a", 1).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_may_have_its_own_times_within_those_of_the_broker():
    world = ConsumerWorld()
    world.group_configs[GROUP] = {"consumer.session.timeout.ms": "50000", "consumer.heartbeat.interval.ms": "99999"}

    response = world.join("a", "foo")

    assert response.heartbeat_interval_ms == 15_000
    world.pass_time(49_999)
    assert "a" in world.group.members
    world.pass_time(1)
    assert world.group.is_empty


def test_a_member_that_does_not_give_back_in_time_is_fenced_though_it_speaks():
    world = ConsumerWorld()
    first, second = Consumer(world, "a", "foo"), Consumer(world, "b", "foo")
    first.beat()
    second.beat()
    first.beat()

    for _ in range(6):
        world.pass_time(REBALANCE_MS // 6)
        second.beat()
        error = first.beat(gives_back=False)

    assert error == ErrorCode.UNKNOWN_MEMBER_ID
    second.beat()
    assert second.assigned == world.parts(foo=range(4))


def test_a_member_that_gave_back_in_time_is_not_fenced():
    world = ConsumerWorld()
    first, second = Consumer(world, "a", "foo"), Consumer(world, "b", "foo")
    first.beat()
    second.beat()
    first.beat()
    world.pass_time(REBALANCE_MS // 2)
    second.beat()

    assert first.beat() == ErrorCode.NONE
    for _ in range(4):
        world.pass_time(REBALANCE_MS // 4)
        second.beat()
        assert first.beat() == ErrorCode.NONE


def test_a_member_is_fenced_later_if_the_log_takes_no_records_now():
    world = ConsumerWorld()
    world.join("a", "foo")
    world.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    world.pass_time(SESSION_MS)
    assert "a" in world.group.members

    world.refusal = None
    world.pass_time(500)

    assert world.group.is_empty


def test_a_coordinator_that_takes_over_gives_everybody_their_time_anew():
    world = ConsumerWorld()
    first, second = Consumer(world, "a", "foo"), Consumer(world, "b", "foo")
    first.beat()
    second.beat()
    first.beat()
    world.pass_time(SESSION_MS - 1)
    before = state_of(world)

    world.reload()

    assert state_of(world) == before
    world.pass_time(SESSION_MS - 1)
    first.beat(gives_back=False)
    second.beat()
    world.pass_time(REBALANCE_MS - SESSION_MS)
    assert "a" in world.group.members
    world.pass_time(1)
    assert "a" not in world.group.members


def test_a_static_member_keeps_its_place_and_hands_it_on():
    world = ConsumerWorld()
    first, second = Consumer(world, "a", "foo", instance="i"), Consumer(world, "b", "foo")
    for _ in range(3):
        first.beat()
        second.beat()
    had, epoch = first.assigned, world.group.group_epoch

    assert first.leave(keeps_place=True) == ErrorCode.NONE
    assert world.group.members["a"].member_epoch == -2
    second.beat()
    assert second.assigned != world.parts(foo=range(4))

    heir = Consumer(world, "c", "foo", instance="i")
    heir.beat()

    assert (heir.epoch, heir.assigned) == (epoch, had)
    assert world.group.group_epoch == epoch
    assert set(world.group.members) == {"b", "c"}
    assert world.group.static_members == {"i": "c"}
    assert world.group.state_name == "Stable"
    assert world.beat("a", 1).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_that_does_not_come_back_is_fenced():
    world = ConsumerWorld()
    first = Consumer(world, "a", "foo", instance="i")
    first.beat()
    first.leave(keeps_place=True)

    world.pass_time(SESSION_MS)

    assert world.group.is_empty


def test_a_place_that_is_taken_is_not_given_away():
    world = ConsumerWorld()
    world.join("a", "foo", instance="i")

    response = world.join("b", "foo", instance="i")

    assert (response.error_code, response.error_message) == (
        ErrorCode.UNRELEASED_INSTANCE_ID,
        "Static member b with instance id i cannot join the group because the instance id is owned by a member.",
    )
    # Its owner has but missed the answer.
    assert world.join("a", "foo", instance="i").error_code == ErrorCode.NONE


@pytest.mark.parametrize("epoch", [1, -1, -2])
def test_who_does_not_have_the_place_is_fenced(epoch: int):
    world = ConsumerWorld()
    world.join("a", "foo", instance="i")

    fenced, unknown = world.beat("b", epoch, instance="i"), world.beat("a", epoch, instance="j")

    assert (fenced.error_code, fenced.error_message) == (
        ErrorCode.FENCED_INSTANCE_ID,
        "Static member b with instance id i was fenced by member a.",
    )
    assert (unknown.error_code, unknown.error_message) == (ErrorCode.UNKNOWN_MEMBER_ID, "Instance id j is unknown.")


def test_a_static_member_may_leave_for_good():
    world = ConsumerWorld()
    first = Consumer(world, "a", "foo", instance="i")
    first.beat()

    first.leave()

    assert world.group.is_empty
    assert world.group.static_members == {}


def test_a_group_without_members_of_another_type_gives_way():
    world = ConsumerWorld()
    world.context.groups[GROUP] = ClassicGroup(GROUP, now_ms=0)

    assert world.join("a", "foo").error_code == ErrorCode.NONE

    assert isinstance(world.context.groups[GROUP], ConsumerGroup)
    assert world.last_records()[0] == group_metadata_tombstone(GROUP)


def test_a_group_with_members_of_another_type_is_for_the_conversions_to_take():
    world = ConsumerWorld()
    world.context.groups[GROUP] = _with_members()

    joining, leaving = world.join("a", "foo"), world.beat("a", -1)

    assert (joining.error_code, joining.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, f"cannot upgrade {GROUP}")
    assert (leaving.error_code, leaving.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Group {GROUP} is not a consumer group.",
    )


def test_a_member_in_a_state_of_the_future_begins_again():
    world = ConsumerWorld()
    world.join("a", "foo")
    for record in world.last_records():
        if isinstance(record.value, ConsumerGroupCurrentMemberAssignmentValue):
            record.value.state = 9
    world.reload()
    assert world.group.members["a"].state is MemberState.UNKNOWN

    refused = world.beat("a", 1)
    again = world.join("a", "foo")

    assert (refused.error_code, refused.error_message) == (
        ErrorCode.FENCED_MEMBER_EPOCH,
        "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.",
    )
    assert _given(again) == world.parts(foo=range(4))
    assert world.group.state_name == "Stable"


def test_members_of_3_7_have_their_state_in_what_is_pending():
    world = ConsumerWorld(
        release=Release.parse("3.7.2"), levels={"metadata.version": int(MetadataVersion.parse("3.7-IV4").level)}
    )
    first, second = Consumer(world, "a", "foo"), Consumer(world, "b", "foo")
    first.beat()
    second.beat()
    first.beat()
    world.reload()

    assert world.group.members["a"].state is MemberState.UNREVOKED_PARTITIONS
    assert world.group.members["b"].state is MemberState.UNRELEASED_PARTITIONS
    for _ in range(2):
        first.beat()
        second.beat()
    world.reload()
    assert world.group.state_name == "Stable"


def test_partitions_keep_the_epoch_at_which_their_owner_got_them():
    world = ConsumerWorld()
    consumer = Consumer(world, "a", "foo")
    consumer.beat()
    world.change_topic("foo", 5)
    consumer.beat()

    assert world.group.members["a"].assigned == {world.id("foo"): {0: 1, 1: 1, 2: 1, 3: 1, 4: 2}}
    world.reload()
    assert world.group.members["a"].assigned == {world.id("foo"): {0: 1, 1: 1, 2: 1, 3: 1, 4: 2}}


def _has_topics_record(world: ConsumerWorld) -> bool:
    return world.group.subscription_metadata is not None


def _with_members() -> ClassicGroup:
    group = ClassicGroup(GROUP, now_ms=0)
    group.add(ClassicMember(member_id="c", rebalance_timeout_ms=REBALANCE_MS, session_timeout_ms=SESSION_MS))
    group.transition_to(ClassicGroupState.PREPARING_REBALANCE, 0)
    return group


def _given(response: Any) -> dict[bytes, frozenset[int]]:  # Any: a response whose assignment is there
    return {topic.topic_id: frozenset(topic.partitions) for topic in response.assignment.topic_partitions}


def _type(record: CoordinatorRecord) -> int:
    key = record.key.SCHEMA.info.key
    assert key in set(GroupRecordType)
    return int(key)


def _key(
    record: CoordinatorRecord,
) -> ConsumerGroupTargetAssignmentMemberKey | ConsumerGroupCurrentMemberAssignmentKey:
    assert isinstance(record.key, ConsumerGroupTargetAssignmentMemberKey | ConsumerGroupCurrentMemberAssignmentKey)
    return record.key


@pytest.mark.parametrize(
    ("error", "waits"),
    [
        # Too few replicas are in sync: that may be over at any time.
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, [500] * 6),
        # Too large.
        (ErrorCode.UNKNOWN_SERVER_ERROR, [500, 1_000, 2_000, 4_000, 8_000, 16_000]),
    ],
)
def test_a_member_that_cannot_be_fenced_is_tried_again(error: ErrorCode, waits: list[int]):
    world = ConsumerWorld()
    world.join("m1", "foo")
    world.refusal = error
    dues = []
    world.pass_time(SESSION_MS)
    for _ in waits:
        due = world.context.timers.next_due_ms
        assert due is not None
        dues.append(due - world.context.now_ms)
        world.pass_time(due - world.context.now_ms)
    assert dues == waits
    # It speaks, and is silent once more: it begins anew.
    world.beat("m1", 1)
    world.pass_time(SESSION_MS)
    assert world.context.timers.next_due_ms == world.context.now_ms + 500
    world.refusal = None
    world.pass_time(500)
    assert not world.group.members
