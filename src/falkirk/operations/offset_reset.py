"""Set the offsets of groups without members: to an end of the log, a time, an offset, or a plan."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.client.groups.description import DEAD, EMPTY, describe_groups
from falkirk.client.groups.offsets import alter_group_offsets, list_group_offsets
from falkirk.client.partitions import EARLIEST, LATEST, describe_topics, leader_of, list_offsets
from falkirk.client.refusal import Refusal
from falkirk.operations.errors import (
    CommitRefusedError,
    InvalidInputError,
    OperationError,
    RefusedError,
    TopicRefusedError,
)
from falkirk.operations.group_offsets import listed_offsets
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.groups.description import GroupDescription
    from falkirk.client.groups.offsets import CommittedOffsets
    from falkirk.operations.group_offsets import TopicScope

OffsetPlan = dict[str, dict[TopicPartition, int]]
"""Offset by partition, by group."""

_INACTIVE: Final = frozenset({EMPTY, DEAD})
_UNUSABLE: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "do not exist",
    ErrorCode.LEADER_NOT_AVAILABLE: "have no leader",
}


class Position(enum.Enum):
    """A place that each partition has. CURRENT: the committed offset, where there is none the end of the log."""

    EARLIEST = enum.auto()
    LATEST = enum.auto()
    CURRENT = enum.auto()


@dataclass(frozen=True, slots=True)
class ToOffset:
    """This offset in every partition."""

    offset: int


@dataclass(frozen=True, slots=True)
class ShiftBy:
    """So many offsets behind the committed one; before it if negative."""

    count: int


@dataclass(frozen=True, slots=True)
class ToTime:
    """The first record of this time (ms since 1970) or later."""

    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class ToPlan:
    """The offsets of a plan, as an earlier reset has exported them. The scope does not matter then."""

    plan: OffsetPlan


Scenario = Position | ToOffset | ShiftBy | ToTime | ToPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetResult:
    """New offsets by group. `left_alone`: groups that keep their offsets, and why.

    `warnings`: a sentence for each offset that was out of range, or for whose time there is no record.
    """

    offsets: OffsetPlan
    left_alone: Mapping[str, str]
    warnings: tuple[str, ...]
    is_executed: bool


class OffsetReset:
    """Plans the offsets of groups by a scenario, and commits them."""

    def __init__(self, admin: AsyncAdmin, scenario: Scenario, scope: TopicScope, *, timeout_ms: int) -> None:
        self._admin = admin
        self._scenario = scenario
        self._scope = scope
        self._timeout_ms = timeout_ms
        self._list_offsets = partial(list_offsets, admin, timeout_ms=timeout_ms)
        self._warnings: list[str] = []

    async def run(self, group_ids: Sequence[str], *, execute: bool) -> ResetResult:
        """Plan the offsets of all groups, and with `execute` commit them. Groups with members are left alone.

        Raises OperationError, ClientError.
        """
        plan = self._scenario.plan if isinstance(self._scenario, ToPlan) else None
        described = await describe_groups(self._admin, group_ids, timeout_ms=self._timeout_ms)
        offsets: OffsetPlan = {}
        left_alone: dict[str, str] = {}
        for group_id, group in sorted(described.items()):
            reason = _reason_left_alone(group_id, group)
            if plan is not None and reason is None and group_id not in plan:
                reason = f"No reset plan for group {group_id} found"
            if reason is not None:
                offsets[group_id] = {}
                left_alone[group_id] = reason
                continue
            planned = await (self._planned(group_id) if plan is None else self._in_range(plan[group_id]))
            offsets[group_id] = dict(sorted(planned.items()))
            if execute and planned:
                await self._commit(group_id, planned)
        return ResetResult(offsets=offsets, left_alone=left_alone, warnings=tuple(self._warnings), is_executed=execute)

    async def _planned(self, group_id: str) -> dict[TopicPartition, int]:
        committed = await self._committed(group_id)
        partitions = sorted(committed) if self._scope.all_topics else await self._partitions_of_scope()
        await self._check_leaders(partitions)
        match self._scenario:
            case Position.EARLIEST:
                return await self._starts(partitions)
            case Position.CURRENT:
                known = {each: committed[each].offset for each in partitions if each in committed}
                return known | await self._ends(each for each in partitions if each not in committed)
            case ToOffset(offset):
                return await self._in_range(dict.fromkeys(partitions, offset))
            case ShiftBy(count):
                return await self._in_range(_shifted(partitions, committed, count))
            case ToTime(timestamp_ms):
                return await self._at(partitions, timestamp_ms)
            case Position.LATEST | ToPlan():
                return await self._ends(partitions)

    async def _committed(self, group_id: str) -> CommittedOffsets:
        found = await list_group_offsets(self._admin, [group_id], timeout_ms=self._timeout_ms)
        committed = found[group_id]
        if isinstance(committed, Refusal):
            raise RefusedError(f"offsets of group {group_id}", committed)
        return committed

    async def _partitions_of_scope(self) -> list[TopicPartition]:
        topics = await describe_topics(self._admin, self._scope.topics, timeout_ms=self._timeout_ms)
        found = list(self._scope.partitions)
        for name, topic in topics.items():
            if isinstance(topic, Refusal):
                raise TopicRefusedError(f"topic {name}", topic)
            found += [TopicPartition(topic.name, number) for number in sorted(topic.leaders)]
        return sorted(set(found))

    async def _check_leaders(self, partitions: Sequence[TopicPartition]) -> None:
        topics = await describe_topics(self._admin, {each.topic for each in partitions}, timeout_ms=self._timeout_ms)
        leaders = {each: leader_of(topics, each) for each in partitions}
        for code, what in _UNUSABLE.items():
            found = [
                each for each, leader in leaders.items() if isinstance(leader, Refusal) and leader.error_code == code
            ]
            if found:
                raise OperationError(f'The partitions "{",".join(map(str, found))}" {what}')

    async def _in_range(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Replace offsets out of a log's range by its end or start, with a warning."""
        starts, ends = await self._starts(wanted), await self._ends(wanted)
        found = {}
        for each, offset in wanted.items():
            found[each] = min(max(offset, starts[each]), ends[each])
            if found[each] != offset:
                side = "higher than latest" if offset > ends[each] else "lower than earliest"
                self._warnings.append(
                    f"New offset ({offset}) is {side} offset for topic partition {each}. "
                    f"Value will be set to {found[each]}"
                )
        return found

    async def _at(self, partitions: Iterable[TopicPartition], timestamp_ms: int) -> dict[TopicPartition, int]:
        found = listed_offsets(await self._list_offsets(partitions, timestamp_ms))
        empty = sorted(each for each, offset in found.items() if offset < 0)
        self._warnings += (
            f"\nWarn: Partition {each.partition} from topic {each.topic} is empty. Falling back to latest known offset."
            for each in empty
        )
        return found | await self._ends(empty)

    async def _starts(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return listed_offsets(await self._list_offsets(partitions, EARLIEST))

    async def _ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return listed_offsets(await self._list_offsets(partitions, LATEST))

    async def _commit(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        outcome = await alter_group_offsets(self._admin, group_id, offsets, timeout_ms=self._timeout_ms)
        refusals = [outcome] if isinstance(outcome, Refusal) else [each for each in outcome.values() if each]
        if refusals:
            raise CommitRefusedError(f"group {group_id}", refusals[0])


def _reason_left_alone(group_id: str, group: GroupDescription | Refusal) -> str | None:
    """Return why a group's offsets stay as they are; a group that does not exist may get some.

    Raises RefusedError.
    """
    if isinstance(group, Refusal):
        if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            return None
        raise RefusedError(f"group {group_id}", group)
    if group.state in _INACTIVE:
        return None
    return (
        f"Assignments can only be reset if the group '{group_id}' is inactive, but the current state is {group.state}."
    )


def _shifted(
    partitions: Iterable[TopicPartition], committed: CommittedOffsets, shift_by: int
) -> dict[TopicPartition, int]:
    found = {}
    for each in partitions:
        if each not in committed:
            raise InvalidInputError(
                f"Cannot shift offset for partition {each} since there is no current committed offset"
            )
        found[each] = committed[each].offset + shift_by
    return found
