"""A member of a consumer group, as the records of types 5 and 8 say it is."""

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
LEAVING_EPOCH: Final = -1
STATIC_LEAVING_EPOCH: Final = -2
"""A static member's epoch while it is away and its place is kept."""


class MemberState(enum.IntEnum):
    """How far a member is with its target assignment; numbers as in the records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    """It was told to give partitions back, and has not said that it did."""
    UNRELEASED_PARTITIONS = 2
    """It has all that was free; others have yet to give back the rest of its target."""
    UNKNOWN = 127


# Made anew with each step of a rebalance: `replace` of a dataclass of as many fields takes ten times as long.
class ConsumerGroupMember(msgspec.Struct, frozen=True, kw_only=True, eq=False):  # noqa: PLW1641 - owns any mapping
    """One member; epochs are 0 before its first assignment.

    `has_metadata`, `has_assignment`: whether the log has a value of type 5, of type 8, of it; a member needs but one.
    `classic_metadata`: what a member that uses the classic protocol said of itself; None for all others.
    Of `assigned` and `revoking` no partition is in both: the first it was told that it has, the second it was told to
    give back, and has not said that it did.
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
        """Say whether two are alike in all but what the log has of them."""
        if not isinstance(other, ConsumerGroupMember):
            return NotImplemented
        return _compared(self) == _compared(other)

    @property
    def uses_classic_protocol(self) -> bool:
        """Say whether it sends JoinGroup, SyncGroup and Heartbeat."""
        return self.classic_metadata is not None

    @property
    def classic_protocols(self) -> tuple[str, ...]:
        """The embedded assignors that a member of the classic protocol supports, the one it likes best first."""
        metadata = self.classic_metadata
        return () if metadata is None else tuple(protocol.name for protocol in metadata.supported_protocols)

    def is_reconciled_to(self, target_epoch: int) -> bool:
        """Say whether it has all of the target assignment of an epoch, and nothing else."""
        return self.state is MemberState.STABLE and self.member_epoch == target_epoch

    def with_metadata(self, value: ConsumerGroupMemberMetadataValue | None) -> ConsumerGroupMember:
        """Give the member as a record of type 5 makes it; None: a tombstone."""
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
        """Give the member as a record of type 8 makes it; None: a tombstone.

        A value of an unknown state makes the state UNKNOWN. One of 3.7, which has no state, has it in what is pending.
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


# The second is what a layout gives that does not have the field.
_NO_CLASSIC_METADATA: Final = (None, ClassicMemberMetadata())


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
    """Releases before 4.3 wrote no epochs; then all were got at the member's epoch, as Kafka reads it."""
    owned: dict[bytes, dict[int, int]] = {}
    for topic in topics:
        epochs = topic.assignment_epochs or ()
        if len(epochs) == len(topic.partitions):
            owned[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
        else:
            owned[topic.topic_id] = dict.fromkeys(topic.partitions, member_epoch)
    return owned
