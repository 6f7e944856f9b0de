"""LeaveGroup (key 13), v0-5, of classic groups.

Version notes: up to v2 one member leaves; from v3 on several, a static one also by its instance id alone (KIP-345).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.classic.responses import leave_error, left
from falkirk.coordinator.runtime.outcome import Reply
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages.leave_group_request import MemberIdentity
from falkirk.protocol.messages.leave_group_response import MemberResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.coordinator.classic.decision import Decision
    from falkirk.coordinator.classic.group import ClassicGroup
    from falkirk.coordinator.classic.member import WaitingRequest
    from falkirk.coordinator.classic.rebalances import Rebalances
    from falkirk.protocol.messages import LeaveGroupRequest


_LAST_WITH_ONE_MEMBER = 2


class Leaves:
    """Removes members from groups on request."""

    def __init__(self, rebalances: Rebalances) -> None:
        self._rebalances = rebalances

    def leave(
        self, group: ClassicGroup | None, request: LeaveGroupRequest, waiting: WaitingRequest, decision: Decision
    ) -> None:
        """Apply a LeaveGroup: each member gets its own result; without a group none is known."""
        if not request.group_id:
            decision.answer(waiting, leave_error(ErrorCode.INVALID_GROUP_ID))
            return
        responses = [
            MemberResponse(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                error_code=ErrorCode.UNKNOWN_MEMBER_ID
                if group is None
                else self._remove_member(group, member, decision),
            )
            for member in leaving_members(request, waiting.api_version)
        ]
        if group is not None and any(response.error_code == ErrorCode.NONE for response in responses):
            self._go_on(group, decision)
        others = list(decision.replies)

        def on_refused(error: ErrorCode) -> Sequence[Reply]:
            return [*others, Reply(waiting.token, leave_error(error))]

        decision.answer(waiting, left(waiting.api_version, responses))
        decision.on_refused = on_refused

    def _remove_member(self, group: ClassicGroup, leaving: MemberIdentity, decision: Decision) -> ErrorCode:
        member_id = leaving.member_id
        if member_id in group.pending_joins:
            self._rebalances.forget(group, member_id)
            return ErrorCode.NONE
        if not member_id:
            # An operator takes out a static member without knowing its member id.
            member_id = group.static_members.get(leaving.group_instance_id or "", "")
        error = group.member_error(member_id, leaving.group_instance_id)
        if error is ErrorCode.NONE:
            self._rebalances.remove(group, group.members[member_id], decision)
        return error

    def _go_on(self, group: ClassicGroup, decision: Decision) -> None:
        """Rebalance the remaining members; a group that no member has joined yet stays as it is."""
        if not group.is_empty:
            self._rebalances.prepare_or_complete(group, decision)


def leaving_members(request: LeaveGroupRequest, api_version: int) -> Sequence[MemberIdentity]:
    """Return the members that leave, in any version."""
    if api_version > _LAST_WITH_ONE_MEMBER:
        return request.members
    return (MemberIdentity(member_id=request.member_id),)
