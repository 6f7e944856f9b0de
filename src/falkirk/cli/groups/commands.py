"""`falkirk groups`: as kafka-consumer-groups and kafka-groups, and what a release could read of the groups."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - Typer reads the annotations when it builds a command
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
import typer.core

from falkirk.cli.console.exit_code import ExitCode
from falkirk.cli.console.failure import WrongUsageError
from falkirk.cli.console.options import (
    BootstrapServerOption,  # noqa: TC001 - Typer reads the annotations when it builds a command
    CommandConfigOption,  # noqa: TC001 - same
    JsonOption,  # noqa: TC001 - same
)
from falkirk.cli.console.terminal import print_text

if TYPE_CHECKING:
    from falkirk.cli.groups.connection import GroupConnection

TIMEOUT_MS: Final = 5000
_BARE_OPTIONS: Final = frozenset({"--type", "--state"})
_NO_ACTION: Final = (
    "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will require "
    "either --dry-run or --execute to be specified. You should add the --dry-run option explicitly if you are "
    "scripting this command and want to keep the current default behavior without prompting."
)

TimeoutOption = Annotated[
    int,
    typer.Option("--timeout", metavar="MS", min=1, help="How long a question goes on while coordinators move."),
]
GroupOption = Annotated[
    list[str] | None, typer.Option("--group", metavar="GROUP", help="A group to act on; may be repeated.")
]
AllGroupsOption = Annotated[bool, typer.Option("--all-groups", help="Act on all consumer groups.")]
TopicOption = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="TOPIC[:N,...]", help="A topic, or partitions of it; may be repeated."),
]

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


class ListCommand(typer.core.TyperCommand):
    """`list`, whose --type and --state may stand without a value; Typer has no such options itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # Any: Click's context, which Typer has a copy of
        """Parse the command line with an empty value where another option, or nothing, follows one of the two."""
        filled: list[str] = []
        for word, following in zip(args, [*args[1:], "-"], strict=False):
            filled.append(word)
            if word in _BARE_OPTIONS and following.startswith("-"):
                filled.append("")
        return super().parse_args(ctx, filled)


@app.command("list", cls=ListCommand)
def list_command(
    *,
    type_: Annotated[
        str | None,
        typer.Option("--type", metavar="[TYPES]", help="Show types; of these alone, if any: classic,consumer."),
    ] = None,
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="[STATES]", help="Show states; of these alone, if any: stable,empty."),
    ] = None,
    all_types: Annotated[
        bool, typer.Option("--all-types", help="Groups of all types with their protocols, as kafka-groups does.")
    ] = False,
    group_type: Annotated[
        str | None, typer.Option("--group-type", metavar="TYPE", help="As kafka-groups: of this type alone.")
    ] = None,
    protocol: Annotated[
        str | None, typer.Option("--protocol", metavar="PROTOCOL", help="As kafka-groups: of this protocol alone.")
    ] = None,
    consumer: Annotated[
        bool, typer.Option("--consumer", help="As kafka-groups: all kinds of consumer groups.")
    ] = False,
    share: Annotated[bool, typer.Option("--share", help="As kafka-groups: share groups alone.")] = False,
    streams: Annotated[bool, typer.Option("--streams", help="As kafka-groups: streams groups alone.")] = False,
    bootstrap_server: BootstrapServerOption = None,
    command_config: CommandConfigOption = None,
    timeout: TimeoutOption = TIMEOUT_MS,
    json: JsonOption = False,
) -> None:
    """List consumer groups by id, or groups of all types."""
    from falkirk.cli.groups.actions import run_list, run_list_all  # noqa: PLC0415 - for commands that run
    from falkirk.cli.groups.listing_view import GroupFilter  # noqa: PLC0415 - same

    wanted = GroupFilter(group_type=group_type, protocol=protocol, consumer=consumer, share=share, streams=streams)
    connection = _connection(bootstrap_server, command_config, timeout)
    if not all_types and wanted == GroupFilter():
        run_list(connection, type_, state, json=json)
        return
    if type_ is not None or state is not None:
        raise WrongUsageError(
            "--type and --state are of kafka-consumer-groups: with kafka-groups' list say --group-type"
        )
    run_list_all(connection, wanted, json=json)


@app.command("describe")
def describe(
    *,
    group: GroupOption = None,
    all_groups: AllGroupsOption = False,
    members: Annotated[bool, typer.Option("--members", help="Show members and their assignments.")] = False,
    offsets: Annotated[bool, typer.Option("--offsets", help="Show partitions, offsets and lag; the default.")] = False,
    state: Annotated[bool, typer.Option("--state", help="Show state, coordinator and assignor.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show epochs, too.")] = False,
    bootstrap_server: BootstrapServerOption = None,
    command_config: CommandConfigOption = None,
    timeout: TimeoutOption = TIMEOUT_MS,
    json: JsonOption = False,
) -> None:
    """Describe consumer groups.

    Exit status: 1 if one of them does not exist.
    """
    from falkirk.cli.groups.actions import Shown, WantedGroups, run_describe  # noqa: PLC0415 - for commands that run

    if members + offsets + state > 1:
        raise WrongUsageError("--members, --offsets and --state exclude each other")
    shown = Shown.MEMBERS if members else Shown.STATE if state else Shown.OFFSETS
    wanted = WantedGroups(named=tuple(group or ()), all_groups=all_groups)
    connection = _connection(bootstrap_server, command_config, timeout)
    run_describe(connection, wanted, shown, verbose=verbose, json=json)


@app.command("reset-offsets")
def reset_offsets(
    *,
    group: GroupOption = None,
    all_groups: AllGroupsOption = False,
    topic: TopicOption = None,
    all_topics: Annotated[bool, typer.Option("--all-topics", help="All partitions with an offset.")] = False,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="To where the log begins.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="To where the log ends.")] = False,
    to_current: Annotated[
        bool, typer.Option("--to-current", help="To the committed offset, or the log's end.")
    ] = False,
    to_offset: Annotated[int | None, typer.Option("--to-offset", metavar="OFFSET", help="To this offset.")] = None,
    shift_by: Annotated[
        int | None, typer.Option("--shift-by", metavar="N", help="On by so many offsets; back if it is negative.")
    ] = None,
    to_datetime: Annotated[
        str | None,
        typer.Option("--to-datetime", metavar="TIME", help="To a time: YYYY-MM-DDThh:mm:ss.sss, UTC or with a zone."),
    ] = None,
    by_duration: Annotated[
        str | None, typer.Option("--by-duration", metavar="DURATION", help="Back by a time: PnDTnHnMnS.")
    ] = None,
    from_file: Annotated[
        Path | None, typer.Option("--from-file", metavar="FILE", help="To the offsets of a file from --export.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the new offsets; the default.")] = False,
    execute: Annotated[bool, typer.Option("--execute", help="Commit the new offsets.")] = False,
    export: Annotated[bool, typer.Option("--export", help="Print lines of [group,]topic,partition,offset.")] = False,
    bootstrap_server: BootstrapServerOption = None,
    command_config: CommandConfigOption = None,
    timeout: TimeoutOption = TIMEOUT_MS,
    json: JsonOption = False,
) -> None:
    """Reset the offsets of groups without members.

    Exit status: 1 if a group was left alone.
    """
    from falkirk.cli.groups.actions import WantedGroups, run_reset  # noqa: PLC0415 - for commands that run
    from falkirk.cli.groups.reset_options import parse_scenario, parse_scope  # noqa: PLC0415 - same

    if dry_run and execute:
        raise WrongUsageError("--execute and --dry-run exclude each other")
    if not dry_run and not execute:
        print_text(_NO_ACTION, sys.stderr)
    wanted = WantedGroups(named=tuple(group or ()), all_groups=all_groups)
    wanted.check()
    if not topic and not all_topics and from_file is None:
        raise WrongUsageError("name partitions with --topic, or say --all-topics")
    scenario = parse_scenario(
        to_offset=to_offset,
        to_datetime=to_datetime,
        by_duration=by_duration,
        to_earliest=to_earliest,
        to_latest=to_latest,
        to_current=to_current,
        shift_by=shift_by,
        from_file=from_file,
    )
    scope = parse_scope(topic or (), all_topics=all_topics)
    connection = _connection(bootstrap_server, command_config, timeout)
    run_reset(connection, wanted, scenario, scope, execute=execute, export=export, json=json)


@app.command("delete")
def delete(
    *,
    group: GroupOption = None,
    all_groups: AllGroupsOption = False,
    bootstrap_server: BootstrapServerOption = None,
    command_config: CommandConfigOption = None,
    timeout: TimeoutOption = TIMEOUT_MS,
    json: JsonOption = False,
) -> None:
    """Delete groups without members, with their offsets.

    Exit status: 1 if one was refused.
    """
    from falkirk.cli.groups.actions import WantedGroups, run_delete  # noqa: PLC0415 - for commands that run

    wanted = WantedGroups(named=tuple(group or ()), all_groups=all_groups)
    run_delete(_connection(bootstrap_server, command_config, timeout), wanted, json=json)


@app.command("delete-offsets")
def delete_offsets(
    *,
    group: Annotated[str | None, typer.Option("--group", metavar="GROUP", help="The group to act on.")] = None,
    topic: TopicOption = None,
    bootstrap_server: BootstrapServerOption = None,
    command_config: CommandConfigOption = None,
    timeout: TimeoutOption = TIMEOUT_MS,
    json: JsonOption = False,
) -> None:
    """Delete offsets of a group, of topics to which none of its members subscribes.

    Exit status: 1 if one was refused.
    """
    from falkirk.cli.groups.actions import run_delete_offsets  # noqa: PLC0415 - for commands that run
    from falkirk.cli.groups.reset_options import parse_scope  # noqa: PLC0415 - same

    if group is None or not topic:
        raise WrongUsageError("name the group with --group, and partitions with --topic")
    connection = _connection(bootstrap_server, command_config, timeout)
    run_delete_offsets(connection, group, parse_scope(topic), json=json)


@app.command("check")
def check(
    directories: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[DIR...]",
            help="Log directories, folders of them, or server.properties files of a stopped cluster.",
            show_default=False,
        ),
    ] = None,
    *,
    to: Annotated[str, typer.Option("--to", metavar="RELEASE", help="The Kafka release that is to run.")],
    properties: Annotated[
        list[Path] | None,
        typer.Option("--properties", metavar="FILE", help="A broker's or consumer's properties; may be repeated."),
    ] = None,
    tolerant: Annotated[
        bool,
        typer.Option("--tolerant", help="The brokers are falkirk's, with falkirk.group.coordinator.tolerant=true."),
    ] = False,
    delete_configs: Annotated[
        bool,
        typer.Option("--delete-group-configs", help="Remove the configs of groups that the release does not know."),
    ] = False,
    bootstrap_server: BootstrapServerOption = None,
    command_config: CommandConfigOption = None,
    timeout: TimeoutOption = TIMEOUT_MS,
    json: JsonOption = False,
) -> None:
    """Print what a release could read of the groups, and what to remove first.

    Exit status: 3 if something would be lost, else 0.
    """
    from falkirk.cli.console.output import choose_output  # noqa: PLC0415 - same
    from falkirk.cli.groups.check import checked_cluster, checked_directories  # noqa: PLC0415 - for commands that run
    from falkirk.versions.release import Release  # noqa: PLC0415 - same

    if (bootstrap_server is None) == (not directories):
        raise WrongUsageError("name the directories of a stopped cluster, or a running one with --bootstrap-server")
    if delete_configs and directories:
        raise WrongUsageError("--delete-group-configs is for a running cluster: start it, or let a downgrade drop them")
    release = Release.parse(to)
    if directories:
        checked = checked_directories(release, directories, properties or (), is_tolerant=tolerant)
    else:
        connection = _connection(bootstrap_server, command_config, timeout)
        checked = checked_cluster(
            release, connection, properties or (), is_tolerant=tolerant, delete_configs=delete_configs
        )
    choose_output(json=json).show(checked)
    raise typer.Exit(ExitCode.DONE if checked.check.is_lossless else ExitCode.DATA_WOULD_BE_LOST)


def _connection(servers: str | None, command_config: str | None, timeout_ms: int) -> GroupConnection:
    from falkirk.cli.groups.connection import group_connection  # noqa: PLC0415 - for commands that run

    return group_connection(servers, command_config, timeout_ms)
