"""Text for a terminal: names come from anybody who may create a topic or a group, and must not control it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO


def print_text(text: str, stream: TextIO | None = None) -> None:
    """Print text as it is, as Kafka's tools do; on a terminal with its control characters escaped."""
    stream = stream or sys.stdout
    print(printable(text) if stream.isatty() else text, file=stream, flush=stream is not sys.stdout)


def printable(text: str) -> str:
    r"""Escape what is not printable, but ends of lines and tabs: `\x1b`, `\u202e`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
