"""The record of a classic group (type 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.runtime.outcome import CoordinatorRecord
from falkirk.protocol.messages import GroupMetadataKey, GroupMetadataValue
from falkirk.protocol.messages.group_metadata_value import MemberMetadata

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.coordinator.classic.group import ClassicGroup
    from falkirk.coordinator.classic.member import ClassicMember

GROUP_METADATA_VERSION: Final = 3
"""The version that every KRaft release writes at any level; version 4 only adds tagged fields and is only ever read."""


_NO_TIMESTAMP = -1


def group_metadata_record(group: ClassicGroup, *, assignments: Mapping[str, bytes] | None = None) -> CoordinatorRecord:
    """Return the record of a Stable or Empty group. `assignments`: by member id, unless they are the members' own."""
    members = []
    for member_id, member in group.members.items():
        assignment = member.assignment if assignments is None else assignments[member_id]
        members.append(_member(member, member.metadata(group.protocol_name), assignment))
    value = GroupMetadataValue(
        protocol_type=group.protocol_type,
        generation=group.generation_id,
        protocol=group.protocol_name,
        leader=group.leader_id or None,
        current_state_timestamp=_NO_TIMESTAMP
        if group.current_state_timestamp_ms is None
        else group.current_state_timestamp_ms,
        members=members,
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value, GROUP_METADATA_VERSION)


def _member(member: ClassicMember, subscription: bytes, assignment: bytes) -> MemberMetadata:
    return MemberMetadata(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms,
        subscription=subscription,
        assignment=assignment,
    )
