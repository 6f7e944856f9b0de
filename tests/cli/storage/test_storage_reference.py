"""docs/reference/storage.md says what the program does: its examples, its options."""

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


def test_the_examples_run_as_they_are_shown(falkirk, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("server.properties").write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\nlog.dirs=data\n"
        "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
        "controller.quorum.bootstrap.servers=127.0.0.1:9093\n"
    )
    examples = [line.removeprefix("$ falkirk ").split() for line in REFERENCE.splitlines() if line.startswith("$ ")]
    assert len(examples) == 3
    answers = [falkirk(*words) for words in examples]
    assert [(answer.exit_code, answer.stderr) for answer in answers] == [(0, "")] * 3
    assert answers[1].stdout.endswith(
        "Formatting dynamic metadata voter directory data with metadata.version 4.3-IV0.\n"
    )
    assert "cluster.id=XtA9bWsOSbmDd2j0xdCbJA" in answers[2].stdout
