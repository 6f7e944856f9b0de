"""Works out to which offsets groups are to go back or on: `falkirk groups reset-offsets`."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from falkirk.cli.failure import WrongUsageError
from falkirk.cli.group_connection import command_failed, refused
from falkirk.cli.kafka_exceptions import exception_message
from falkirk.cli.padded_columns import padded, width
from falkirk.cli.reset_options import read_plan
from falkirk.client.groups.description import DEAD, EMPTY, describe_groups
from falkirk.client.groups.offsets import alter_group_offsets, list_group_offsets
from falkirk.client.partitions import EARLIEST, LATEST, describe_topics, leader_of, list_offsets
from falkirk.client.refusal import Refusal
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from falkirk.cli.reset_options import OffsetPlan, ResetScenario, TopicScope
    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.groups.description import GroupDescription
    from falkirk.client.groups.offsets import CommittedOffsets


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetResult:
    """A result for `falkirk.cli.output`: new offsets by group; none for a group that is left alone, with why."""

    offsets: OffsetPlan
    left_alone: Mapping[str, str]
    is_executed: bool

    def text(self) -> Iterator[str]:
        """Give the table of kafka-consumer-groups, between empty lines."""
        rows = [(group, *each, offset) for group, offsets in self.offsets.items() for each, offset in offsets.items()]
        widths = [width(15, self.offsets), width(15, (row[1] for row in rows)), 10, 0]
        yield ""
        yield padded(("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), widths)
        yield from (padded(row, widths) for row in rows)

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Give the same by fields."""
        return {
            "executed": self.is_executed,
            "groups": [
                {
                    "group": group,
                    "error": self.left_alone.get(group),
                    "offsets": [
                        {"topic": each.topic, "partition": each.partition, "offset": offset}
                        for each, offset in offsets.items()
                    ],
                }
                for group, offsets in self.offsets.items()
            ],
        }


@dataclass(frozen=True, slots=True)
class ExportedOffsets:
    """The same as the lines that --from-file reads: without the group if there is but one."""

    result: ResetResult
    with_groups: bool

    def text(self) -> Iterator[str]:
        """Give a line for each partition, and an empty one."""
        for group, offsets in self.result.offsets.items():
            for each, offset in offsets.items():
                words = [_quoted(group)] if self.with_groups else []
                yield ",".join([*words, _quoted(each.topic), str(each.partition), str(offset)])
        yield ""

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Give the offsets by fields."""
        return self.result.document()


class OffsetReset:
    """Asks a cluster for what a scenario needs to know. `warn` is told of offsets that had to be bent."""

    def __init__(self, admin: AsyncAdmin, scenario: ResetScenario, scope: TopicScope, *, timeout_ms: int) -> None:
        self._admin = admin
        self._scenario = scenario
        self._scope = scope
        self._timeout_ms = timeout_ms
        self._list_offsets = partial(list_offsets, admin, timeout_ms=timeout_ms)

    async def run(self, group_ids: Sequence[str], *, execute: bool) -> ResetResult:
        """Plan the offsets of all groups, and with `execute` commit them.

        Groups with members are left alone. Raises CommandFailedError, ClientError.
        """
        from_file = self._scenario.from_file
        plan = None if from_file is None else read_plan(from_file, group_ids)
        described = await describe_groups(self._admin, group_ids, timeout_ms=self._timeout_ms)
        offsets: OffsetPlan = {}
        left_alone: dict[str, str] = {}
        for group_id, group in sorted(described.items()):
            reason = _why_not(group_id, group)
            if plan is not None and reason is None and group_id not in plan:
                reason = f"No reset plan for group {group_id} found"
            if reason is not None:
                offsets[group_id] = {}
                left_alone[group_id] = reason
                continue
            planned = await self._planned(group_id, None if plan is None else plan[group_id])
            offsets[group_id] = dict(sorted(planned.items()))
            if execute and planned:
                await self._commit(group_id, planned)
        return ResetResult(offsets=offsets, left_alone=left_alone, is_executed=execute)

    async def _planned(
        self, group_id: str, from_file: Mapping[TopicPartition, int] | None
    ) -> dict[TopicPartition, int]:
        if from_file is not None:
            return await self._in_range(from_file)
        committed = await self._committed(group_id)
        partitions = sorted(committed) if self._scope.all_topics else await self._partitions_of_scope()
        await self._check_leaders(partitions)
        scenario = self._scenario
        if scenario.to_offset is not None:
            return await self._in_range(dict.fromkeys(partitions, scenario.to_offset))
        if scenario.shift_by is not None:
            return await self._in_range(_shifted(partitions, committed, scenario.shift_by))
        if scenario.to_current:
            known = {each: committed[each].offset for each in partitions if each in committed}
            return known | await self._ends(each for each in partitions if each not in committed)
        timestamp_ms = scenario.timestamp_ms(time.time_ns() // 1_000_000)
        if timestamp_ms is not None:
            return await self._at(partitions, timestamp_ms)
        return await (self._starts(partitions) if scenario.to_earliest else self._ends(partitions))

    async def _committed(self, group_id: str) -> CommittedOffsets:
        found = await list_group_offsets(self._admin, [group_id], timeout_ms=self._timeout_ms)
        committed = found[group_id]
        if isinstance(committed, Refusal):
            raise refused(committed)
        return committed

    async def _partitions_of_scope(self) -> list[TopicPartition]:
        topics = await describe_topics(self._admin, self._scope.topics, timeout_ms=self._timeout_ms)
        found = list(self._scope.partitions)
        for topic in topics.values():
            if isinstance(topic, Refusal):
                raise command_failed(exception_message(topic))
            found += [TopicPartition(topic.name, number) for number in sorted(topic.leaders)]
        return sorted(set(found))

    async def _check_leaders(self, partitions: Sequence[TopicPartition]) -> None:
        topics = await describe_topics(self._admin, {each.topic for each in partitions}, timeout_ms=self._timeout_ms)
        refusals = {each: leader_of(topics, each) for each in partitions}
        for code, what in _UNUSABLE.items():
            found = [each for each, told in refusals.items() if isinstance(told, Refusal) and told.error_code == code]
            if found:
                raise command_failed(f'The partitions "{",".join(map(str, found))}" {what}')

    async def _in_range(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Bend what lies outside of a partition's log to its end or start."""
        starts, ends = await self._starts(wanted), await self._ends(wanted)
        found = {}
        for each, offset in wanted.items():
            found[each] = min(max(offset, starts[each]), ends[each])
            if found[each] != offset:
                side = "higher than latest" if offset > ends[each] else "lower than earliest"
                _warn(
                    f"New offset ({offset}) is {side} offset for topic partition {each}. "
                    f"Value will be set to {found[each]}"
                )
        return found

    async def _at(self, partitions: Iterable[TopicPartition], timestamp_ms: int) -> dict[TopicPartition, int]:
        found = _offsets(await self._list_offsets(partitions, timestamp_ms))
        empty = sorted(each for each, offset in found.items() if offset < 0)
        for each in empty:
            _warn(
                f"\nWarn: Partition {each.partition} from topic {each.topic} is empty. "
                "Falling back to latest known offset."
            )
        return found | await self._ends(empty)

    async def _starts(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return _offsets(await self._list_offsets(partitions, EARLIEST))

    async def _ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return _offsets(await self._list_offsets(partitions, LATEST))

    async def _commit(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        outcome = await alter_group_offsets(self._admin, group_id, offsets, timeout_ms=self._timeout_ms)
        refusals = [outcome] if isinstance(outcome, Refusal) else [each for each in outcome.values() if each]
        if refusals:
            raise command_failed(exception_message(refusals[0]))


_INACTIVE: Final = frozenset({EMPTY, DEAD})
_UNUSABLE: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "do not exist",
    ErrorCode.LEADER_NOT_AVAILABLE: "have no leader",
}
# Jackson's CSV writer quotes what is longer, or has a character up to the comma, without looking further.
_UNQUOTED_MAX: Final = 24


def _why_not(group_id: str, group: GroupDescription | Refusal) -> str | None:
    """Say why a group's offsets stay as they are; a group that does not exist may get some.

    Raises CommandFailedError for what a broker refuses otherwise.
    """
    if isinstance(group, Refusal):
        if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            return None
        raise refused(group)
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
            raise WrongUsageError(
                f"Cannot shift offset for partition {each} since there is no current committed offset"
            )
        found[each] = committed[each].offset + shift_by
    return found


def _offsets(told: Mapping[TopicPartition, int | Refusal]) -> dict[TopicPartition, int]:
    found = {}
    for each, offset in told.items():
        if isinstance(offset, Refusal):
            raise refused(offset)
        found[each] = offset
    return found


def _quoted(text: str) -> str:
    if len(text) <= _UNQUOTED_MAX and all(character > "," for character in text):
        return text
    escaped = text.replace('"', '""')
    return f'"{escaped}"'


def _warn(message: str) -> None:
    print(message, file=sys.stderr)
