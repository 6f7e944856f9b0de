"""Printing: all output of commands but bytes goes through here."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from falkirk.printable import printable, printable_json

if TYPE_CHECKING:
    from typing import TextIO


def print_text(text: str, stream: TextIO | None = None) -> None:
    """Print text as it is, as Kafka's tools do; on a terminal with its control characters escaped."""
    stream = stream or sys.stdout
    print(printable(text) if stream.isatty() else text, file=stream, flush=stream is not sys.stdout)


def print_json(document: object, *, indented: bool = True) -> None:
    """Print a document on stdout, or a line that is there at once; nothing in it controls a terminal."""
    import msgspec  # noqa: PLC0415 - text needs no JSON

    encoded = msgspec.json.encode(document)
    text = (msgspec.json.format(encoded, indent=2) if indented else encoded).decode()
    print(printable_json(text), flush=not indented)
