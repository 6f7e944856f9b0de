"""docs/reference/storage.md says what the program does: its options; its examples are played by tests/docs."""

import re
from pathlib import Path

import typer
from typer.main import get_command

from falkirk.cli.storage.commands import app
from falkirk.storage.formatting.rules import format_rules
from falkirk.versions.release import Release

REFERENCE = (Path(__file__).parents[3] / "docs" / "reference" / "storage.md").read_text()


def test_the_options_of_format_are_those_of_the_table():
    section = REFERENCE.partition("## `format`\n")[2].partition("All checks precede")[0]
    told = {
        tuple(re.findall(r"`(-[^`]+)`", row.split("|")[1])) for row in section.splitlines() if row.startswith("| `-")
    }
    command = get_command(app)
    assert isinstance(command, typer.core.TyperGroup)
    options = {tuple(option.opts) for option in command.commands["format"].params if option.name != "help"}
    assert told == options


def test_the_table_of_releases_says_what_the_rules_are():
    rows = [line.strip("| ").split(" | ") for line in REFERENCE.splitlines() if line.startswith("|")]
    table = {row[0]: row[1:] for row in rows}
    releases = ["3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4"]
    assert "| | 3.7 | 3.8 | 3.9 | 4.0 | 4.1 | 4.2, 4.3 | 4.4 |" in REFERENCE
    rules = {release: format_rules(Release.parse(release)) for release in releases}

    def told(name: str) -> list[bool]:
        cells = [cell.strip() in ("yes", "left out") for cell in table[name]]
        return [*cells[:6], *cells[5:]]

    ibp = "`inter.broker.protocol.version` is the default of `--release-version`"
    assert told("dynamic voters") == [rule.has_dynamic_voters for rule in rules.values()]
    assert told(ibp) == [rule.reads_inter_broker_protocol for rule in rules.values()]
    assert told("prints the records before it writes them") == [rule.tells_records for rule in rules.values()]
    assert told("a directory that cannot be read") == [rule.skips_unreadable for rule in rules.values()]
