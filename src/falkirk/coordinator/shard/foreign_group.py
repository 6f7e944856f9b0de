"""Groups of types that we do not coordinate: share and streams groups that stand in a real broker's log.

They are known, so that they are listed and nobody takes their names; their records stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.record_type import GroupType, Part
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.coordinator.shard.outcome import CoordinatorRecord


class ForeignGroup:
    """Its members are all that is known of it: with members it counts as Stable, whatever its own state may be.

    Differs from Kafka: it can be neither joined nor deleted, and its offsets neither change nor expire.
    """

    def __init__(self, group_id: str, group_type: GroupType) -> None:
        self.group_id = group_id
        self.members: set[str] = set()
        self._type = group_type

    def replay(self, part: Part, member_id: str, *, is_tombstone: bool) -> None:
        """Take a record other than the group's own tombstone."""
        if is_tombstone and part is Part.MEMBER:
            self.members.discard(member_id)
        elif not is_tombstone and part in _OF_MEMBERS:
            self.members.add(member_id)

    @property
    def type(self) -> GroupType:
        """SHARE or STREAMS."""
        return self._type

    @property
    def state_name(self) -> str:
        """`Empty` or `Stable`."""
        return "Stable" if self.members else "Empty"

    @property
    def protocol_type(self) -> str:
        """As Kafka lists it: the type's name."""
        return self._type.value

    @property
    def is_empty(self) -> bool:
        """Say whether it has no member."""
        return not self.members

    def why_commit_refused(
        self,
        member_id: str,  # noqa: ARG002
        group_instance_id: str | None,  # noqa: ARG002
        generation_id: int,  # noqa: ARG002
        *,
        is_transactional: bool,  # noqa: ARG002
        version: int,  # noqa: ARG002
    ) -> ErrorCode:
        """Refuse: a share group has no offsets to commit, and of a streams group's members no epoch is known."""
        return ErrorCode.GROUP_ID_NOT_FOUND if self._type is GroupType.SHARE else ErrorCode.UNKNOWN_MEMBER_ID

    def why_fetch_refused(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Give NONE for a streams group, to who does not say that it is a member."""
        if self._type is GroupType.SHARE:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.NONE if member_id is None and member_epoch < 0 else ErrorCode.UNKNOWN_MEMBER_ID

    def why_not_deletable(self) -> ErrorCode:
        """Give NON_EMPTY_GROUP, or UNSUPPORTED_VERSION for an empty one: nobody here knows all of its records."""
        return ErrorCode.NON_EMPTY_GROUP if self.members else ErrorCode.UNSUPPORTED_VERSION

    def is_subscribed_to(self, topic: str) -> bool:  # noqa: ARG002
        """Say that it may be: what its members read is not known."""
        return True

    def offsets_expire_since(self, topic: str, commit_timestamp_ms: int) -> int | None:  # noqa: ARG002
        """Say that they do not expire."""
        return None

    def deletion_records(self) -> Sequence[CoordinatorRecord]:
        """Give nothing: its records are left alone."""
        return ()


_OF_MEMBERS = (Part.MEMBER, Part.CURRENT_ASSIGNMENT)
