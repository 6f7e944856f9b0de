"""The form of Kafka's text checkpoints: a version line, a line with the count, one line per entry."""

import re
from collections.abc import Iterable, Sequence

from falkirk.storage.errors import CorruptFileError
from falkirk.storage.integer_text import parse_integer

_VERSION = 0
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_BLANKS = re.compile(r"[ \t\n\x0b\f\r]+")


def parse_checkpoint(data: bytes, *, columns: int, file: str) -> list[tuple[int, list[str]]] | None:
    """Return (byte offset of the line, its columns) for each entry; None for an empty file.

    Kafka creates these files empty and fills them later; after a hard stop they may still be empty. Raises
    CorruptFileError for another version, a count that differs from the number of lines, or a malformed line.
    """
    if not data:
        return None
    lines = _lines(data, file)
    version = parse_integer(lines[0][1], what="version", bits=32, offset=0, file=file)
    if version != _VERSION:
        raise CorruptFileError(f"version is {version}, 0 was expected", offset=0, file=file)
    if len(lines) == 1:
        raise CorruptFileError("file ends before the number of entries", offset=len(data), file=file)
    count = parse_integer(lines[1][1], what="number of entries", bits=32, offset=lines[1][0], file=file)
    entries: list[tuple[int, list[str]]] = []
    for offset, line in lines[2:]:
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


def _lines(data: bytes, file: str) -> list[tuple[int, str]]:
    lines: list[tuple[int, str]] = []
    at = 0
    while at < len(data):
        match = _LINE.match(data, at)
        assert match is not None
        try:
            lines.append((at, match.group().rstrip(b"\r\n").decode()))
        except UnicodeDecodeError as error:
            raise CorruptFileError("line is not UTF-8", offset=at + error.start, file=file) from error
        at = match.end()
    return lines
