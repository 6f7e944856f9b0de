"""A member of a consumer group, heartbeat by heartbeat (KIP-848)."""

from __future__ import annotations

import pytest

from falkirk.coordinator.membership.consumer_membership import ConsumerMembership, ConsumerSettings
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from falkirk.protocol.messages.consumer_group_heartbeat_request import TopicPartitions
from falkirk.protocol.messages.consumer_group_heartbeat_response import Assignment
from falkirk.protocol.messages.consumer_group_heartbeat_response import TopicPartitions as AssignedTopic
from falkirk.protocol.topic_partition import TopicPartition

T, UNKNOWN = b"t" * 16, b"u" * 16


def versions(_api_key: int) -> int:
    return 5


def member(instance: str | None = None) -> ConsumerMembership:
    settings = ConsumerSettings(group_id="g", topics=("t",), instance_id=instance)
    made = ConsumerMembership(settings, member_id="me", name_of={T: "t"}.get)
    made.found_coordinator()
    return made


def heartbeat(made: ConsumerMembership, now_ms: int = 0) -> ConsumerGroupHeartbeatRequest:
    request = made.due(now_ms, versions)
    assert isinstance(request, ConsumerGroupHeartbeatRequest)
    return request


def answer(epoch: int, *partitions: int, topic: bytes = T) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(
        member_id="me",
        member_epoch=epoch,
        heartbeat_interval_ms=1_000,
        assignment=Assignment([AssignedTopic(topic, partitions)] if partitions else []),
    )


def joined(*partitions: int, instance: str | None = None) -> ConsumerMembership:
    made = member(instance)
    heartbeat(made)
    made.answered(answer(3, *partitions), 0)
    heartbeat(made)
    made.answered(ConsumerGroupHeartbeatResponse(member_id="me", member_epoch=3, heartbeat_interval_ms=1_000), 0)
    return made


def test_it_says_everything_when_it_joins_and_then_only_what_has_changed() -> None:
    made = member()
    first = heartbeat(made)
    assert (first.member_epoch, first.subscribed_topic_names, first.topic_partitions) == (0, ("t",), [])

    made.answered(answer(3, 0, 1), 0)

    assert made.assigned == {TopicPartition("t", 0), TopicPartition("t", 1)}
    second = heartbeat(made)
    assert (second.member_epoch, second.subscribed_topic_names) == (3, None)
    assert second.topic_partitions == [TopicPartitions(T, (0, 1))]
    made.answered(ConsumerGroupHeartbeatResponse(member_id="me", member_epoch=3, heartbeat_interval_ms=1_000), 0)
    assert made.due(999, versions) is None
    assert heartbeat(made, 1_000).topic_partitions is None


def test_what_it_has_to_give_up_is_told_at_once() -> None:
    made = joined(0, 1)
    heartbeat(made, 1_000)
    made.answered(answer(3, 1), 1_000)

    assert made.assigned == {TopicPartition("t", 1)}
    assert heartbeat(made, 1_000).topic_partitions == [TopicPartitions(T, (1,))]


def test_a_topic_that_it_does_not_know_yet_is_not_owned() -> None:
    made = member()
    heartbeat(made)
    made.answered(answer(3, 0, topic=UNKNOWN), 0)

    assert made.assigned == frozenset()
    assert made.due(999, versions) is None


@pytest.mark.parametrize("error", [ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID])
def test_who_is_fenced_gives_up_all_and_joins_anew(error: ErrorCode) -> None:
    made = joined(0)
    heartbeat(made, 1_000)

    made.answered(ConsumerGroupHeartbeatResponse(error_code=error), 1_000)

    assert made.assigned == frozenset()
    again = heartbeat(made, 1_000)
    assert (again.member_id, again.member_epoch, again.topic_partitions) == ("me", 0, [])
    assert again.subscribed_topic_names == ("t",)


def test_after_a_lost_answer_it_says_everything_again() -> None:
    made = joined(0)
    heartbeat(made, 1_000)
    made.lost(1_000)
    made.found_coordinator()

    again = heartbeat(made, 1_100)

    assert (again.member_epoch, again.subscribed_topic_names) == (3, ("t",))
    assert again.topic_partitions == [TopicPartitions(T, (0,))]


def test_a_coordinator_that_is_elsewhere_is_looked_up() -> None:
    made = joined(0)
    heartbeat(made, 1_000)
    made.answered(ConsumerGroupHeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR), 1_000)

    assert made.needs_coordinator
    assert made.assigned == {TopicPartition("t", 0)}
    assert made.due(2_000, versions) is None


@pytest.mark.parametrize(("instance", "epoch"), [(None, -1), ("i", -2)])
def test_it_leaves_for_good_or_for_a_while(instance: str | None, epoch: int) -> None:
    made = joined(0, instance=instance)
    made.leave()

    assert made.assigned == frozenset()
    assert heartbeat(made, 1).member_epoch == epoch
    made.answered(ConsumerGroupHeartbeatResponse(member_epoch=epoch), 1)
    assert made.has_left


def test_any_other_error_ends_it() -> None:
    made = joined(0)
    heartbeat(made, 1_000)
    made.answered(ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION), 1_000)

    assert made.failure is ErrorCode.UNSUPPORTED_VERSION
    assert (made.assigned, made.next_wakeup_ms) == (frozenset(), None)
