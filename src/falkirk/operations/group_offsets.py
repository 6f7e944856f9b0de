"""Offsets of consumer groups beside the ends of their partitions' logs, and their deletion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.client.groups.description import describe_groups
from falkirk.client.groups.offsets import delete_group_offsets, list_group_offsets
from falkirk.client.partitions import LATEST, describe_topics, leader_of, list_offsets
from falkirk.client.refusal import Refusal
from falkirk.operations.errors import RefusedError
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.groups.description import GroupDescription, MemberDescription
    from falkirk.client.groups.offsets import CommittedOffsets, Outcomes


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicScope:
    """Which partitions: `partitions`, those of `topics`, or with `all_topics` those with a committed offset."""

    partitions: tuple[TopicPartition, ...] = ()
    topics: tuple[str, ...] = ()
    all_topics: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLag:
    """A partition that a group reads, or has read. `member`: the one that reads it; None for what is unknown."""

    partition: TopicPartition
    offset: int | None
    leader_epoch: int | None
    log_end_offset: int | None
    member: MemberDescription | None

    @property
    def lag(self) -> int | None:
        """How many offsets are left to read, gaps included."""
        if self.offset is None or self.log_end_offset is None:
            return None
        return self.log_end_offset - self.offset


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLag:
    """A group with its partitions: those of its members, the member with most first, then those without a reader."""

    group: GroupDescription
    partitions: tuple[PartitionLag, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedOffsets:
    """The outcome of deleting offsets; None for a partition that was done. `refusal`: the group's, or the first one.

    A topic that does not exist stands for its partitions with number -1.
    """

    group_id: str
    refusal: Refusal | None
    outcomes: Outcomes


async def describe_existing(
    admin: AsyncAdmin, group_ids: Collection[str], *, timeout_ms: int
) -> list[GroupDescription]:
    """Return the groups by id. Raises RefusedError, ClientError."""
    described = []
    for group_id, group in sorted((await describe_groups(admin, group_ids, timeout_ms=timeout_ms)).items()):
        if isinstance(group, Refusal):
            raise RefusedError(f"group {group_id}", group)
        described.append(group)
    return described


async def describe_lags(admin: AsyncAdmin, group_ids: Collection[str], *, timeout_ms: int) -> list[GroupLag]:
    """Return the groups by id, with committed offsets and log ends. Raises RefusedError, ClientError."""
    groups = await describe_existing(admin, group_ids, timeout_ms=timeout_ms)
    committed = {}
    for group_id, offsets in (await list_group_offsets(admin, group_ids, timeout_ms=timeout_ms)).items():
        if isinstance(offsets, Refusal):
            raise RefusedError(f"offsets of group {group_id}", offsets)
        committed[group_id] = offsets
    partitions = {each for offsets in committed.values() for each in offsets}
    partitions |= {each for group in groups for member in group.members for each in member.assignment}
    ends = await _log_ends(admin, partitions, timeout_ms)
    return [GroupLag(group=group, partitions=_lags(group, committed[group.group_id], ends)) for group in groups]


async def delete_offsets(admin: AsyncAdmin, group_id: str, scope: TopicScope, *, timeout_ms: int) -> DeletedOffsets:
    """Delete offsets of a group, of topics to which no member subscribes. Raises ClientError."""
    outcomes: Outcomes = {}
    wanted = set(scope.partitions)
    for name, topic in (await describe_topics(admin, scope.topics, timeout_ms=timeout_ms)).items():
        if isinstance(topic, Refusal):
            outcomes[TopicPartition(name, -1)] = topic
        else:
            wanted |= {TopicPartition(name, number) for number in topic.leaders}
    deleted = await delete_group_offsets(admin, group_id, wanted, timeout_ms=timeout_ms)
    if isinstance(deleted, Refusal):
        return DeletedOffsets(group_id=group_id, refusal=deleted, outcomes=outcomes | dict.fromkeys(wanted, deleted))
    first = next((refusal for _, refusal in sorted(deleted.items()) if refusal is not None), None)
    return DeletedOffsets(group_id=group_id, refusal=first, outcomes=outcomes | deleted)


def listed_offsets(answers: Mapping[TopicPartition, int | Refusal]) -> dict[TopicPartition, int]:
    """Return the answers of ListOffsets. Raises RefusedError if there is none for a partition."""
    found = {}
    for each, offset in answers.items():
        if isinstance(offset, Refusal):
            raise RefusedError(f"partition {each}", offset)
        found[each] = offset
    return found


async def _log_ends(
    admin: AsyncAdmin, partitions: Iterable[TopicPartition], timeout_ms: int
) -> dict[TopicPartition, int]:
    """Return log end offsets; a partition that is gone or has no leader is left out, and not waited for."""
    wanted = list(partitions)
    topics = await describe_topics(admin, {each.topic for each in wanted}, timeout_ms=timeout_ms)
    led = [each for each in wanted if not isinstance(leader_of(topics, each), Refusal)]
    return listed_offsets(await list_offsets(admin, led, LATEST, timeout_ms=timeout_ms))


def _lags(
    group: GroupDescription, committed: CommittedOffsets, ends: Mapping[TopicPartition, int]
) -> tuple[PartitionLag, ...]:
    def lag(partition: TopicPartition, member: MemberDescription | None) -> PartitionLag:
        offset = committed.get(partition)
        return PartitionLag(
            partition=partition,
            offset=None if offset is None else offset.offset,
            leader_epoch=None if offset is None else offset.leader_epoch,
            log_end_offset=ends.get(partition),
            member=member,
        )

    readers = sorted(group.members, key=lambda member: -len(member.assignment))
    read = [lag(partition, member) for member in readers for partition in sorted(member.assignment)]
    assigned = {each.partition for each in read}
    return (*read, *(lag(partition, None) for partition in sorted(committed) if partition not in assigned))
