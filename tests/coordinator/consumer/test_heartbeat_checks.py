"""What a heartbeat must look like, with Kafka's words for what does not."""

from typing import Any

import pytest
from consumer_world import GROUP, REBALANCE_MS, Consumer, ConsumerWorld

from falkirk.protocol.error_codes import ErrorCode


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"group": " "}, "GroupId can't be empty."),
        ({"instance": ""}, "InstanceId can't be empty."),
        ({"rack": " "}, "RackId can't be empty."),
        ({"member_id": ""}, "MemberId can't be empty."),
        ({"member_id": "", "epoch": 1, "version": 0}, "MemberId can't be empty."),
        ({"member_id": " ", "epoch": -1, "version": 0}, "MemberId can't be empty."),
        ({"timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
        ({"owned": None}, "TopicPartitions must be empty when (re-)joining."),
        ({"owned": {bytes(16): frozenset({0})}}, "TopicPartitions must be empty when (re-)joining."),
        (
            {"topics": None},
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
        ({"epoch": -2}, "InstanceId can't be null."),
        ({"epoch": -3}, "MemberEpoch is invalid."),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(asked: dict[str, Any], message: str):
    world = ConsumerWorld()
    request = {"member_id": "a", "epoch": 0, "timeout_ms": REBALANCE_MS, "topics": ["foo"], "owned": {}, **asked}

    response = world.beat(**request)

    assert (response.error_code, response.error_message) == (ErrorCode.INVALID_REQUEST, message)
    assert not world.batches


def test_an_assignor_that_the_broker_does_not_have_is_refused():
    world = ConsumerWorld(consumer_assignors=("range", "uniform", "com.acme.Own"))

    response = world.join("a", "foo", assignor="com.acme.Own")

    assert (response.error_code, response.error_message) == (
        ErrorCode.UNSUPPORTED_ASSIGNOR,
        "ServerAssignor com.acme.Own is not supported. Supported assignors: range, uniform.",
    )


def test_a_full_group_takes_nobody_but_those_who_are_in_it():
    world = ConsumerWorld(consumer_max_size=1)
    first = Consumer(world, "a", "foo")
    first.beat()

    response = world.join("b", "foo")

    assert (response.error_code, response.error_message) == (
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        "The consumer group has reached its maximum capacity of 1 members.",
    )
    assert first.beat() == ErrorCode.NONE


def test_only_who_joins_makes_a_group():
    world = ConsumerWorld()

    for epoch in (3, -1):
        response = world.beat("a", epoch)
        assert (response.error_code, response.error_message) == (
            ErrorCode.GROUP_ID_NOT_FOUND,
            f"Group {GROUP} not found.",
        )


@pytest.mark.parametrize("epoch", [1, -1])
def test_a_member_that_the_group_does_not_have_is_unknown(epoch: int):
    world = ConsumerWorld()
    world.join("a", "foo")

    response = world.beat("b", epoch)

    assert (response.error_code, response.error_message) == (
        ErrorCode.UNKNOWN_MEMBER_ID,
        f"Member b is not a member of group {GROUP}.",
    )


def test_a_member_with_an_epoch_of_another_time_is_fenced():
    world = ConsumerWorld()
    world.join("a", "foo")
    world.join("b", "foo")
    assert world.beat("b", 2).member_epoch == 2

    greater, smaller = world.beat("b", 3), world.beat("b", 1)

    assert greater.error_code == smaller.error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert greater.error_message == (
        "The consumer group member has a greater member epoch (3) than the one known by the group coordinator (2)."
        " The member must abandon all its partitions and rejoin."
    )
    assert smaller.error_message == (
        "The consumer group member has a smaller member epoch (1) than the one known by the group coordinator (2)."
        " The member must abandon all its partitions and rejoin."
    )


def test_the_epoch_before_is_welcome_with_what_was_given_until_then():
    world = ConsumerWorld()
    world.join("a", "foo")
    before = world.parts(foo=range(4))
    world.change_topic("foo", 5)
    assert world.beat("a", 1, owned=before).member_epoch == 2

    # The answer was lost: the member says again what it said.
    again = world.beat("a", 1, owned=before)

    assert (again.error_code, again.member_epoch) == (ErrorCode.NONE, 2)
    assert world.beat("a", 1).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert world.beat("a", 1, owned=world.parts(bar=[0])).error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_fenced_member_joins_again_with_nothing():
    world = ConsumerWorld()
    world.join("a", "foo")
    assert world.beat("a", 7).error_code == ErrorCode.FENCED_MEMBER_EPOCH

    response = world.join("a", "foo")

    assert (response.error_code, response.member_epoch) == (ErrorCode.NONE, 1)
    assert response.assignment is not None
    assert response.assignment.topic_partitions
