"""`falkirk lift run`, `abort` and `status`: a lift, as its file says."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from falkirk.cli.console.client_config import read_client_config
from falkirk.cli.console.options import JsonOption  # noqa: TC001 - Typer reads the annotations
from falkirk.cli.console.output import choose_output
from falkirk.cli.console.progress import working
from falkirk.cli.console.terminal import print_json, print_text
from falkirk.cli.lift.status_view import StatusView, entry_text
from falkirk.client.event_loop import run as run_coroutine
from falkirk.lift.journal import Journal
from falkirk.lift.lift import Lift, LiftConnections
from falkirk.lift.lift_file import LiftFile, read_lift_file
from falkirk.lift.report import write_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from falkirk.lift.journal import Entry

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The lift's file, lift.yaml.")]


def run(file: FileArgument, *, json: JsonOption = False) -> None:
    """Lower the level of a running cluster, or go on with a lift that was stopped.

    Prints each step, with --json an object a line. Before the level is low, a step that fails gives the quorum back as
    it was. Exit status: 3 if something would be lost that accept_losses does not name.
    """
    read = read_lift_file(file)
    with working() as notice, _stopped(file, read):
        run_coroutine(_lift(read, notice, json=json).run())
    _report(read, json=json)


def abort(file: FileArgument, *, json: JsonOption = False) -> None:
    """Restore the voters of before, as long as the level has not been lowered."""
    read = read_lift_file(file)
    with working() as notice, _stopped(file, read):
        run_coroutine(_lift(read, notice, json=json).abort())
    _report(read, json=json)


def status(file: FileArgument, *, json: JsonOption = False) -> None:
    """Print where a lift is: its steps, the level, the voters. Changes nothing."""
    found = run_coroutine(_lift(read_lift_file(file), lambda _: None, json=json).status())
    choose_output(json=json).show(StatusView(found))


@contextmanager
def _stopped(file: Path, read: LiftFile) -> Iterator[None]:
    """Print what goes on where Ctrl-C ends the command, if the lift has begun."""
    try:
        yield
    except KeyboardInterrupt:
        journal = Journal(Path(read.state))
        if journal.originals() is not None and not journal.is_over:
            print_text(
                f"stopped, and nothing was given back: falkirk lift run {file} goes on; falkirk lift abort {file} "
                "gives the quorum back as long as the level is not low",
                sys.stderr,
            )
        raise


def _lift(read: LiftFile, notice: Callable[[str], None], *, json: bool) -> Lift:
    brokers = read_client_config(read.command_config)
    own = read.controller_command_config
    controllers = brokers if own is None else read_client_config(own)

    def show(entry: Entry) -> None:
        if json:
            print_json(entry, indented=False)
        else:
            print_text(entry_text(entry))
            sys.stdout.flush()

    return Lift(read, LiftConnections(brokers=brokers, controllers=controllers), notice=notice, on_entry=show)


def _report(read: LiftFile, *, json: bool) -> None:
    path = write_report(Path(read.state))
    if not json:
        print_text(f"report: {path}")
