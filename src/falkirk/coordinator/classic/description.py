"""DescribeGroups (key 15), v0-6: one group of the response. Version notes: from v6 on a missing group is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.classic.state import ClassicGroupState
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages.describe_groups_response import DescribedGroup, DescribedGroupMember

if TYPE_CHECKING:
    from falkirk.coordinator.runtime.group import Group


_FIRST_WITH_ERRORS = 6


def describe(group_id: str, group: Group | None, api_version: int) -> DescribedGroup:
    """Describe a group; a missing one, or one of another type, is Dead. Only a Stable one includes subscriptions."""
    if not isinstance(group, ClassicGroup):
        what = "not found" if group is None else "is not a classic group"
        is_error = api_version >= _FIRST_WITH_ERRORS
        return DescribedGroup(
            error_code=ErrorCode.GROUP_ID_NOT_FOUND if is_error else ErrorCode.NONE,
            error_message=f"Group {group_id} {what}." if is_error else None,
            group_id=group_id,
            group_state=ClassicGroupState.DEAD.value,
        )
    is_stable = group.state is ClassicGroupState.STABLE
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state_name,
        protocol_type=group.protocol_type,
        protocol_data=(group.protocol_name or "") if is_stable else "",
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(group.protocol_name) if is_stable else b"",
                member_assignment=member.assignment,
            )
            for member in group.members.values()
        ],
    )
