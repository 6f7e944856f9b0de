"""The `falkirk` program: its commands, their exit status, and the one place that prints errors.

Only the module of the chosen command is imported, so that start-up is fast; `falkirk --help` needs the table alone.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Annotated

import typer

import falkirk
from falkirk.cli.command_table import COMMANDS, add
from falkirk.cli.console.exit_code import ExitCode
from falkirk.cli.console.failure import explain
from falkirk.cli.console.terminal import print_text
from falkirk.cli.console.whole_writes import write_whole
from falkirk.source_modules import build_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit with its code (falkirk.cli.console.exit_code)."""
    write_whole()
    words = list(sys.argv[1:] if arguments is None else arguments)
    code = _run(words)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away, as `head` does. Without a stdout the interpreter has nothing to flush at exit.
        sys.stdout = None
        code = code or ExitCode.FAILED
    sys.exit(code)


def _run(words: list[str]) -> int:
    try:
        chosen = next((word for word in words if not word.startswith("-")), None)
        _program(chosen if any(chosen == command.name for command in COMMANDS) else None)(
            args=words, prog_name="falkirk"
        )
    except SystemExit as ending:
        return _exit_code(ending)
    except Exception as error:  # the outermost place of the program: what is not expected is raised again
        explained = explain(error)
        if explained is None:
            raise
        code, message = explained
        print_text(message, sys.stderr)
        return code
    return ExitCode.DONE


def _exit_code(ending: SystemExit) -> int:
    if ending.code is None:
        return ExitCode.DONE
    assert isinstance(ending.code, int), "Typer ends with a number"
    return ending.code


@functools.cache
def _program(chosen: str | None) -> Callable[..., None]:
    """Return the program with the chosen command and stubs of the others. Typer builds it slowly."""
    # Plain help: Rich's takes twice as long to come up as all the rest.
    application = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    application.callback()(falkirk_command)
    for command in COMMANDS:
        if command.name == chosen:
            add(application, command)
        else:
            application.command(command.name, help=command.help)(_not_chosen)
    return typer.main.get_command(application)


def _not_chosen() -> None:
    raise AssertionError("a command that is not the first word cannot run")


def _print_version(wanted: bool) -> None:
    if wanted:
        print_text(f"falkirk {falkirk.__version__} ({build_name()})")
        raise typer.Exit


def falkirk_command(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Move an Apache Kafka cluster's versions up and down, and say beforehand what a move would cost.

    Every command takes --json (one document on stdout); messages go to stderr. Exit status: 0 done, 1 refused or
    failed, 2 wrong usage, 3 refused because data would be lost.
    """
