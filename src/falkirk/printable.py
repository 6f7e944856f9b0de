"""Text for a terminal: names come from anybody who may create a topic or a group, and must not control it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def printable(text: str) -> str:
    r"""Escape what is not printable, but ends of lines and tabs: `\x1b`, `\u202e`."""
    return _printable(text, _escaped)


def printable_json(text: str) -> str:
    r"""Escape what is not printable in a JSON document as JSON does (`\u009b`): the same document, and harmless."""
    return _printable(text, _utf16)


def _printable(text: str, escaped: Callable[[str], str]) -> str:
    # Documents may have megabytes: only lines with something to escape are looked at by character.
    if text.replace("\n", "").isprintable():
        return text
    return "\n".join(
        line
        if line.isprintable()
        else "".join(char if char.isprintable() or char == "\t" else escaped(char) for char in line)
        for line in text.split("\n")
    )


def _escaped(char: str) -> str:
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _utf16(char: str) -> str:
    data = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[at : at + 2].hex()}" for at in range(0, len(data), 2))
