"""The interface of an assignor: the group it is given and the assignment it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.uuid import uuid_text

# Partitions by topic id; no topic without partitions. It is never changed once it is made.
Assignment = Mapping[bytes, frozenset[int]]

NO_PARTITIONS: Final[Assignment] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSpec:
    """A member: its subscribed topics (ids of 16 bytes), all of which exist, and its previous target assignment."""

    subscribed_topic_ids: frozenset[bytes]
    target_assignment: Assignment = field(default_factory=dict)
    instance_id: str | None = None
    rack_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSpec:
    """The members by id, in an order that is the same from one assignment to the next, and their topics.

    `partition_counts`: by topic id, at least for every topic that a member subscribes to.
    """

    members: Mapping[str, MemberSpec]
    partition_counts: Mapping[bytes, int]

    @property
    def is_homogeneous(self) -> bool:
        """True if all members subscribe to the same topics."""
        return len({member.subscribed_topic_ids for member in self.members.values()}) <= 1

    def partitions_of(self, topic_id: bytes) -> int:
        """Return the number of a topic's partitions. Raises UnknownTopicError."""
        count = self.partition_counts.get(topic_id)
        if count is None:
            raise UnknownTopicError(topic_id)
        return count

    def kept_by(self, member: MemberSpec) -> Assignment:
        """Return what a member may keep of its previous assignment: existing partitions of subscribed topics.

        The very same object if that is all of it. Raises UnknownTopicError.
        """
        old = member.target_assignment
        kept = {
            topic_id: partitions
            for topic_id, partitions in old.items()
            if topic_id in member.subscribed_topic_ids and max(partitions) < self.partitions_of(topic_id)
        }
        if len(kept) == len(old):
            return old
        # A broker may know less of the topics than the one that led the group before it.
        for topic_id in member.subscribed_topic_ids & old.keys() - kept.keys():
            known = old[topic_id].intersection(range(self.partitions_of(topic_id)))
            if known:
                kept[topic_id] = known
        return kept


class Assignor(Protocol):
    """Source: KIP-848, server-side assignors (Kafka's ConsumerGroupPartitionAssignor)."""

    @property
    def name(self) -> str:
        """The name by which members and `group.consumer.assignors` refer to it."""
        ...

    def assign(self, group: GroupSpec) -> Mapping[str, Assignment]:
        """Return each member's partitions by member id; an unchanged assignment may be the very same object.

        Every partition of a topic with a subscriber has exactly one owner. Raises UnknownTopicError.
        """
        ...


class UnknownTopicError(Exception):
    """A member subscribes to a topic that the spec does not describe.

    Source: Kafka's PartitionAssignorException.
    """

    error_code = ErrorCode.UNKNOWN_SERVER_ERROR

    def __init__(self, topic_id: bytes) -> None:
        self.topic_id = topic_id
        super().__init__(f"a member reads topic {uuid_text(topic_id)}, of which nothing is known")
