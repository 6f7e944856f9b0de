"""The seam between a command and what it prints: a command computes a result and hands it to an output.

Every command has both forms. Text is what Kafka's tools print, or made for people; JSON is one document on stdout,
made for programs. Messages never go through here: they belong on stderr.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType


class Result(Protocol):
    """What a command found out."""

    def text(self) -> Iterable[str | RenderableType]:
        """Give the lines for people: strings as they are, or Rich tables and trees."""

    def document(self) -> object:
        """Give the same for programs: dicts, lists, strings, numbers; dataclasses and structs by their fields."""


class Output(Protocol):
    """Where results go."""

    def show(self, result: Result) -> None:
        """Print a command's result."""

    def show_before_failure(self, result: Result) -> None:
        """Print what was found before something failed, where half a result is of use."""


class TextOutput:
    """Lines on stdout."""

    def show(self, result: Result) -> None:
        """Print line by line, so that a long result appears as it is made."""
        for part in result.text():
            if isinstance(part, str):
                print(part)
            else:
                _print_renderable(part)

    def show_before_failure(self, result: Result) -> None:
        """Print it as usual, and in order with the message that will follow on stderr."""
        self.show(result)
        sys.stdout.flush()


class JsonOutput:
    """One document on stdout."""

    def show(self, result: Result) -> None:
        """Print the whole document, indented."""
        import msgspec  # noqa: PLC0415 - text needs no JSON

        encoded = msgspec.json.encode(result.document())
        print(msgspec.json.format(encoded, indent=2).decode())

    def show_before_failure(self, result: Result) -> None:
        """Print nothing: a program gets a whole document or none."""


def choose_output(*, json: bool) -> Output:
    """Give the output that the command line asks for."""
    return JsonOutput() if json else TextOutput()


def _print_renderable(part: RenderableType) -> None:
    from rich.console import Console  # noqa: PLC0415 - most commands print plain lines

    Console().print(part)
