"""The interface of groups of all types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.coordinator.records.record_type import GroupType
    from falkirk.coordinator.runtime.outcome import CoordinatorRecord
    from falkirk.protocol.error_codes import ErrorCode


class Group(Protocol):
    """A group of any type, as the shard, its offsets and lists see it (Kafka's Group)."""

    group_id: str

    @property
    def type(self) -> GroupType:
        """CLASSIC, CONSUMER ... A group that only holds offsets is CLASSIC, without a protocol type."""
        ...

    @property
    def state_name(self) -> str:
        """The state as Kafka lists it: `Empty`, `Stable`, `PreparingRebalance`, `Assigning` ..."""
        ...

    @property
    def protocol_type(self) -> str:
        """`consumer`, or the classic members' protocol type; empty for a group that only holds offsets."""
        ...

    @property
    def is_empty(self) -> bool:
        """True without members (`Empty`, or `Dead`)."""
        ...

    def commit_error(
        self, member_id: str, group_instance_id: str | None, generation_id: int, *, is_transactional: bool, version: int
    ) -> ErrorCode:
        """Return the error of an offset commit: NONE, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, STALE_MEMBER_EPOCH ...

        `generation_id` is the member epoch in a consumer group.
        """
        ...

    def fetch_error(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Return the error of an offset fetch (requests name a member from v9 on): NONE, UNKNOWN_MEMBER_ID ..."""
        ...

    def deletion_error(self) -> ErrorCode:
        """Return the error of DeleteGroups: NONE, NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND (a dead group)."""
        ...

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether a member subscribes to a topic; if that is unknown, whether the group has members."""
        ...

    def offsets_expire_since(self, topic: str, commit_timestamp_ms: int) -> int | None:
        """Return when (ms) the retention of a committed offset starts; None: it does not expire now (KIP-211)."""
        ...

    def deletion_records(self) -> Sequence[CoordinatorRecord]:
        """Return the tombstones of all records of the group itself, without its offsets."""
        ...
