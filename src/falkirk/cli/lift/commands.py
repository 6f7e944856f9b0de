"""`falkirk lift`: whether and how a running cluster of real Kafka can go to a lower level, and nodes after it has."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from falkirk.cli.console.client_config import read_client_config
from falkirk.cli.console.copy_progress import CopyProgress
from falkirk.cli.console.exit_code import ExitCode
from falkirk.cli.console.failure import CommandFailedError
from falkirk.cli.console.options import CommandConfigOption, JsonOption  # noqa: TC001 - Typer reads the annotations
from falkirk.cli.console.output import choose_output
from falkirk.cli.console.progress import working
from falkirk.cli.lift.check_view import CheckView
from falkirk.cli.lift.preparation_view import PreparationView
from falkirk.cli.lift.run import abort, run, status
from falkirk.client.config import parse_servers
from falkirk.client.event_loop import run as run_coroutine
from falkirk.logdir.target import parse_target
from falkirk.mirror.cluster_mirror import LiveSource
from falkirk.operations.lift_check import check_lift, read_logs
from falkirk.operations.lift_observation import observe
from falkirk.operations.lift_prepare import prepare_node
from falkirk.operations.lift_properties import findings_of_file
from falkirk.temporary_folder import temporary_folder
from falkirk.versions.configs.definition import ConfigError

if TYPE_CHECKING:
    from falkirk.operations.lift_check import LiftCheck
    from falkirk.operations.lift_prepare import Preparation

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

BrokersOption = Annotated[
    str, typer.Option("--bootstrap-server", metavar="HOST:PORT,...", help="Brokers to connect to.")
]
ControllersOption = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-controller",
        metavar="HOST:PORT,...",
        help="Controllers to connect to; default: where the brokers say that the voters listen (3.9 and later).",
    ),
]
ControllerConfigOption = Annotated[
    str | None,
    typer.Option(
        "--controller-command-config",
        metavar="FILE",
        help="Properties of connections to controllers; default: those of --command-config.",
    ),
]
ToOption = Annotated[
    str, typer.Option("--to", metavar="LEVEL|RELEASE", help="Where to go: 3.9-IV0, or 3.9 for its latest level.")
]
KeepOption = Annotated[
    Path | None,
    typer.Option("--keep", metavar="DIR", help="Keep the fetched logs here, for `falkirk logdir plan` and `fleet`."),
]
PropertiesOption = Annotated[
    list[Path] | None,
    typer.Option("--properties", metavar="FILE", help="A node's server.properties to check, too; may be repeated."),
]
AcceptOption = Annotated[
    list[str] | None,
    typer.Option("--accept", metavar="KEY", help="Go on without this unsupported config; may be repeated."),
]
FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="The server.properties of the stopped node.", show_default=False)
]
ReleaseOption = Annotated[
    str | None,
    typer.Option(
        "--release",
        metavar="RELEASE",
        help="The Kafka release that will start; default: the oldest one that runs the level.",
    ),
]
InPlaceOption = Annotated[
    bool,
    typer.Option("--in-place", help="Bring bootstrap.checkpoint to the level, in the directories, with a backup."),
]
AllOption = Annotated[bool, typer.Option("--all", help="List every loss, not only the first ones of each kind.")]


@app.command()
def check(
    *,
    bootstrap_server: BrokersOption,
    bootstrap_controller: ControllersOption = None,
    to: ToOption,
    keep: KeepOption = None,
    properties: PropertiesOption = None,
    accept: AcceptOption = None,
    command_config: CommandConfigOption = None,
    controller_command_config: ControllerConfigOption = None,
    everything: AllOption = False,
    json: JsonOption = False,
) -> NoReturn:
    """Print what going down would lose, what is in the way, and the way; changes nothing.

    Exit status: 1 if something is in the way or could not be seen, else 3 if something would be lost, else 0.
    """
    target = parse_target(to)
    config = read_client_config(command_config)
    source = LiveSource(
        brokers=parse_servers(bootstrap_server),
        controllers=() if bootstrap_controller is None else parse_servers(bootstrap_controller),
        config=config,
        controller_config=config
        if controller_command_config is None
        else read_client_config(controller_command_config),
    )
    of_files = [each for file in properties or () for each in findings_of_file(file, target.release)]
    with ExitStack() as stack:
        folder = keep or stack.enter_context(temporary_folder("falkirk-lift-"))
        notice = stack.enter_context(working())
        observation = run_coroutine(observe(source, folder, notice))
        notice("reading metadata")
        logs = None if observation.directory is None else read_logs(observation.directory, target)
        found = check_lift(observation, logs, target, of_files=of_files, accepted=accept or ())
    choose_output(json=json).show(CheckView(found, is_kept=keep is not None, everything=everything))
    raise typer.Exit(_status(found))


@app.command()
def prepare(
    file: FileArgument,
    *,
    release: ReleaseOption = None,
    in_place: InPlaceOption = False,
    json: JsonOption = False,
) -> NoReturn:
    """Check a stopped node's directories before an older binary starts on them.

    Exit status: 0 if it can start, 1 if anything is in its way.
    """
    with CopyProgress("checking") as progress:
        found = _prepared(file, release, in_place=in_place, progress=progress)
    choose_output(json=json).show(PreparationView(found))
    raise typer.Exit(ExitCode.DONE if found.is_ready else ExitCode.FAILED)


def _prepared(file: Path, release: str | None, *, in_place: bool, progress: CopyProgress) -> Preparation:
    try:
        return prepare_node(file, release, in_place=in_place, begin=progress.begin, advance=progress.advance)
    except ConfigError as error:
        raise CommandFailedError(f"{file}: {error}") from error


def _status(found: LiftCheck) -> ExitCode:
    if found.blockers:
        return ExitCode.FAILED
    return ExitCode.DONE if found.is_lossless else ExitCode.DATA_WOULD_BE_LOST


app.command()(run)
app.command()(status)
app.command()(abort)
