"""docs/reference/quorum.md says what the program does: commands and options."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "quorum.md"
COMMANDS = ("describe", "add", "remove", "upgrade", "unregister")


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the first table behind a text, without its head."""
    lines = PAGE.read_text().partition(heading)[2].splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("|---"))
    table = lines[start + 1 : next(at for at, line in enumerate(lines[start:], start) if not line.startswith("|"))]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_all_commands_are_listed(falkirk):
    listed = falkirk("quorum", "--help").stdout.partition("Commands:")[2]
    assert tuple(row[0].strip("`") for row in rows("# `falkirk quorum`")) == COMMANDS
    assert tuple(re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE)) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_the_options_are_those_of_the_help(falkirk, command):
    usage = falkirk("quorum", command, "--help").stdout
    has = set(re.findall(r"(?<![\w-])--[a-z-]+", usage.partition("Options:")[2])) - {"--help"}
    has = {option for option in has if not option.startswith("--no-")}
    listed = {
        cells[0].strip("`").split()[0]
        for cells in rows("## Options")
        if cells[1] == "all" or command in cells[1].split(", ")
    }
    assert has == listed
