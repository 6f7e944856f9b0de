"""The commands of `falkirk groups` that connect to a cluster, as kafka-consumer-groups and kafka-groups."""

from __future__ import annotations

import enum
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from falkirk.cli.console.exit_code import ExitCode
from falkirk.cli.console.failure import WrongUsageError
from falkirk.cli.console.output import choose_output
from falkirk.cli.console.terminal import print_text
from falkirk.cli.groups.connection import run_operation
from falkirk.cli.groups.deletion_view import DeletedGroups, DeletedOffsetsView
from falkirk.cli.groups.description_view import GroupDocuments, MembersView, OffsetsView, StateView, notice
from falkirk.cli.groups.listing_view import ConsumerGroupList, GroupList, parse_states, parse_types
from falkirk.cli.groups.reset_options import read_plan
from falkirk.cli.groups.reset_view import ExportedOffsets, ResetView
from falkirk.client.groups.description import DEAD
from falkirk.client.groups.listing import CONSUMER_GROUP_PROTOCOLS, CONSUMER_GROUP_TYPES, list_groups
from falkirk.client.groups.offsets import delete_groups
from falkirk.operations.group_offsets import delete_offsets, describe_existing, describe_lags
from falkirk.operations.offset_reset import OffsetReset, ToPlan

if TYPE_CHECKING:
    from collections.abc import Collection

    from falkirk.cli.groups.connection import GroupConnection
    from falkirk.cli.groups.description_view import View
    from falkirk.cli.groups.listing_view import GroupFilter
    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.groups.listing import GroupListing
    from falkirk.client.refusal import Refusal
    from falkirk.operations.group_offsets import DeletedOffsets, TopicScope
    from falkirk.operations.offset_reset import ResetResult, Scenario


class Shown(enum.Enum):
    """What `describe` prints of a group."""

    OFFSETS = enum.auto()
    MEMBERS = enum.auto()
    STATE = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedGroups:
    """The groups that a command is about: those that are named, or all consumer groups."""

    named: tuple[str, ...]
    all_groups: bool

    def check(self) -> None:
        """Raise WrongUsageError for both or none."""
        if bool(self.named) == self.all_groups:
            raise WrongUsageError("name groups with --group, or say --all-groups")

    async def ids(self, admin: AsyncAdmin, timeout_ms: int) -> list[str]:
        """Return their ids, each once."""
        if not self.all_groups:
            return list(dict.fromkeys(self.named))
        return [group.group_id for group in await _consumer_groups(admin, timeout_ms=timeout_ms)]


def run_list(connection: GroupConnection, types: str | None, states: str | None, *, json: bool) -> None:
    """Print consumer groups; `types` and `states`: None: without that column."""
    wanted_types, wanted_states = parse_types(types or ""), parse_states(states or "")

    async def ask() -> list[GroupListing]:
        async with connection.admin() as admin:
            return await _consumer_groups(admin, wanted_types, wanted_states, timeout_ms=connection.timeout_ms)

    groups = tuple(run_operation(ask()))
    listed = ConsumerGroupList(groups=groups, with_types=types is not None, with_states=states is not None)
    choose_output(json=json).show(listed)


def run_list_all(connection: GroupConnection, wanted: GroupFilter, *, json: bool) -> None:
    """Print groups of all types."""

    async def ask() -> list[GroupListing]:
        async with connection.admin() as admin:
            return await list_groups(admin, timeout_ms=connection.timeout_ms)

    choose_output(json=json).show(GroupList(groups=tuple(filter(wanted.shows, run_operation(ask())))))


def run_describe(connection: GroupConnection, groups: WantedGroups, shown: Shown, *, verbose: bool, json: bool) -> None:
    """Print groups one after the other. Exits with 1 if one of them does not exist."""
    groups.check()
    views = run_operation(_describe(connection, groups, shown, verbose=verbose))
    output = choose_output(json=json)
    if json:
        output.show(GroupDocuments(views))
    for view in () if json else views:
        warning = notice(view.group)
        if warning is not None:
            sys.stdout.flush()
            print_text(warning, sys.stderr)
        if view.group.state != DEAD:
            output.show(view)
    if any(view.group.state == DEAD for view in views):
        raise typer.Exit(ExitCode.FAILED)


def run_reset(
    connection: GroupConnection,
    groups: WantedGroups,
    scenario: Scenario | Path,
    scope: TopicScope,
    *,
    execute: bool,
    export: bool,
    json: bool,
) -> None:
    """Print new offsets, and commit them with `execute`. Exits with 1 if a group was left alone."""
    groups.check()

    async def reset() -> ResetResult:
        async with connection.admin() as admin:
            ids = await groups.ids(admin, connection.timeout_ms)
            where_to = ToPlan(read_plan(scenario, ids)) if isinstance(scenario, Path) else scenario
            resetting = OffsetReset(admin, where_to, scope, timeout_ms=connection.timeout_ms)
            return await resetting.run(ids, execute=execute)

    result = run_operation(reset())
    for warning in result.warnings:
        print_text(warning, sys.stderr)
    for reason in result.left_alone.values():
        print_text(f"\nError: {reason}", sys.stderr)
    exported = ExportedOffsets(result, with_groups=len(groups.named) != 1)
    choose_output(json=json).show(exported if export else ResetView(result))
    if result.left_alone:
        raise typer.Exit(ExitCode.FAILED)


def run_delete(connection: GroupConnection, groups: WantedGroups, *, json: bool) -> None:
    """Delete groups, and print the outcome of each. Exits with 1 if one was refused."""
    groups.check()

    async def delete() -> dict[str, Refusal | None]:
        async with connection.admin() as admin:
            ids = await groups.ids(admin, connection.timeout_ms)
            return await delete_groups(admin, ids, timeout_ms=connection.timeout_ms)

    result = DeletedGroups(run_operation(delete()))
    choose_output(json=json).show(result)
    if any(result.outcomes.values()):
        raise typer.Exit(ExitCode.FAILED)


def run_delete_offsets(connection: GroupConnection, group_id: str, scope: TopicScope, *, json: bool) -> None:
    """Delete offsets of a group, and print the outcome of each. Exits with 1 if one was refused."""

    async def delete() -> DeletedOffsets:
        async with connection.admin() as admin:
            return await delete_offsets(admin, group_id, scope, timeout_ms=connection.timeout_ms)

    result = run_operation(delete())
    choose_output(json=json).show(DeletedOffsetsView(result))
    if result.refusal is not None or any(result.outcomes.values()):
        raise typer.Exit(ExitCode.FAILED)


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
        if shown is Shown.OFFSETS:
            lags = await describe_lags(admin, ids, timeout_ms=timeout_ms)
            return tuple(OffsetsView(group=each.group, rows=each.partitions, verbose=verbose) for each in lags)
        described = await describe_existing(admin, ids, timeout_ms=timeout_ms)
    view = MembersView if shown is Shown.MEMBERS else StateView
    return tuple(view(group=group, verbose=verbose) for group in described)
