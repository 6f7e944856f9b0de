"""`falkirk quorum`: as kafka-metadata-quorum; voters are changed without Kafka's tool, too."""

from __future__ import annotations

from typing import Annotated

import typer

from falkirk.cli.console.connected_command import connected
from falkirk.cli.console.options import (  # Typer reads the annotations when it builds a command
    BootstrapControllerOption,
    BootstrapServerOption,
    CommandConfigOption,
    ConnectionOptions,
    JsonOption,
)

ControllerIdOption = Annotated[
    int | None, typer.Option("--controller-id", "-i", metavar="ID", help="The node id of the controller.")
]
RequiredControllerIdOption = Annotated[
    int, typer.Option("--controller-id", "-i", metavar="ID", help="The node id of the controller.")
]
DirectoryIdOption = Annotated[
    str | None,
    typer.Option(
        "--controller-directory-id",
        "-d",
        metavar="UUID",
        help="The id of its metadata directory; default: the one that the quorum knows.",
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print what would be done, and do nothing.")]

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def quorum(
    context: typer.Context,
    *,
    bootstrap_server: BootstrapServerOption = None,
    bootstrap_controller: BootstrapControllerOption = None,
    command_config: CommandConfigOption = None,
) -> None:
    """Keep the connection options that precede the command, as kafka-metadata-quorum has them."""
    context.obj = ConnectionOptions(
        bootstrap_server=bootstrap_server, bootstrap_controller=bootstrap_controller, command_config=command_config
    )


@app.command("describe")
@connected
def describe(
    context: typer.Context,
    *,
    status: Annotated[bool, typer.Option("--status", help="Print leader, lag, voters and observers.")] = False,
    replication: Annotated[bool, typer.Option("--replication", help="Print a table of all replicas.")] = False,
    human_readable: Annotated[
        bool, typer.Option("--human-readable", help="Print times as how long ago they were.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Print the quorum of the metadata log; with --json all of it.

    Registrations that outlive their server are named on stderr.
    """
    from falkirk.cli.quorum.actions import run_describe  # noqa: PLC0415 - for commands that run

    run_describe(context, status=status, replication=replication, human_readable=human_readable, json=json)


@app.command("add")
@app.command("add-controller", hidden=True)
@connected
def add(
    context: typer.Context,
    *,
    controller_id: ControllerIdOption = None,
    directory_id: DirectoryIdOption = None,
    endpoint: Annotated[
        list[str] | None,
        typer.Option(
            "--controller-endpoint",
            metavar="NAME://HOST:PORT",
            help="A listener at which other controllers reach it; may be repeated.",
        ),
    ] = None,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Make a controller a voter (kraft.version 1): the one whose server.properties --command-config names.

    Without its file: --controller-id and --controller-endpoint.
    """
    from falkirk.cli.quorum.actions import NamedController, run_add  # noqa: PLC0415 - for commands that run

    named = NamedController(controller_id=controller_id, directory_id=directory_id, endpoints=tuple(endpoint or ()))
    run_add(context, named, dry_run=dry_run, json=json)


@app.command("remove")
@app.command("remove-controller", hidden=True)
@connected
def remove(
    context: typer.Context,
    *,
    controller_id: RequiredControllerIdOption,
    directory_id: DirectoryIdOption = None,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Make a voter an observer (kraft.version 1)."""
    from falkirk.cli.quorum.actions import NamedController, run_remove  # noqa: PLC0415 - for commands that run

    named = NamedController(controller_id=controller_id, directory_id=directory_id)
    run_remove(context, named, dry_run=dry_run, json=json)


@app.command("upgrade")
@connected
def upgrade(context: typer.Context, *, dry_run: DryRunOption = False, json: JsonOption = False) -> None:
    """Make static voters dynamic: kraft.version 1, from 4.1 on; a running cluster cannot go back."""
    from falkirk.cli.quorum.actions import run_upgrade  # noqa: PLC0415 - for commands that run

    run_upgrade(context, dry_run=dry_run, json=json)


@app.command("unregister")
@connected
def unregister(
    context: typer.Context,
    *,
    controller_id: Annotated[int, typer.Option("--id", metavar="ID", help="The node id of the controller.")],
    json: JsonOption = False,
) -> None:
    """Remove the registration of a controller that is gone for good (metadata.version 4.4-IV2 and above)."""
    from falkirk.cli.quorum.actions import run_unregister  # noqa: PLC0415 - for commands that run

    run_unregister(context, controller_id, json=json)
