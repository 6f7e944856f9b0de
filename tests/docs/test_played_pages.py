"""What tutorial and how-to pages tell a reader to type is typed, and prints what they say."""

import re

import pytest
import typer
from played_pages import DOCS, ROOT, commands_of, is_alike, pages_of, play, stage_of

from falkirk.cli.application import _program
from falkirk.cli.command_table import COMMANDS

# Pages that need nothing but Python.
PURE = ("clone",)
# tests/interop/test_kafka_pages.py plays these.
WITH_KAFKA = ("kafka",)
LINE = re.compile(r"^(?:\$ )?(falkirk(?: .*)?)$")


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_of(*PURE))
def test_a_page_prints_what_it_says(page, tmp_path):
    play(page, tmp_path)


def test_every_page_with_commands_and_output_is_played():
    pages = [page for page in DOCS.rglob("*.md") if commands_of(page.read_text())]
    assert {stage_of(page) for page in pages} <= {*PURE, *WITH_KAFKA}
    assert len(pages) >= 2


def test_ports_of_played_pages_are_whole_numbers_so_that_they_can_be_moved_to_free_ones():
    for page in pages_of(*PURE, *WITH_KAFKA):
        assert not re.search(r"\b[23]9\d{0,2}\$", (DOCS / page).read_text()), page


def test_commands_of_a_page_are_read_with_what_they_print():
    text = "```console\n$ a \\\n> b\n1\n...\n$ c\n```\nand\n```console\n$ d\n```\n"
    assert [(each.command, each.expected) for each in commands_of(text)] == [
        ("a \\\nb", ["1", "..."]),
        ("c", []),
        ("d", []),
    ]


def test_output_is_compared_but_for_what_changes_from_run_to_run():
    assert is_alike(["at 127.0.0.1:1", "...", "end"], ["at 127.0.0.1:22", "x", "y", "end"])
    assert is_alike(["16:03:53.935 lowered"], ["09:41:02.001 lowered"])
    assert not is_alike(["lost: 1"], ["lost: 2"])
    assert not is_alike(["a"], ["a", "b"])


def test_every_command_line_in_the_documents_is_one_that_the_program_takes():
    wrong = []
    seen = 0
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        for line in command_lines(page.read_text()):
            seen += 1
            reason = refusal(line)
            if reason:
                wrong.append(f"{page.relative_to(ROOT)}: {line}: {reason}")
    assert seen > 50
    assert wrong == []


def command_lines(text):
    for block in re.findall(r"^```(?:sh|console|)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            found = LINE.match(line.strip())
            if found and not re.search(r"\.\.\.|\bDIR\b", line):
                yield found.group(1)


def refusal(line):
    """Return why the program would not take a command line; None: it would. Nothing is run."""
    words = [word.strip("'\"") for word in re.split(r" \d?[|>&;#]|[|>&;]", line)[0].split()[1:]]
    chosen = next((word for word in words if not word.startswith("-")), None)
    command = _program(chosen if any(chosen == each.name for each in COMMANDS) else None)
    name, context = "falkirk", None
    try:
        while True:
            context = command.make_context(name, words, parent=context)
            words = [*context._protected_args, *context.args]
            if not words or not hasattr(command, "resolve_command"):
                return None
            name, command, words = command.resolve_command(context, words)
    except typer.Exit:
        return None
    except Exception as error:  # Typer's own copy of click has no public name for it
        if not hasattr(error, "format_message"):
            raise
        return error.format_message()
