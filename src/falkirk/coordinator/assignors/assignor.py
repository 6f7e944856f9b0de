"""What an assignor is told about a group, and what it gives."""

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
    """A member: the topics (ids of 16 bytes) it reads, all of which exist, and what it was to own until now."""

    subscribed_topic_ids: frozenset[bytes]
    target_assignment: Assignment = field(default_factory=dict)
    instance_id: str | None = None
    rack_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSpec:
    """The members by id, in an order that stays the same from one assignment to the next, and their topics.

    `partition_counts`: of each topic (by id) that a member reads; of others, too, if that is easier.
    """

    members: Mapping[str, MemberSpec]
    partition_counts: Mapping[bytes, int]

    @property
    def is_homogeneous(self) -> bool:
        """Say whether all members read the same topics."""
        return len({member.subscribed_topic_ids for member in self.members.values()}) <= 1

    def partitions_of(self, topic_id: bytes) -> int:
        """Give how many partitions a topic has. Raises UnknownTopicError."""
        count = self.partition_counts.get(topic_id)
        if count is None:
            raise UnknownTopicError(topic_id)
        return count

    def kept_by(self, member: MemberSpec) -> Assignment:
        """Give what of its old partitions a member may keep: of topics it reads, as far as they are known to exist.

        All of it is the very same object. Raises UnknownTopicError.
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
        """The name that members and `group.consumer.assignors` give it."""
        ...

    def assign(self, group: GroupSpec) -> Mapping[str, Assignment]:
        """Give each member (by id) its partitions; a member whose partitions stay may get the very same object.

        A partition of a topic that some member reads has exactly one owner. Raises UnknownTopicError.
        """
        ...


class UnknownTopicError(Exception):
    """A member's topic is not among those that are described: whoever made the spec did not look them up.

    Source: Kafka's PartitionAssignorException.
    """

    error_code = ErrorCode.UNKNOWN_SERVER_ERROR

    def __init__(self, topic_id: bytes) -> None:
        self.topic_id = topic_id
        super().__init__(f"a member reads topic {uuid_text(topic_id)}, of which nothing is known")
