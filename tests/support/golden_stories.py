"""Stories as text: commands, a line `----`, their output, an empty line; `#` begins a comment."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def check_story(path: Path, run: Callable[[str], list[str]], *, update: bool) -> None:
    """Run each block's commands and compare their output; with `update` rewrite the file instead."""
    told = path.read_text()
    retold = []
    for block in told.rstrip("\n").split("\n\n"):
        commands = block.split("\n----", 1)[0].split("\n")
        printed = [line for command in commands if command and not command.startswith("#") for line in run(command)]
        is_comment = all(command.startswith("#") for command in commands)
        retold.append("\n".join(commands if is_comment else [*commands, "----", *(printed or ["ok"])]))
    text = "\n\n".join(retold) + "\n"
    if update:
        path.write_text(text)
    assert text == told or update
