"""Bounds the text of an error message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
# A string of a response has at most 32767 bytes, more than an operator reads.
_TEXT_CHARS_MAX: Final = 4000


def bounded_text(parts: Sequence[T], separator: str, text: Callable[[T], str] = str) -> str:
    """Join the texts of parts up to a bound that a response can hold and an operator reads; the rest is counted."""
    kept: list[str] = []
    size = 0
    for part in map(text, parts):
        size += len(part) + len(separator)
        if kept and size > _TEXT_CHARS_MAX:
            break
        kept.append(part)
    more = len(parts) - len(kept)
    return separator.join([*kept, *([f"And {more} more."] if more else [])])
