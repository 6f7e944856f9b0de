"""Groups of types that we do not coordinate: share and streams groups in a real broker's log.

They are listed, and their names cannot be reused; their records stay unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.records.record_type import GroupType, Part
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.coordinator.runtime.outcome import CoordinatorRecord


_OF_MEMBERS = (Part.MEMBER, Part.CURRENT_ASSIGNMENT)


class ForeignGroup:
    """Only its members are tracked: with members it counts as Stable, whatever its real state.

    Differs from Kafka: it can be neither joined nor deleted, and its offsets neither change nor expire.
    """

    def __init__(self, group_id: str, group_type: GroupType) -> None:
        self.group_id = group_id
        self.members: set[str] = set()
        self._type = group_type

    def replay(self, part: Part, member_id: str, *, is_tombstone: bool) -> None:
        """Replay a record other than the group's own tombstone."""
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
        """The name of the type, as Kafka lists it."""
        return self._type.value

    @property
    def is_empty(self) -> bool:
        """True without members."""
        return not self.members

    def commit_error(
        self,
        member_id: str,  # noqa: ARG002
        group_instance_id: str | None,  # noqa: ARG002
        generation_id: int,  # noqa: ARG002
        *,
        is_transactional: bool,  # noqa: ARG002
        version: int,  # noqa: ARG002
    ) -> ErrorCode:
        """Refuse: a share group has no offsets to commit, and epochs of streams group members are unknown."""
        return ErrorCode.GROUP_ID_NOT_FOUND if self._type is GroupType.SHARE else ErrorCode.UNKNOWN_MEMBER_ID

    def fetch_error(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Return NONE for a streams group if the request names no member."""
        if self._type is GroupType.SHARE:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.NONE if member_id is None and member_epoch < 0 else ErrorCode.UNKNOWN_MEMBER_ID

    def deletion_error(self) -> ErrorCode:
        """Return NON_EMPTY_GROUP, or UNSUPPORTED_VERSION for an empty group: not all of its records are known here."""
        return ErrorCode.NON_EMPTY_GROUP if self.members else ErrorCode.UNSUPPORTED_VERSION

    def is_subscribed_to(self, topic: str) -> bool:  # noqa: ARG002
        """Return True: its members' subscriptions are unknown."""
        return True

    def offsets_expire_since(self, topic: str, commit_timestamp_ms: int) -> int | None:  # noqa: ARG002
        """Return None: its offsets do not expire."""
        return None

    def deletion_records(self) -> Sequence[CoordinatorRecord]:
        """Return nothing: its records are left alone."""
        return ()
