"""Subscriptions by regular expression."""

import pytest
from consumer_world import GROUP, Consumer, ConsumerWorld, state_of

from falkirk.coordinator.consumer import consumer_records
from falkirk.coordinator.consumer.consumer_group import ResolvedRegex
from falkirk.coordinator.records.record_type import GroupRecordType
from falkirk.protocol.error_codes import ErrorCode

REFRESH_MS = 600_000
PATIENCE_MS = 10_001


def _types(world: ConsumerWorld) -> list[int | None]:
    return [record.key.SCHEMA.info.key for record in world.last_records()]


def test_a_member_reads_the_topics_that_its_expression_finds():
    world = ConsumerWorld()
    consumer = Consumer(world, "a", regex="fo+|none")

    consumer.beat()

    assert consumer.assigned == world.parts(foo=range(4))
    assert world.group.resolved_regexes == {
        "fo+|none": ResolvedRegex(frozenset({"foo"}), world.topics.offset, world.context.now_ms)
    }
    assert world.group.is_subscribed_to("foo")
    assert not world.group.is_subscribed_to("bar")
    assert GroupRecordType.CONSUMER_GROUP_REGULAR_EXPRESSION in _types(world)


def test_names_and_expression_may_be_combined():
    world = ConsumerWorld()
    consumer = Consumer(world, "a", "bar", regex="f.*")

    consumer.beat()

    assert consumer.assigned == world.parts(foo=range(4), bar=range(2))


def test_topics_that_the_client_may_not_describe_are_not_found():
    world = ConsumerWorld()

    world.join("a", regex=".*", hidden={"foo"})

    assert world.group.resolved_regexes[".*"].topics == {"bar"}


def test_an_expression_that_is_none_is_refused():
    world = ConsumerWorld()

    response = world.join("a", regex="(foo")

    assert (response.error_code, response.error_message) == (
        ErrorCode.INVALID_REGULAR_EXPRESSION,
        "SubscribedTopicRegex `(foo` is not a valid regular expression: missing closing ).",
    )
    assert not world.batches


def test_an_expression_goes_with_the_last_member_that_has_it():
    world = ConsumerWorld()
    first, second = Consumer(world, "a", regex="f.*"), Consumer(world, "b", regex="f.*")
    first.beat()
    second.beat()

    first.leave()
    assert "f.*" in world.group.resolved_regexes
    second.asked["regex"] = "b.*"
    second.is_full_next = True
    for _ in range(3):
        second.beat()

    assert set(world.group.resolved_regexes) == {"b.*"}
    assert second.assigned == world.parts(bar=range(2))
    second.leave()
    assert world.group.resolved_regexes == {}


def test_an_empty_expression_is_none():
    world = ConsumerWorld()
    consumer = Consumer(world, "a", "bar", regex="f.*")
    consumer.beat()
    consumer.asked["regex"] = ""
    consumer.is_full_next = True

    for _ in range(2):
        consumer.beat()

    assert consumer.assigned == world.parts(bar=range(2))
    assert world.group.resolved_regexes == {}


def test_an_expression_that_another_member_has_is_not_resolved_again():
    world = ConsumerWorld()
    world.join("a", regex="f.*")

    world.join("b", regex="f.*")

    assert GroupRecordType.CONSUMER_GROUP_REGULAR_EXPRESSION not in _types(world)
    assert world.group.group_epoch == 2


def test_new_topics_are_found_but_not_more_often_than_every_ten_seconds():
    world = ConsumerWorld()
    consumer = Consumer(world, "a", regex="f.*")
    consumer.beat()
    world.change_topic("fun", 1)
    consumer.beat()
    assert consumer.assigned == world.parts(foo=range(4))

    world.pass_time(PATIENCE_MS)
    consumer.beat()

    assert consumer.assigned == world.parts(foo=range(4), fun=[0])


def test_new_topics_that_do_not_match_change_nothing():
    world = ConsumerWorld()
    consumer = Consumer(world, "a", regex="f.*")
    consumer.beat()
    written = len(world.batches)
    world.change_topic("other", 1)

    for _ in range(3):
        world.pass_time(PATIENCE_MS)
        consumer.beat()

    assert len(world.batches) == written


def test_a_topic_that_grows_or_goes_counts_for_expressions_too():
    world = ConsumerWorld()
    consumer = Consumer(world, "a", regex="f.*")
    consumer.beat()

    world.change_topic("foo", 5)
    consumer.beat()
    assert consumer.assigned == world.parts(foo=range(5))
    world.change_topic("foo", 0)
    for _ in range(2):
        consumer.beat()
    assert consumer.assigned == {}


def test_what_may_be_described_is_asked_again_after_a_while():
    world = ConsumerWorld()
    world.join("a", regex=".*", hidden={"foo"})
    for _ in range(REFRESH_MS // 40_000):
        world.pass_time(40_000)
        world.beat("a", 1)
    assert world.group.resolved_regexes[".*"].topics == {"bar"}

    world.pass_time(1)
    world.beat("a", 1)

    assert world.group.resolved_regexes[".*"].topics == {"foo", "bar"}
    assert world.group.group_epoch == 2


def test_a_coordinator_that_takes_over_finds_what_came_while_there_was_none():
    world = ConsumerWorld()
    consumer = Consumer(world, "a", regex="f.*")
    consumer.beat()
    world.pass_time(PATIENCE_MS)
    world.topics = world.topics.with_("fun", 1)
    world.reload()

    consumer.beat()

    assert consumer.assigned == world.parts(foo=range(4), fun=[0])


def test_an_expression_that_the_last_coordinator_had_no_time_for_is_resolved():
    world = ConsumerWorld()
    consumer = Consumer(world, "a", regex="f.*")
    consumer.beat()
    world.batches.append([consumer_records.regex_tombstone(GROUP, "f.*")])
    world.reload()

    consumer.beat()

    assert "f.*" in world.group.resolved_regexes
    assert world.group.state_name == "Stable"


@pytest.mark.parametrize("regex", [r"\p{Greek}", "(foo"])
def test_an_expression_in_the_log_that_we_do_not_read_finds_nothing_and_is_not_tried_again(regex: str):
    world = ConsumerWorld()
    world.join("a", "bar", regex="f.*")
    member = world.group.members["a"].__class__(member_id="a", subscribed_regex=regex, member_epoch=1)
    world.batches.append([consumer_records.member_record(world.release, GROUP, member)])
    world.reload()

    response = world.beat("a", 1)

    assert response.error_code == ErrorCode.NONE
    assert world.group.resolved_regexes[regex].topics == frozenset()
    written = len(world.batches)
    world.beat("a", world.group.members["a"].member_epoch, owned={})
    world.beat("a", world.group.members["a"].member_epoch)
    assert len(world.batches) - written <= 1


def test_a_static_member_hands_its_expression_on():
    world = ConsumerWorld()
    first = Consumer(world, "a", instance="i", regex="f.*")
    first.beat()
    first.leave(keeps_place=True)

    heir = Consumer(world, "b", instance="i", regex="f.*")
    heir.beat()

    assert heir.assigned == world.parts(foo=range(4))
    assert world.group.regex_subscribers == {"f.*": 1}
    before = state_of(world)
    world.reload()
    assert state_of(world) == before
