"""Options whose value may be left out, as `--state` of kafka-consumer-groups; Typer has no such options itself."""

from __future__ import annotations

from typing import Any, ClassVar

import typer.core


class BareOptionsCommand(typer.core.TyperCommand):
    """Gives the options in `bare_options` an empty value where another option, or nothing, follows them."""

    bare_options: ClassVar[frozenset[str]] = frozenset()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # Any: Click's context, which Typer has a copy of
        """Parse the command line with the empty values put in."""
        filled: list[str] = []
        for word, following in zip(args, [*args[1:], "-"], strict=False):
            filled.append(word)
            if word in self.bare_options and following.startswith("-"):
                filled.append("")
        return super().parse_args(ctx, filled)
