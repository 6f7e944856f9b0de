"""What the commands of `falkirk groups` do that ask a cluster as kafka-consumer-groups and kafka-groups do."""

from __future__ import annotations

import enum
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from falkirk.cli.exit_code import ExitCode
from falkirk.cli.failure import WrongUsageError
from falkirk.cli.group_connection import refused
from falkirk.cli.group_description import (
    GroupDocuments,
    MembersView,
    OffsetsView,
    StateView,
    notice,
    offset_rows,
)
from falkirk.cli.group_listing import ConsumerGroupList, GroupList, parse_states, parse_types
from falkirk.cli.kafka_exceptions import exception_message, exception_text
from falkirk.cli.offset_reset import ExportedOffsets, OffsetReset
from falkirk.cli.output import choose_output
from falkirk.cli.padded_columns import padded, width
from falkirk.client.event_loop import run
from falkirk.client.groups.description import DEAD, describe_groups
from falkirk.client.groups.listing import CONSUMER_GROUP_PROTOCOLS, CONSUMER_GROUP_TYPES, list_groups
from falkirk.client.groups.offsets import delete_group_offsets, delete_groups, list_group_offsets
from falkirk.client.partitions import LATEST, describe_topics, leader_of, list_offsets
from falkirk.client.refusal import Refusal
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from falkirk.cli.group_connection import GroupConnection
    from falkirk.cli.group_description import View
    from falkirk.cli.group_listing import GroupFilter
    from falkirk.cli.offset_reset import ResetResult
    from falkirk.cli.reset_options import ResetScenario, TopicScope
    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.groups.listing import GroupListing
    from falkirk.client.groups.offsets import Outcomes


class Shown(enum.Enum):
    """What `describe` shows of a group."""

    OFFSETS = enum.auto()
    MEMBERS = enum.auto()
    STATE = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedGroups:
    """The groups that a command is about: those that are named, or all consumer groups."""

    named: tuple[str, ...]
    all_groups: bool

    def check(self, action: str) -> None:
        """Raise WrongUsageError for both or none, in the tool's words."""
        if self.named and self.all_groups:
            raise WrongUsageError('Option "[group]" can\'t be used with option "[all-groups]"')
        if not self.named and not self.all_groups:
            raise WrongUsageError(f"Option [{action}] takes one of these options: [group], [all-groups]")

    async def ids(self, admin: AsyncAdmin, timeout_ms: int) -> list[str]:
        """Give their names, each once."""
        if not self.all_groups:
            return list(dict.fromkeys(self.named))
        return [group.group_id for group in await _consumer_groups(admin, timeout_ms=timeout_ms)]


def answer_list(connection: GroupConnection, types: str | None, states: str | None, *, json: bool) -> None:
    """Print consumer groups; `types` and `states` None: without such a column."""
    wanted_types, wanted_states = parse_types(types or ""), parse_states(states or "")

    async def ask() -> list[GroupListing]:
        async with connection.admin() as admin:
            return await _consumer_groups(admin, wanted_types, wanted_states, timeout_ms=connection.timeout_ms)

    groups = ConsumerGroupList(groups=tuple(run(ask())), with_types=types is not None, with_states=states is not None)
    choose_output(json=json).show(groups)


def answer_list_all(connection: GroupConnection, wanted: GroupFilter, *, json: bool) -> None:
    """Print groups of all types."""

    async def ask() -> list[GroupListing]:
        async with connection.admin() as admin:
            return await list_groups(admin, timeout_ms=connection.timeout_ms)

    choose_output(json=json).show(GroupList(groups=tuple(filter(wanted.shows, run(ask())))))


def answer_describe(
    connection: GroupConnection, groups: WantedGroups, shown: Shown, *, verbose: bool, json: bool
) -> None:
    """Print groups one after the other. Ends with status 1 if one of them does not exist."""
    groups.check("describe")
    views = run(_describe(connection, groups, shown, verbose=verbose))
    output = choose_output(json=json)
    if json:
        output.show(GroupDocuments(views))
    for view in () if json else views:
        said = notice(view.group)
        if said is not None:
            sys.stdout.flush()
            print(said, file=sys.stderr, flush=True)
        if view.group.state != DEAD:
            output.show(view)
    if any(view.group.state == DEAD for view in views):
        raise typer.Exit(ExitCode.FAILED)


def answer_reset(
    connection: GroupConnection,
    groups: WantedGroups,
    scenario: ResetScenario,
    scope: TopicScope,
    *,
    execute: bool,
    export: bool,
    json: bool,
) -> None:
    """Print new offsets, and commit them with `execute`. Ends with status 1 if a group was left alone."""
    groups.check("reset-offsets")

    async def reset() -> ResetResult:
        async with connection.admin() as admin:
            resetting = OffsetReset(admin, scenario, scope, timeout_ms=connection.timeout_ms)
            return await resetting.run(await groups.ids(admin, connection.timeout_ms), execute=execute)

    result = run(reset())
    for reason in result.left_alone.values():
        print(f"\nError: {reason}", file=sys.stderr, flush=True)
    exported = ExportedOffsets(result, with_groups=len(groups.named) != 1)
    choose_output(json=json).show(exported if export else result)
    if result.left_alone:
        raise typer.Exit(ExitCode.FAILED)


@dataclass(frozen=True, slots=True)
class DeletedGroups:
    """A result for `falkirk.cli.output`."""

    outcomes: Mapping[str, Refusal | None]

    def text(self) -> Iterator[str]:
        """Give what was deleted, and what was not."""
        done = ", ".join(f"'{group_id}'" for group_id, refusal in self.outcomes.items() if refusal is None)
        refusals = {group_id: refusal for group_id, refusal in self.outcomes.items() if refusal is not None}
        if not refusals:
            yield f"Deletion of requested consumer groups ({done}) was successful."
            return
        yield "\nError: Deletion of some consumer groups failed:"
        for group_id, refusal in refusals.items():
            yield f"* Group '{group_id}' could not be deleted due to: {exception_text(refusal)}"
        if done:
            yield f"\nThese consumer groups were deleted successfully: {done}"

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Give the groups, each with its error or null."""
        return {
            "groups": [
                {"group": group_id, "error": None if refusal is None else str(refusal)}
                for group_id, refusal in self.outcomes.items()
            ]
        }


def answer_delete(connection: GroupConnection, groups: WantedGroups, *, json: bool) -> None:
    """Delete groups and print what came of each. Ends with status 1 if one was refused."""
    groups.check("delete")

    async def delete() -> dict[str, Refusal | None]:
        async with connection.admin() as admin:
            ids = await groups.ids(admin, connection.timeout_ms)
            return await delete_groups(admin, ids, timeout_ms=connection.timeout_ms)

    result = DeletedGroups(run(delete()))
    choose_output(json=json).show(result)
    if any(result.outcomes.values()):
        raise typer.Exit(ExitCode.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedOffsets:
    """A result for `falkirk.cli.output`. A topic that does not exist stands for its partitions with number -1."""

    group_id: str
    refusal: Refusal | None
    outcomes: Outcomes

    def text(self) -> Iterator[str]:
        """Give a sentence, and a line for each partition."""
        if self.refusal is None:
            yield f"Request succeeded for deleting offsets from group {self.group_id}."
        elif self.refusal.error_code in _OF_PARTITIONS:
            yield "\nError: Encountered some partition-level error, see the follow-up details."
        elif self.refusal.error_code in _OF_GROUPS:
            yield f"\nError: {exception_message(self.refusal)}"
        else:
            yield f"\nError: Encountered some unknown error: {self.refusal}"
        widths = [width(15, (each.topic for each in self.outcomes)), 10, 15]
        yield ""
        yield padded(("TOPIC", "PARTITION", "STATUS"), widths)
        for each, refusal in sorted(self.outcomes.items(), key=lambda item: f"{item[0].topic}{item[0].partition}"):
            status = "Successful" if refusal is None else f"Error: {exception_text(refusal)}"
            yield padded((each.topic, each.partition if each.partition >= 0 else None, status), widths)

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Give the same by fields."""
        return {
            "group": self.group_id,
            "error": None if self.refusal is None else str(self.refusal),
            "offsets": [
                {
                    "topic": each.topic,
                    "partition": each.partition if each.partition >= 0 else None,
                    "error": None if refusal is None else str(refusal),
                }
                for each, refusal in sorted(self.outcomes.items())
            ],
        }


def answer_delete_offsets(connection: GroupConnection, group_id: str, scope: TopicScope, *, json: bool) -> None:
    """Delete offsets of a group and print what came of each. Ends with status 1 if one was refused."""
    result = run(_delete_offsets(connection, group_id, scope))
    choose_output(json=json).show(result)
    if result.refusal is not None or any(result.outcomes.values()):
        raise typer.Exit(ExitCode.FAILED)


_OF_GROUPS = frozenset(
    {
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.NON_EMPTY_GROUP,
    }
)
_OF_PARTITIONS = frozenset(
    {
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)


async def _consumer_groups(
    admin: AsyncAdmin, types: Collection[str] = (), states: Collection[str] = (), *, timeout_ms: int
) -> list[GroupListing]:
    return await list_groups(
        admin,
        types=types or CONSUMER_GROUP_TYPES,
        states=states,
        protocol_types=CONSUMER_GROUP_PROTOCOLS,
        timeout_ms=timeout_ms,
    )


async def _describe(
    connection: GroupConnection, groups: WantedGroups, shown: Shown, *, verbose: bool
) -> tuple[View, ...]:
    timeout_ms = connection.timeout_ms
    async with connection.admin() as admin:
        ids = await groups.ids(admin, timeout_ms)
        described = []
        for _, group in sorted((await describe_groups(admin, ids, timeout_ms=timeout_ms)).items()):
            if isinstance(group, Refusal):
                raise refused(group)
            described.append(group)
        if shown is Shown.MEMBERS:
            return tuple(MembersView(group=group, verbose=verbose) for group in described)
        if shown is Shown.STATE:
            return tuple(StateView(group=group, verbose=verbose) for group in described)
        committed = {}
        for group_id, offsets in (await list_group_offsets(admin, ids, timeout_ms=timeout_ms)).items():
            if isinstance(offsets, Refusal):
                raise refused(offsets)
            committed[group_id] = offsets
        wanted = {each for offsets in committed.values() for each in offsets}
        wanted |= {each for group in described for member in group.members for each in member.assignment}
        ends = await _log_ends(admin, wanted, timeout_ms)
    return tuple(
        OffsetsView(group=group, rows=offset_rows(group, committed[group.group_id], ends), verbose=verbose)
        for group in described
    )


async def _log_ends(
    admin: AsyncAdmin, partitions: Collection[TopicPartition], timeout_ms: int
) -> dict[TopicPartition, int]:
    """Give where the logs end; a partition that is gone or has no leader is left out, and not waited for."""
    topics = await describe_topics(admin, {each.topic for each in partitions}, timeout_ms=timeout_ms)
    led = [each for each in partitions if not isinstance(leader_of(topics, each), Refusal)]
    told = await list_offsets(admin, led, LATEST, timeout_ms=timeout_ms)
    found = {}
    for each, offset in told.items():
        if isinstance(offset, Refusal):
            raise refused(offset)
        found[each] = offset
    return found


async def _delete_offsets(connection: GroupConnection, group_id: str, scope: TopicScope) -> DeletedOffsets:
    timeout_ms = connection.timeout_ms
    outcomes: Outcomes = {}
    async with connection.admin() as admin:
        wanted = set(scope.partitions)
        for name, topic in (await describe_topics(admin, scope.topics, timeout_ms=timeout_ms)).items():
            if isinstance(topic, Refusal):
                outcomes[TopicPartition(name, -1)] = topic
            else:
                wanted |= {TopicPartition(name, number) for number in topic.leaders}
        told = await delete_group_offsets(admin, group_id, wanted, timeout_ms=timeout_ms)
    if isinstance(told, Refusal):
        return DeletedOffsets(group_id=group_id, refusal=told, outcomes=outcomes | dict.fromkeys(wanted, told))
    first = next((refusal for _, refusal in sorted(told.items()) if refusal is not None), None)
    return DeletedOffsets(group_id=group_id, refusal=first, outcomes=outcomes | told)
