"""A member of a consumer group, as its records of types 5 and 8 define it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from falkirk.protocol.messages.consumer_group_member_metadata_value import ClassicMemberMetadata

if TYPE_CHECKING:
    from falkirk.protocol.messages import (
        ConsumerGroupCurrentMemberAssignmentValue,
        ConsumerGroupMemberMetadataValue,
    )
    from falkirk.protocol.messages.consumer_group_current_member_assignment_value import TopicPartitions

# Of each topic (by id) its partitions, with the epoch at which the member got each. It is never changed once made.
OwnedPartitions = Mapping[bytes, Mapping[int, int]]

NOTHING_OWNED: Final[OwnedPartitions] = {}

JOINING_EPOCH: Final = 0
STATIC_LEAVING_EPOCH: Final = -2
"""The epoch of a static member that left temporarily."""


# The second is what a layout gives that does not have the field.
_NO_CLASSIC_METADATA: Final = (None, ClassicMemberMetadata())


class MemberState(enum.IntEnum):
    """A member's progress towards its target assignment; numbers as in the records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    """It was told to revoke partitions, and has not confirmed that."""
    UNRELEASED_PARTITIONS = 2
    """It owns all that was free; other members have yet to revoke the rest of its target."""
    UNKNOWN = 127


# Created with each step of a rebalance: `replace` of a dataclass with as many fields takes ten times as long.
class ConsumerGroupMember(msgspec.Struct, frozen=True, kw_only=True, eq=False):  # noqa: PLW1641 - owns any mapping
    """One member; epochs are 0 before its first assignment.

    `has_metadata`, `has_assignment`: whether the log has its value of type 5, of type 8; a member needs only one.
    `classic_metadata`: what a member of the classic protocol sent; None for all others. No partition is in both
    `assigned`, which it was told that it owns, and `revoking`, whose revocation it has not confirmed.
    """

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topics: frozenset[str] = frozenset()
    subscribed_regex: str = ""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    classic_metadata: ClassicMemberMetadata | None = None
    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: OwnedPartitions = {}
    revoking: OwnedPartitions = {}
    has_metadata: bool = False
    has_assignment: bool = False

    def __eq__(self, other: object) -> bool:
        """Compare all but `has_metadata` and `has_assignment`."""
        if not isinstance(other, ConsumerGroupMember):
            return NotImplemented
        return _compared(self) == _compared(other)

    @property
    def uses_classic_protocol(self) -> bool:
        """True if it sends JoinGroup, SyncGroup and Heartbeat."""
        return self.classic_metadata is not None

    @property
    def classic_protocols(self) -> tuple[str, ...]:
        """The embedded assignors that a member of the classic protocol supports, in order of preference."""
        metadata = self.classic_metadata
        return () if metadata is None else tuple(protocol.name for protocol in metadata.supported_protocols)

    def is_reconciled_to(self, target_epoch: int) -> bool:
        """Return whether it owns exactly the target assignment of an epoch."""
        return self.state is MemberState.STABLE and self.member_epoch == target_epoch

    def with_metadata(self, value: ConsumerGroupMemberMetadataValue | None) -> ConsumerGroupMember:
        """Return the member after a record of type 5; None: a tombstone."""
        if value is None:
            return replace(ConsumerGroupMember(member_id=self.member_id), **_assignment_of(self))
        return replace(
            self,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            subscribed_topics=frozenset(value.subscribed_topic_names),
            subscribed_regex=value.subscribed_topic_regex or "",
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            server_assignor=value.server_assignor,
            classic_metadata=None
            if value.classic_member_metadata in _NO_CLASSIC_METADATA
            else value.classic_member_metadata,
            has_metadata=True,
        )

    def with_assignment(self, value: ConsumerGroupCurrentMemberAssignmentValue | None) -> ConsumerGroupMember:
        """Return the member after a record of type 8; None: a tombstone.

        An unknown state becomes UNKNOWN. Values of 3.7 have no state: it follows from what is pending.
        """
        if value is None:
            return replace(
                self,
                member_epoch=0,
                previous_member_epoch=0,
                state=MemberState.STABLE,
                assigned=NOTHING_OWNED,
                revoking=NOTHING_OWNED,
                has_assignment=False,
            )
        return replace(
            self,
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=_state_of(value),
            assigned=_owned(value.assigned_partitions, value.member_epoch),
            revoking=_owned(value.partitions_pending_revocation, value.member_epoch),
            has_assignment=True,
        )


def _compared(member: ConsumerGroupMember) -> tuple[object, ...]:
    # The last two are what the log has.
    return msgspec.structs.astuple(member)[:-2]


def _assignment_of(member: ConsumerGroupMember) -> dict[str, object]:
    names = ("member_epoch", "previous_member_epoch", "state", "assigned", "revoking", "has_assignment")
    return {name: getattr(member, name) for name in names}


def _state_of(value: ConsumerGroupCurrentMemberAssignmentValue) -> MemberState:
    if value.state == MemberState.STABLE:
        if value.partitions_pending_revocation:
            return MemberState.UNREVOKED_PARTITIONS
        return MemberState.UNRELEASED_PARTITIONS if value.partitions_pending_assignment else MemberState.STABLE
    try:
        return MemberState(value.state)
    except ValueError:
        return MemberState.UNKNOWN


def _owned(topics: list[TopicPartitions], member_epoch: int) -> dict[bytes, dict[int, int]]:
    """Return partitions with epochs; releases before 4.3 wrote none, and Kafka then uses the member's epoch."""
    owned: dict[bytes, dict[int, int]] = {}
    for topic in topics:
        epochs = topic.assignment_epochs or ()
        if len(epochs) == len(topic.partitions):
            owned[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
        else:
            owned[topic.topic_id] = dict.fromkeys(topic.partitions, member_epoch)
    return owned
