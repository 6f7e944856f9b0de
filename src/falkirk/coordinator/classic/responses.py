"""Responses to JoinGroup, SyncGroup and LeaveGroup, in every version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.messages import JoinGroupResponse, LeaveGroupResponse, SyncGroupResponse
from falkirk.protocol.messages.join_group_response import JoinGroupResponseMember

if TYPE_CHECKING:
    from falkirk.coordinator.classic.group import ClassicGroup
    from falkirk.coordinator.classic.member import ClassicMember
    from falkirk.protocol.error_codes import ErrorCode
    from falkirk.protocol.messages.leave_group_response import MemberResponse


_LAST_WITH_ONE_MEMBER = 2
_FIRST_WITHOUT_PROTOCOL = 7


def join_error(api_version: int, error: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    """Refuse a JoinGroup; an empty member id makes the client start over without one."""
    return JoinGroupResponse(error_code=error, member_id=member_id, protocol_name=_protocol_name(api_version, None))


def joined(
    api_version: int,
    group: ClassicGroup,
    member_id: str,
    *,
    leader_id: str | None = None,
    skips_assignment: bool = False,
) -> JoinGroupResponse:
    """Return a member's response for the group's generation; the leader's lists all members.

    `leader_id`: named in place of the group's leader, so that the member does not act as leader.
    """
    leader_id = group.leader_id if leader_id is None else leader_id
    return JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type or None,
        protocol_name=_protocol_name(api_version, group.protocol_name),
        leader=leader_id,
        skip_assignment=skips_assignment,
        member_id=member_id,
        members=_members(group) if leader_id == member_id else [],
    )


def sync_error(error: ErrorCode) -> SyncGroupResponse:
    """Refuse a SyncGroup."""
    return SyncGroupResponse(error_code=error)


def synced(group: ClassicGroup, member: ClassicMember) -> SyncGroupResponse:
    """Return the response with a member's assignment."""
    return SyncGroupResponse(
        protocol_type=group.protocol_type or None, protocol_name=group.protocol_name, assignment=member.assignment
    )


def left(api_version: int, members: list[MemberResponse]) -> LeaveGroupResponse:
    """Return the response to a LeaveGroup; up to version 2 it has one member, whose error is the response's."""
    if api_version > _LAST_WITH_ONE_MEMBER:
        return LeaveGroupResponse(members=members)
    return LeaveGroupResponse(error_code=members[0].error_code)


def leave_error(error: ErrorCode) -> LeaveGroupResponse:
    """Refuse a LeaveGroup as a whole."""
    return LeaveGroupResponse(error_code=error)


def _protocol_name(api_version: int, name: str | None) -> str | None:
    """Return the name as a version encodes it: null only from version 7 on, empty only before."""
    if api_version >= _FIRST_WITHOUT_PROTOCOL:
        return name or None
    return name or ""


def _members(group: ClassicGroup) -> list[JoinGroupResponseMember]:
    return [
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            metadata=member.metadata(group.protocol_name),
        )
        for member in group.members.values()
    ]
