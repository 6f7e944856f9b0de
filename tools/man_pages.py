"""Write a man page for falkirk and each of its commands: `man_pages.py DIR`. `make release` packs them.

The text is that of `--help`; the pages are roff as `man` reads it.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import falkirk
from falkirk.cli.application import falkirk_command
from falkirk.cli.command_table import COMMANDS, add

_EXIT_STATUS = """.SH EXIT STATUS
0 done, 1 refused or failed, 2 wrong usage, 3 refused because data would be lost."""


def main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        raise SystemExit(__doc__)
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        (folder / f"{name}.1").write_text(text)


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page."""
    listed = "\n".join(f".TP\n.BR falkirk-{each.name} (1)\n{roff(each.help)}" for each in COMMANDS)
    summary = (inspect.getdoc(falkirk_command) or "").split("\n\n")[0]
    head = page_head("falkirk", summary, "falkirk COMMAND [OPTIONS]")
    yield "falkirk", f"{head}\n.SH COMMANDS\n{listed}\n{_EXIT_STATUS}\n"
    for each in COMMANDS:
        program = typer.Typer(add_completion=False)
        add(program, each)
        made: Any = typer.main.get_command(program)  # Any: Typer's own copy of click
        if each.is_group:
            made = made.commands[each.name]
        lines = [page_head(f"falkirk-{each.name}", each.help, f"falkirk {each.name} [OPTIONS]")]
        lines += [section(f"falkirk {path}", command) for path, command in tree(each.name, made)]
        yield f"falkirk-{each.name}", "\n".join([*lines, _EXIT_STATUS]) + "\n"


def tree(path: str, command: Any) -> Iterator[tuple[str, Any]]:  # Any: same
    """Yield a command and its sub-commands, with their paths."""
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from tree(f"{path} {name}", child)


def page_head(name: str, summary: str, synopsis: str) -> str:
    return (
        f'.TH {name.upper()} 1 "" "falkirk {falkirk.__version__}"\n'
        f".SH NAME\n{name} \\- {roff(summary.rstrip('.'))}\n.SH SYNOPSIS\n.B {roff(synopsis)}"
    )


def section(path: str, command: Any) -> str:  # Any: same
    lines = [f".SH {roff(path.upper())}", roff(inspect.cleandoc(command.help or ""))]
    for parameter in command.params:
        names = (
            ", ".join(parameter.opts)
            if parameter.opts[0].startswith("-")
            else parameter.metavar or parameter.name.upper()
        )
        lines += [".TP", f".B {roff(names)}", roff(getattr(parameter, "help", None) or "")]
    return "\n".join(lines)


def roff(text: str) -> str:
    """Escape what roff would take for its own, and begin a paragraph at each empty line."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"(?m)^(?=[.'])", r"\\&", text)
    return re.sub(r"\n\s*\n", "\n.PP\n", text)


if __name__ == "__main__":
    main(sys.argv[1:])
