"""A member by the classic protocol, answer by answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from falkirk.coordinator.membership.classic_membership import ClassicMembership, ClassicSettings, State
from falkirk.protocol.consumer_protocol import decode_embedded, encode_embedded
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from falkirk.protocol.messages.consumer_protocol_assignment import TopicPartition as AssignedTopic
from falkirk.protocol.messages.join_group_response import JoinGroupResponseMember
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping

SUBSCRIPTION = ConsumerProtocolSubscription(("t",), b"mine")
ASSIGNMENT = ConsumerProtocolAssignment([AssignedTopic("t", (0, 2))], b"yours")


def assign(members: Mapping[str, ConsumerProtocolSubscription]) -> Mapping[str, ConsumerProtocolAssignment]:
    assert all(each == SUBSCRIPTION for each in members.values())
    return dict.fromkeys(members, ASSIGNMENT)


def versions(_api_key: int) -> int:
    return 5


def member(instance: str | None = None) -> ClassicMembership:
    made = ClassicMembership(
        ClassicSettings(group_id="g", group_instance_id=instance), subscribe=lambda: SUBSCRIPTION, assign=assign
    )
    made.found_coordinator()
    return made


def joined(*, leader: str = "me") -> JoinGroupResponse:
    others = [JoinGroupResponseMember(each, None, encode_embedded(SUBSCRIPTION, 1)) for each in ("me", "you")]
    return JoinGroupResponse(
        generation_id=4, member_id="me", leader=leader, protocol_name="range", members=others if leader == "me" else []
    )


def stable(*, leader: str = "me") -> ClassicMembership:
    made = member()
    made.due(0, versions)
    made.answered(joined(leader=leader), 0)
    made.due(0, versions)
    made.answered(SyncGroupResponse(assignment=encode_embedded(ASSIGNMENT, 1)), 0)
    return made


def test_it_asks_again_with_the_id_that_it_is_given() -> None:
    made = member()
    first = made.due(0, versions)
    assert isinstance(first, JoinGroupRequest)
    assert first.member_id == ""
    assert decode_embedded(ConsumerProtocolSubscription, first.protocols[0].metadata) == SUBSCRIPTION
    assert made.next_wakeup_ms is None

    made.answered(JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="me"), 5)

    again = made.due(5, versions)
    assert isinstance(again, JoinGroupRequest)
    assert again.member_id == "me"


@pytest.mark.parametrize(("leader", "assigned_to"), [("me", ["me", "you"]), ("you", [])])
def test_only_the_leader_assigns(leader: str, assigned_to: list[str]) -> None:
    made = member()
    made.due(0, versions)
    made.answered(joined(leader=leader), 0)

    sync = made.due(0, versions)

    assert isinstance(sync, SyncGroupRequest)
    assert (sync.generation_id, sync.member_id) == (4, "me")
    assert [each.member_id for each in sync.assignments] == assigned_to


def test_it_reads_what_it_is_assigned_and_heartbeats() -> None:
    made = stable(leader="you")

    assert made.assigned == {TopicPartition("t", 0), TopicPartition("t", 2)}
    assert made.due(2_999, versions) is None
    assert made.due(3_000, versions) == HeartbeatRequest("g", 4, "me", None)
    made.answered(HeartbeatResponse(), 3_000)
    assert made.next_wakeup_ms == 6_000


@pytest.mark.parametrize(
    ("error", "member_id"),
    [
        (ErrorCode.REBALANCE_IN_PROGRESS, "me"),
        (ErrorCode.ILLEGAL_GENERATION, "me"),
        (ErrorCode.UNKNOWN_MEMBER_ID, ""),
    ],
)
def test_it_gives_up_what_it_reads_and_joins_anew(error: ErrorCode, member_id: str) -> None:
    made = stable()
    made.due(3_000, versions)

    made.answered(HeartbeatResponse(error_code=error), 3_000)

    assert (made.assigned, made.state) == (frozenset(), State.UNJOINED)
    again = made.due(3_000, versions)
    assert isinstance(again, JoinGroupRequest)
    assert again.member_id == member_id


@pytest.mark.parametrize(
    ("error", "elsewhere"),
    [(ErrorCode.NOT_COORDINATOR, True), (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, False)],
)
def test_it_waits_for_a_coordinator_and_keeps_what_it_reads(error: ErrorCode, *, elsewhere: bool) -> None:
    made = stable()
    made.due(3_000, versions)

    made.answered(HeartbeatResponse(error_code=error), 3_000)

    assert made.needs_coordinator is elsewhere
    assert made.assigned
    made.found_coordinator()
    assert made.due(3_099, versions) is None
    assert isinstance(made.due(3_100, versions), HeartbeatRequest)


def test_a_lost_answer_is_asked_for_again_when_the_coordinator_is_found() -> None:
    made = stable()
    made.due(3_000, versions)
    made.lost(3_000)

    assert made.due(4_000, versions) is None
    made.found_coordinator()
    assert isinstance(made.due(4_000, versions), HeartbeatRequest)


@pytest.mark.parametrize("error", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, None])
def test_a_sync_is_not_repeated_since_an_earlier_assignment_may_answer_it(error: ErrorCode | None) -> None:
    made = member()
    made.due(0, versions)
    made.answered(joined(), 0)
    made.due(0, versions)

    if error is None:
        made.lost(0)
    else:
        made.answered(SyncGroupResponse(error_code=error), 0)
    made.found_coordinator()

    again = made.due(100, versions)
    assert isinstance(again, JoinGroupRequest)
    assert again.member_id == "me"


def test_any_other_error_ends_it() -> None:
    made = stable()
    made.due(3_000, versions)

    made.answered(HeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED), 3_000)

    assert made.failure is ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert (made.assigned, made.next_wakeup_ms) == (frozenset(), None)


def test_it_leaves_and_is_gone_when_that_is_answered() -> None:
    made = stable()
    made.leave()
    assert not made.assigned
    farewell = made.due(10, versions)
    assert isinstance(farewell, LeaveGroupRequest)
    assert ([each.member_id for each in farewell.members], farewell.member_id) == (["me"], "")
    assert not made.has_left

    made.answered(LeaveGroupResponse(), 10)

    assert made.has_left
    assert made.next_wakeup_ms is None


def test_an_old_coordinator_is_told_who_leaves_in_its_own_way() -> None:
    made = stable()
    made.leave()
    assert made.due(10, lambda _: 2) == LeaveGroupRequest("g", "me")


def test_who_never_joined_leaves_without_a_word() -> None:
    made = member()
    made.leave()
    assert made.due(0, versions) is None
    assert made.has_left
