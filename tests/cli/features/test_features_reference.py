"""docs/reference/features.md says what the program does: its commands, its options."""

import re
from pathlib import Path

from typer.core import TyperGroup
from typer.main import get_command

from falkirk.cli.features.commands import app
from falkirk.cli.features.options import WAIT_DEFAULT_S

REFERENCE = (Path(__file__).parents[3] / "docs" / "reference" / "features.md").read_text()
MAPPING = {"version-mapping", "feature-dependencies"}
CONNECTION = {"--bootstrap-server", "--bootstrap-controller", "--command-config", "--help"}


def commands():
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    return {
        name: {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
        for name, command in group.commands.items()
    }


def rows(heading):
    section = REFERENCE.partition(f"{heading}\n")[2].partition("\n## ")[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("| `")]


def test_every_command_is_told():
    told = {row[0].strip("`") for row in rows("# `falkirk features`")}
    assert told == set(commands())


def test_every_option_is_told_of_the_commands_that_have_it():
    asking = {name: options - CONNECTION for name, options in commands().items() if name not in MAPPING}
    told = {name: set() for name in asking}
    for option, of, _ in rows("## Options"):
        named = set(re.findall(r"`([a-z-]+)`", of))
        if of == "all that change":
            named = set(asking) - {"describe", "export"}
        for name in named or asking:
            told[name] |= set(re.findall(r"--[a-z0-9-]+", option))
    assert told == asking


def test_the_default_time_to_wait_is_told():
    assert f"by default {WAIT_DEFAULT_S:.0f} |" in REFERENCE
