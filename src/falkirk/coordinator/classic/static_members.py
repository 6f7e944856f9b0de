"""A static member that comes back without its member id and replaces its previous incarnation (KIP-345)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.classic.classic_records import group_metadata_record
from falkirk.coordinator.classic.responses import join_error, joined
from falkirk.coordinator.classic.state import ClassicGroupState
from falkirk.coordinator.runtime.outcome import Reply
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.coordinator.classic.decision import Decision
    from falkirk.coordinator.classic.group import ClassicGroup
    from falkirk.coordinator.classic.joining import Joining
    from falkirk.coordinator.classic.member import ClassicMember
    from falkirk.coordinator.classic.rebalances import Rebalances


_FIRST_TO_SKIP_ASSIGNMENT = 9


def replace_static_member(
    rebalances: Rebalances, group: ClassicGroup, joining: Joining, member_id: str, decision: Decision
) -> None:
    """Assign a new member id to the holder of the request's instance id; the old member id is fenced.

    In a Stable group whose protocol stays the same, no other member is involved: the new id is written, and the member
    keeps its assignment. Otherwise the group rebalances, since the leader may assign to the old id.
    """
    instance_id = joining.request.group_instance_id
    assert instance_id is not None
    member = group.members[group.static_members[instance_id]]
    old_leader_id = group.leader_id
    rebalances.refuse_waiting(group, member, ErrorCode.FENCED_INSTANCE_ID, decision, member_id=member.member_id)
    undo = _replace(rebalances, group, member, joining, member_id)
    if group.state is not ClassicGroupState.STABLE or group.select_protocol() != group.protocol_name:
        group.wait_for_join(member, joining.waiting)
        rebalances.prepare_or_complete(group, decision)
        return
    group.find_subscribed_topics()
    fenced = list(decision.replies)

    def on_refused(error: ErrorCode) -> Sequence[Reply]:
        undo()
        return [*fenced, Reply(joining.token, join_error(joining.client.api_version, error))]

    decision.record = group_metadata_record(group)
    decision.on_refused = on_refused
    version = joining.client.api_version
    if version >= _FIRST_TO_SKIP_ASSIGNMENT:
        response = joined(version, group, member_id, skips_assignment=group.leader_id == member_id)
    else:
        # An assignment that it computed would be ignored: with its old id as the leader's, it computes none.
        response = joined(version, group, member_id, leader_id=old_leader_id)
    decision.answer(joining.waiting, response)


def _replace(
    rebalances: Rebalances, group: ClassicGroup, member: ClassicMember, joining: Joining, member_id: str
) -> Callable[[], None]:
    """Apply the new id and the request's fields; return a function that reverts both."""
    old_id, old_protocols = member.member_id, member.protocols
    old_timeouts_ms = member.rebalance_timeout_ms, member.session_timeout_ms

    def undo() -> None:
        rebalance_timeout_ms, session_timeout_ms = old_timeouts_ms
        group.update(
            member, old_protocols, rebalance_timeout_ms=rebalance_timeout_ms, session_timeout_ms=session_timeout_ms
        )
        rebalances.rename(group, member, old_id)
        group.find_subscribed_topics()

    rebalances.rename(group, member, member_id)
    group.update(
        member,
        joining.request.protocols,
        rebalance_timeout_ms=joining.rebalance_timeout_ms,
        session_timeout_ms=joining.request.session_timeout_ms,
    )
    return undo
