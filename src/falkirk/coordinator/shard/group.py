"""What groups of all types have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.coordinator.record_type import GroupType
    from falkirk.coordinator.shard.outcome import CoordinatorRecord
    from falkirk.protocol.error_codes import ErrorCode


class Group(Protocol):
    """A group of any type as the shard, its offsets and its lists see it (Kafka's Group)."""

    group_id: str

    @property
    def type(self) -> GroupType:
        """CLASSIC, CONSUMER ... A group that holds but offsets is CLASSIC, without a protocol type."""
        ...

    @property
    def state_name(self) -> str:
        """The state as Kafka lists it: `Empty`, `Stable`, `PreparingRebalance`, `Assigning` ..."""
        ...

    @property
    def protocol_type(self) -> str:
        """`consumer`, or what classic members said; empty for a group that holds but offsets."""
        ...

    @property
    def is_empty(self) -> bool:
        """Say whether it has no member (`Empty`, or `Dead`)."""
        ...

    def why_commit_refused(
        self, member_id: str, group_instance_id: str | None, generation_id: int, *, is_transactional: bool, version: int
    ) -> ErrorCode:
        """Say whether a member may commit offsets: NONE, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, STALE_MEMBER_EPOCH ...

        `generation_id` is the member's epoch in a consumer group.
        """
        ...

    def why_fetch_refused(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Say whether a member may fetch offsets (OffsetFetch from v9 names one): NONE, UNKNOWN_MEMBER_ID ..."""
        ...

    def why_not_deletable(self) -> ErrorCode:
        """Say whether DeleteGroups may delete it: NONE, NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND (a dead one)."""
        ...

    def is_subscribed_to(self, topic: str) -> bool:
        """Say whether a member, as far as is known, reads a topic; without knowing: True for a group with members."""
        ...

    def offsets_expire_since(self, topic: str, commit_timestamp_ms: int) -> int | None:
        """Give from when the retention of a committed offset counts (ms); None: it does not expire now (KIP-211)."""
        ...

    def deletion_records(self) -> Sequence[CoordinatorRecord]:
        """Give the tombstones of all that the group itself has in the log; its offsets are not its own."""
        ...
