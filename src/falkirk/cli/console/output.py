"""The seam between a command and its output: a command computes a result and hands it to an output.

Every result has both forms. Text is that of Kafka's tools, or made for people; JSON is one document on stdout, made for
programs. Messages go to stderr, not through an output.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from falkirk.cli.console.terminal import print_json, print_text

if TYPE_CHECKING:
    from collections.abc import Iterable


class Result(Protocol):
    """The result of a command."""

    def text(self) -> Iterable[str]:
        """Return the lines for people."""

    def document(self) -> object:
        """Return the same for programs: dicts, lists, strings, numbers; dataclasses and structs by their fields."""


class Output(Protocol):
    """Prints results in one form."""

    def show(self, result: Result) -> None:
        """Print the result of a command."""

    def show_before_failure(self, result: Result) -> None:
        """Print a partial result before an error, where it is of use."""


class TextOutput:
    """Lines on stdout."""

    def show(self, result: Result) -> None:
        """Print line by line, so that a long result appears as it is made."""
        for line in result.text():
            print_text(line)

    def show_before_failure(self, result: Result) -> None:
        """Print the lines, and flush them so that they precede the message on stderr."""
        self.show(result)
        sys.stdout.flush()


class JsonOutput:
    """One document on stdout."""

    def show(self, result: Result) -> None:
        """Print the whole document, indented."""
        print_json(result.document())

    def show_before_failure(self, result: Result) -> None:
        """Print nothing: a program gets a whole document or none."""


def choose_output(*, json: bool) -> Output:
    """Return the output of --json, or of text."""
    return JsonOutput() if json else TextOutput()
