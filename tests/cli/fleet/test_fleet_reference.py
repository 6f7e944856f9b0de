"""docs/reference/fleet.md says what the fleet commands take, and which answers a report has."""

import re
from pathlib import Path

import typer

from falkirk.cli.fleet.commands import app
from falkirk.pipeline.reports.fleet_report import ORDERS

DOCS = Path(__file__).parents[3] / "docs" / "reference"
REFERENCE = (DOCS / "fleet.md").read_text()


def table_rows(title):
    _, _, rest = REFERENCE.partition(f"## {title}\n")
    assert rest, title
    section = re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in section.splitlines()
        if line[:1] == "|"
    ]


def options_of_the_program():
    """Return (command, option) of every command."""
    group = typer.main.get_command(app)
    return {
        (name, option)
        for name, command in group.commands.items()
        for parameter in command.params
        if parameter.param_type_name == "option"
        for option in parameter.opts
        if option not in {"--help", "-h"}
    }


def options_of_the_document():
    every = set(typer.main.get_command(app).commands)
    return {
        (command, option)
        for row in table_rows("Options")[2:]
        for option in re.findall(r"--[a-z-]+", row[0])
        for command in (every if row[1] == "all" else row[1].split(", "))
    }


def test_every_option_of_every_command_is_told_and_no_other():
    assert options_of_the_document() == options_of_the_program()


def test_every_command_is_told():
    head = REFERENCE.split("## ", maxsplit=1)[0]
    assert set(re.findall(r"^\| `([a-z]+)", head, re.MULTILINE)) == set(typer.main.get_command(app).commands)


def test_every_answer_of_a_report_is_told():
    told = {name for row in table_rows("The report")[2:] for name in re.findall(r"`([a-z_]+)`", row[0])}
    assert told == {*ORDERS}
