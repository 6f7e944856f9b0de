"""Text in lines that are stretched to one width, as the argument parser of Kafka's tools prints its messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH: Final = 75

# A piece that may end a line: up to and with its blanks, a hyphen or dot before no digit, a colon.
_PIECE: Final = re.compile(r".*?(?:[^ ][ ]+|-+(?=[^\d\s-])|[.!?](?=[^\W\d])|:(?=\w)|.$)", re.DOTALL)


def justify(text: str, width: int = WIDTH) -> str:
    """Break the text into lines of at most `width`, and stretch all but the last to it where they have blanks.

    A piece that is longer than a line stands alone on it, uncut.
    """
    return "\n".join(_lines(text, width))


def _lines(text: str, width: int) -> Iterator[str]:
    line = ""
    for piece in _PIECE.findall(text):
        if line and len(line) + len(piece) > width:
            yield _stretched(line, width)
            line = ""
        line += piece
    yield line


def _stretched(line: str, width: int) -> str:
    """Widen the blanks of a line evenly; what is left over goes to the middle ones."""
    words = line.rstrip(" ").split(" ")
    gaps = len(words) - 1
    missing = width - len(line.rstrip(" "))
    if gaps == 0 or missing <= 0:
        return line.rstrip(" ")
    each, over = divmod(missing, gaps)
    first_wider = (gaps - over + 1) // 2
    stretched = words[0]
    for gap, word in enumerate(words[1:]):
        wider = first_wider <= gap < first_wider + over
        stretched += " " * (1 + each + wider) + word
    return stretched
