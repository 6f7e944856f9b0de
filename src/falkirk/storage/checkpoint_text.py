"""The form of Kafka's text checkpoints: a version line, a line with the count, one line per entry."""

import re
from collections.abc import Iterable, Sequence

from falkirk.slices import SliceBudget, Slices, exhaust
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.integer_text import parse_integer

_VERSION = 0
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_BLANKS = re.compile(r"[ \t\n\x0b\f\r]+")


Entries = list[tuple[int, list[str]]]
"""The byte offset of each line, and its columns."""


def parse_checkpoint(data: bytes, *, columns: int, file: str) -> Entries | None:
    """Do what `checkpoint_slices` does, at once."""
    return exhaust(checkpoint_slices(data, columns=columns, file=file))


def checkpoint_slices(data: bytes, *, columns: int, file: str) -> Slices[Entries | None]:
    """Return the entries of a file; None for an empty one.

    Kafka creates these files empty and fills them later; after a hard stop they may still be empty. Raises
    CorruptFileError for another version, a count that differs from the number of lines, or a malformed line.
    """
    if not data:
        return None
    lines = yield from _lines(data, file)
    version = parse_integer(lines[0][1], what="version", bits=32, offset=0, file=file)
    if version != _VERSION:
        raise CorruptFileError(f"version is {version}, 0 was expected", offset=0, file=file)
    if len(lines) == 1:
        raise CorruptFileError("file ends before the number of entries", offset=len(data), file=file)
    count = parse_integer(lines[1][1], what="number of entries", bits=32, offset=lines[1][0], file=file)
    entries: Entries = []
    budget = SliceBudget()
    for offset, line in lines[2:]:
        if budget.spend(1):
            yield
        fields = _BLANKS.split(line)
        if len(fields) != columns:
            raise CorruptFileError(f"line {line!r} should have {columns} columns", offset=offset, file=file)
        entries.append((offset, fields))
    if len(entries) != count:
        reason = f"{count} entries are announced, {len(entries)} are there"
        raise CorruptFileError(reason, offset=lines[1][0], file=file)
    return entries


def format_checkpoint(entries: Sequence[Iterable[object]]) -> bytes:
    """Write entries, their columns separated by a blank."""
    return checkpoint_header(len(entries)) + checkpoint_lines(entries)


def checkpoint_header(count: int) -> bytes:
    """Return the lines before the entries."""
    return f"{_VERSION}\n{count}\n".encode()


def checkpoint_lines(entries: Iterable[Iterable[object]]) -> bytes:
    """Return the lines of some entries."""
    return "".join([" ".join(map(str, entry)) + "\n" for entry in entries]).encode()


def _lines(data: bytes, file: str) -> Slices[list[tuple[int, str]]]:
    lines: list[tuple[int, str]] = []
    at, budget = 0, SliceBudget()
    while at < len(data):
        if budget.spend(1):
            yield
        match = _LINE.match(data, at)
        assert match is not None
        try:
            lines.append((at, match.group().rstrip(b"\r\n").decode()))
        except UnicodeDecodeError as error:
            raise CorruptFileError("line is not UTF-8", offset=at + error.start, file=file) from error
        at = match.end()
    return lines
