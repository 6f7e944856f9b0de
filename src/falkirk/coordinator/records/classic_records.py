"""The one record of a classic group (type 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.shard.outcome import CoordinatorRecord
from falkirk.protocol.messages import GroupMetadataKey, GroupMetadataValue
from falkirk.protocol.messages.group_metadata_value import MemberMetadata

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.coordinator.classic.group import ClassicGroup
    from falkirk.coordinator.classic.member import ClassicMember

GROUP_METADATA_VERSION: Final = 3
"""What every release with KRaft writes at any of its levels: 4 is the same with tagged fields, and for readers only."""


def group_metadata_record(group: ClassicGroup, *, assignments: Mapping[str, bytes] | None = None) -> CoordinatorRecord:
    """Write a group down as it is, Stable or Empty; `assignments`: by member id, those that it is about to have."""
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


def group_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """Delete a group."""
    return CoordinatorRecord(GroupMetadataKey(group=group_id))


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


_NO_TIMESTAMP = -1
