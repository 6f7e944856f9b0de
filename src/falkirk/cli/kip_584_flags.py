"""The flags that the first kafka-features had in the place of commands: `features --describe`. Source: KIP-584."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import typer.core

if TYPE_CHECKING:
    from collections.abc import Container

FLAGS: Final = {"--describe": "describe", "--upgrade-all": "upgrade-all", "--downgrade-all": "downgrade-all"}
"""The command that each flag stands for."""


class FlagFormsGroup(typer.core.TyperGroup):
    """A group whose command may be named by a flag, anywhere among the options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # Any: Click's context, which Typer has a copy of
        """Parse the command line with the command in the place of its flag."""
        return super().parse_args(ctx, with_command_first(args, self.commands))


def with_command_first(words: list[str], commands: Container[str]) -> list[str]:
    """Put the command that a flag stands for before all options; words that name a command stay as they are."""
    for at, word in enumerate(words):
        if word in commands:
            break
        if word in FLAGS:
            return [FLAGS[word], *words[:at], *words[at + 1 :]]
    return words
