"""The program around the commands."""

import importlib
import subprocess
import sys

import pytest
import typer

import falkirk as package
from falkirk.cli import application, main
from falkirk.cli.command_table import COMMANDS, Command
from falkirk.cli.console.failure import DataWouldBeLostError
from falkirk.source_modules import build_name

# What a first answer must not wait for.
SLOW_TO_IMPORT = {"rich", "pydantic", "msgspec", "numpy", "pyarrow", "falkirk.versions", "falkirk.protocol"}


def test_help_lists_every_command_with_a_whole_sentence(falkirk) -> None:
    answer = falkirk("--help")
    assert (answer.exit_code, answer.stderr) == (0, "")
    listed = answer.stdout.partition("Commands:")[2]
    for command in COMMANDS:
        assert f"{command.name} " in listed
        assert command.help in listed, "the help of a command is cut off at 80 columns"
    for code in ("0 done", "1 refused or", "2 wrong usage", "3 refused because"):
        assert code in answer.stdout


def test_the_version_is_that_of_the_package(falkirk) -> None:
    assert falkirk("--version").stdout == f"falkirk {package.__version__} ({build_name()})\n"


@pytest.mark.parametrize(
    "words", [("bogus",), ("--bogus",), ("features", "bogus"), ("storage", "random-uuid", "--bogus"), ()]
)
def test_wrong_usage_exits_with_2_and_says_nothing_on_stdout_but_help(words: tuple[str, ...], falkirk) -> None:
    answer = falkirk(*words)
    assert answer.exit_code == 2
    assert "Usage: falkirk" in answer.stdout + answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_mistyped_command_is_answered_with_the_nearest(falkirk) -> None:
    assert "Did you mean 'features'?" in falkirk("feature").stderr


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_listed_command_is_there(command: Command, falkirk) -> None:
    module = importlib.import_module(command.module)
    if command.is_group:
        assert isinstance(module.app, typer.Typer)
    else:
        assert callable(module.command)
    answer = falkirk(command.name, "--help")
    assert answer.exit_code == 0
    assert answer.stdout.startswith(f"Usage: falkirk {command.name}")


def test_an_expected_error_of_a_command_ends_it_in_one_line(falkirk) -> None:
    answer = falkirk("features", "version-mapping", "--release", "5.0")
    assert answer.exit_code == 1
    assert answer.stdout == ""
    assert answer.stderr.startswith("unknown release '5.0': the tables hold ")
    assert answer.stderr.count("\n") == 1


def failing(error: Exception) -> typer.Typer:
    program = typer.Typer()

    @program.command()
    def fail() -> None:
        raise error

    return program


def test_data_that_would_be_lost_exits_with_3(falkirk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "_program", lambda _chosen: failing(DataWouldBeLostError("2 users")))
    answer = falkirk()
    assert (answer.exit_code, answer.stdout, answer.stderr) == (3, "", "2 users\n")


def test_a_bug_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "_program", lambda _chosen: failing(ZeroDivisionError("ours")))
    with pytest.raises(ZeroDivisionError, match="ours"):
        main([])


def test_help_waits_for_nothing_that_is_slow_to_import() -> None:
    program = """
import sys
from falkirk.cli import main
try:
    main(["--help"])
except SystemExit:
    print("imported:", *sorted(sys.modules))
"""
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    imported = set(ran.stdout.partition("imported:")[2].split())
    assert "falkirk.cli.application" in imported
    assert not imported & SLOW_TO_IMPORT
    assert not imported & {command.module for command in COMMANDS}


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_traceback() -> None:
    program = "import sys; from falkirk.cli import main; sys.stdin.read(); main(['features', 'version-mapping'])"
    writer = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert writer.stdin is not None
    assert writer.stdout is not None
    assert writer.stderr is not None
    writer.stdout.close()
    writer.stdin.close()  # only now it goes on, and writes to nobody
    assert writer.wait(timeout=60) == 1
    assert writer.stderr.read() == b""
    writer.stderr.close()
