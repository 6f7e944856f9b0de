"""A consumer group as its records (types 3 to 8, and 16) define it, with the indexes derived from them.

The last value of each key counts, in whatever order records come: any log that compaction may leave gives the same
group. A group or a member exists as long as the log has any value of it; tombstones of unknown keys change nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.assignors.assignor import NO_PARTITIONS
from falkirk.coordinator.consumer import consumer_records
from falkirk.coordinator.consumer.member import ConsumerGroupMember, MemberState
from falkirk.coordinator.records.record_type import GroupType
from falkirk.protocol.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.coordinator.assignors.assignor import Assignment
    from falkirk.coordinator.runtime.outcome import CoordinatorRecord
    from falkirk.coordinator.runtime.topics import TopicPartitionCount


# OffsetCommit v9 is the first version that distinguishes epochs from generations.
_FIRST_OFFSET_COMMIT_VERSION: Final = 9
# What a transactional producer says that names no member.
_NO_MEMBER: Final = ("", None, -1)


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics that a regular expression matched, at which end offset of the metadata, and when."""

    topics: frozenset[str]
    version: int = -1
    timestamp_ms: int = -1


class ConsumerGroup:
    """Its state is changed only by the methods that replay calls: `update_member` down to `set_regex`.

    `first_epoch`: that of the group and of its target while the log has no record of them, as
    `GroupSettings.new_consumer_group_epoch`.
    """

    def __init__(self, group_id: str, *, first_epoch: int) -> None:
        self.group_id = group_id
        self.group_epoch = first_epoch
        self._first_epoch = first_epoch
        self.metadata_hash = 0
        self.target_epoch = first_epoch
        self.target_timestamp_ms = 0
        self.members: dict[str, ConsumerGroupMember] = {}
        self.target: dict[str, Assignment] = {}
        # None: the log has no record of type 4.
        self.subscription_metadata: Mapping[str, TopicPartitionCount] | None = None
        self.resolved_regexes: dict[str, ResolvedRegex] = {}
        # Whose each instance id is.
        self.static_members: dict[str, str] = {}
        # How many members ask for each, by what they ask for.
        self.topic_subscribers: Counter[str] = Counter()
        self.regex_subscribers: Counter[str] = Counter()
        self.server_assignors: Counter[str] = Counter()
        self.classic_protocols: Counter[str] = Counter()
        self.classic_member_count = 0
        # Who was the last to be given a partition: by topic id, then by partition.
        self.owners: dict[bytes, dict[int, str]] = {}
        self._has_epoch = False
        self._has_target_epoch = False
        # Not in the log: when to compare the subscribed topics with the metadata again (0: at once), and the epoch of
        # the last comparison, if its records were written; when, and at which end offset of the metadata, all regular
        # expressions were last evaluated without a change.
        self.metadata_refresh_due_ms = 0
        self.metadata_refresh_epoch = 0
        self.regexes_refreshed = ResolvedRegex(frozenset())

    # What any group has (shard/group.py).

    @property
    def type(self) -> GroupType:
        """CONSUMER."""
        return GroupType.CONSUMER

    @property
    def state_name(self) -> str:
        """`Empty`, `Assigning`, `Reconciling` or `Stable`; a group that does not exist is described as `Dead`."""
        if not self.members:
            return "Empty"
        if self.group_epoch > self.target_epoch:
            return "Assigning"
        is_stable = all(member.is_reconciled_to(self.target_epoch) for member in self.members.values())
        return "Stable" if is_stable else "Reconciling"

    @property
    def protocol_type(self) -> str:
        """`consumer`."""
        return CONSUMER_PROTOCOL_TYPE

    @property
    def is_empty(self) -> bool:
        """True without members."""
        return not self.members

    def commit_error(
        self, member_id: str, group_instance_id: str | None, generation_id: int, *, is_transactional: bool, version: int
    ) -> ErrorCode:
        """Return the error of a commit at a member epoch; into an empty group others (epoch < 0) may commit, too.

        For a past epoch, but not one before a partition was assigned, ask `partition_commit_error` (KIP-1251).
        """
        if generation_id < 0 and not self.members:
            return ErrorCode.NONE
        if is_transactional and (member_id, group_instance_id, generation_id) == _NO_MEMBER:
            return ErrorCode.NONE
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if not is_transactional and not member.uses_classic_protocol and version < _FIRST_OFFSET_COMMIT_VERSION:
            return ErrorCode.UNSUPPORTED_VERSION
        return _epoch_error(member, generation_id)

    def partition_commit_error(self, member_id: str, epoch: int, topic_id: bytes, partition: int) -> ErrorCode:
        """Return the error of a commit at a past epoch: NONE for partitions assigned by then and still owned.

        To be called where `commit_error` returns STALE_MEMBER_EPOCH or ILLEGAL_GENERATION, from 4.3 on.
        """
        member = self.members[member_id]
        refused = _epoch_error(member, epoch)
        if epoch >= member.member_epoch:
            return refused
        for owned in (member.assigned, member.revoking):
            owned_since = owned.get(topic_id, {}).get(partition)
            if owned_since is not None:
                return ErrorCode.NONE if epoch >= owned_since else refused
        return refused

    def fetch_error(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Return the error of a member's OffsetFetch; a request that names no member is allowed."""
        if member_id is None and member_epoch < 0:
            return ErrorCode.NONE
        member = self.members.get(member_id or "")
        return ErrorCode.UNKNOWN_MEMBER_ID if member is None else _epoch_error(member, member_epoch)

    def deletion_error(self) -> ErrorCode:
        """Return NON_EMPTY_GROUP while the group has members."""
        return ErrorCode.NON_EMPTY_GROUP if self.members else ErrorCode.NONE

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether a member subscribes to a topic, by name or by regular expression."""
        if topic in self.topic_subscribers:
            return True
        resolved = self.resolved_regexes
        return any(topic in resolved[regex].topics for regex in self.regex_subscribers if regex in resolved)

    def offsets_expire_since(self, topic: str, commit_timestamp_ms: int) -> int | None:
        """Offsets of topics without a subscriber expire, counted from their commit."""
        return None if self.is_subscribed_to(topic) else commit_timestamp_ms

    def deletion_records(self) -> list[CoordinatorRecord]:
        """Return tombstones of all keys with a value, in an order that every Kafka release can replay.

        Types 3 and 6 are always included: Kafka removes a group only by these.
        """
        group_id = self.group_id
        records = [
            consumer_records.current_assignment_tombstone(group_id, member_id)
            for member_id, member in self.members.items()
            if member.has_assignment
        ]
        records += [consumer_records.target_assignment_tombstone(group_id, member_id) for member_id in self.target]
        records.append(consumer_records.target_epoch_tombstone(group_id))
        records += [
            consumer_records.member_tombstone(group_id, member_id)
            for member_id, member in self.members.items()
            if member.has_metadata
        ]
        records += [consumer_records.regex_tombstone(group_id, regex) for regex in self.resolved_regexes]
        if self.subscription_metadata is not None:
            records.append(consumer_records.partition_metadata_tombstone(group_id))
        records.append(consumer_records.group_epoch_tombstone(group_id))
        return records

    # What heartbeats and conversions ask.

    def static_member(self, instance_id: str | None) -> ConsumerGroupMember | None:
        """Return the member with an instance id."""
        member_id = None if instance_id is None else self.static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def target_of(self, member_id: str) -> Assignment:
        """Return a member's target assignment."""
        return self.target.get(member_id, NO_PARTITIONS)

    def owner_of(self, topic_id: bytes, partition: int) -> str | None:
        """Return the member that owns a partition, or that has not yet confirmed its revocation."""
        return self.owners.get(topic_id, {}).get(partition)

    def is_refresh_due(self, now_ms: int) -> bool:
        """Return whether to compare the subscribed topics with the metadata, though no member changed.

        That is so periodically, after a topic changed, and when the records of the last refresh could not be written.
        """
        return now_ms >= self.metadata_refresh_due_ms or self.group_epoch < self.metadata_refresh_epoch

    def is_waiting_for_partitions(self, member: ConsumerGroupMember) -> bool:
        """Return whether a member lacks a partition of its target that another member still owns."""
        if member.state is not MemberState.UNRELEASED_PARTITIONS:
            return False
        return any(
            self.owner_of(topic_id, partition) is not None
            for topic_id, partitions in self.target_of(member.member_id).items()
            for partition in partitions.difference(member.assigned.get(topic_id, ()))
        )

    def supports_classic_protocols(self, protocol_type: str, protocols: Iterable[str]) -> bool:
        """Return whether a member of the classic protocol may join with its embedded assignors.

        All members of that protocol, if there are any, must support one of them.
        """
        if protocol_type != CONSUMER_PROTOCOL_TYPE:
            return False
        names = list(protocols)
        if not self.members:
            return bool(names)
        return any(self.classic_protocols[name] == self.classic_member_count for name in names)

    # How records change it.

    @property
    def has_records(self) -> bool:
        """True if the replayed log has any value of the group."""
        return (
            self._has_epoch
            or self._has_target_epoch
            or self.subscription_metadata is not None
            or bool(self.members or self.target or self.resolved_regexes)
        )

    def update_member(self, member: ConsumerGroupMember) -> None:
        """Replace a member; one without a record of either type is removed."""
        before = self.members.get(member.member_id)
        is_there = member.has_metadata or member.has_assignment
        self._count(before, member if is_there else None)
        if before is not None:
            self._disown(before)
        if is_there:
            self.members[member.member_id] = member
            for owned in (member.assigned, member.revoking):
                for topic_id, partitions in owned.items():
                    self.owners.setdefault(topic_id, {}).update(dict.fromkeys(partitions, member.member_id))
        else:
            self.members.pop(member.member_id, None)

    def set_epoch(self, epoch: int | None, metadata_hash: int = 0) -> None:
        """Replay a record of type 3; None: its tombstone."""
        self._has_epoch = epoch is not None
        self.group_epoch = self._first_epoch if epoch is None else epoch
        self.metadata_hash = metadata_hash

    def set_target_epoch(self, epoch: int | None, timestamp_ms: int = 0) -> None:
        """Replay a record of type 6; None: its tombstone."""
        self._has_target_epoch = epoch is not None
        self.target_epoch = self._first_epoch if epoch is None else epoch
        self.target_timestamp_ms = timestamp_ms

    def set_target(self, member_id: str, assignment: Assignment | None) -> None:
        """Replay a record of type 7; None: its tombstone."""
        if assignment is None:
            self.target.pop(member_id, None)
        else:
            self.target[member_id] = assignment

    def set_regex(self, regex: str, resolved: ResolvedRegex | None) -> None:
        """Replay a record of type 16; None: its tombstone."""
        if resolved is None:
            self.resolved_regexes.pop(regex, None)
        else:
            self.resolved_regexes[regex] = resolved

    def _disown(self, member: ConsumerGroupMember) -> None:
        for owned in (member.assigned, member.revoking):
            for topic_id, partitions in owned.items():
                owners = self.owners.get(topic_id, {})
                for partition in partitions:
                    # While an old log is read, another may have got it whose loss by this one was compacted away.
                    if owners.get(partition) == member.member_id:
                        del owners[partition]
                if not owners:
                    self.owners.pop(topic_id, None)

    def _count(self, before: ConsumerGroupMember | None, after: ConsumerGroupMember | None) -> None:
        if before is not None:
            self._count_one(before, -1)
        if after is not None:
            self._count_one(after, 1)
        instance_before = before.instance_id if before is not None else None
        instance_after = after.instance_id if after is not None else None
        # Who gave its place to another does not get it again by a record of its assignment.
        if instance_before == instance_after:
            return
        if before is not None and self.static_members.get(instance_before or "") == before.member_id:
            del self.static_members[instance_before or ""]
        if after is not None and instance_after is not None:
            self.static_members[instance_after] = after.member_id

    def _count_one(self, member: ConsumerGroupMember, by: int) -> None:
        for topic in member.subscribed_topics:
            _add(self.topic_subscribers, topic, by)
        if member.subscribed_regex:
            _add(self.regex_subscribers, member.subscribed_regex, by)
        if member.server_assignor is not None:
            _add(self.server_assignors, member.server_assignor, by)
        if member.uses_classic_protocol:
            self.classic_member_count += by
            for protocol in member.classic_protocols:
                _add(self.classic_protocols, protocol, by)


def _epoch_error(member: ConsumerGroupMember, epoch: int) -> ErrorCode:
    if epoch == member.member_epoch:
        return ErrorCode.NONE
    return ErrorCode.ILLEGAL_GENERATION if member.uses_classic_protocol else ErrorCode.STALE_MEMBER_EPOCH


def _add(counter: Counter[str], key: str, by: int) -> None:
    counter[key] += by
    if not counter[key]:
        del counter[key]
