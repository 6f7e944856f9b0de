"""Byte ranges of a file that end at batch or line borders, so that several workers can read one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.pipeline.readers.lines import last_line_end, next_line
from falkirk.storage.batch_borders import iter_borders

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.pipeline.filesystem import Location

SPLIT_BYTES: Final = 32 * 1024 * 1024
"""Size of a range: as much as a worker reads at a time."""


class FileRange(NamedTuple):
    """Bytes of a file, `end` excluded."""

    start: int
    end: int


def split_batches(location: Location, start: int, end: int, split_bytes: int = SPLIT_BYTES) -> list[FileRange]:
    """Cut the bytes from `start`, where a batch begins, up to the last whole batch before `end` into ranges.

    Each but the last has at least `split_bytes`, and ends with the batch that reaches them. For files that grow: see
    `file_tail.tail_problem` for what follows the ranges. Raises OSError.
    """
    return _cut(iter_borders(location.disk, location.path, start, end), start, split_bytes)


def split_file(location: Location, split_bytes: int = SPLIT_BYTES) -> list[FileRange]:
    """Cut a file into ranges.

    Like `split_batches`, but the last range goes to the end, so that its reader reports what is not a batch; and a
    small file is not read at all. Raises OSError.
    """
    end = location.disk.size(location.path)
    borders = iter_borders(location.disk, location.path, 0, end) if end > split_bytes else ()
    return _to_end(_cut(borders, 0, split_bytes), end)


def split_lines(location: Location, start: int, end: int, split_bytes: int = SPLIT_BYTES) -> list[FileRange]:
    """Cut the bytes from `start`, where a line begins, up to the last line end before `end` into ranges of whole lines.

    Each but the last has at least `split_bytes`. Raises OSError.
    """
    disk, path = location.disk, location.path
    end = last_line_end(disk, path, start, end)
    ranges = []
    while start < end:
        border = next_line(disk, path, start + split_bytes - 1, end) if end - start > split_bytes else end
        ranges.append(FileRange(start, border))
        start = border
    return ranges


def split_text_file(location: Location, split_bytes: int = SPLIT_BYTES) -> list[FileRange]:
    """Cut a file into ranges of whole lines; the last includes a line without its end. Raises OSError."""
    end = location.disk.size(location.path)
    return _to_end(split_lines(location, 0, end, split_bytes), end)


def _cut(borders: Iterable[int], start: int, split_bytes: int) -> list[FileRange]:
    ranges = []
    border = start
    for border in borders:
        if border - start >= split_bytes:
            ranges.append(FileRange(start, border))
            start = border
    if start < border:
        ranges.append(FileRange(start, border))
    return ranges


def _to_end(ranges: list[FileRange], end: int) -> list[FileRange]:
    """Extend the last range to the end."""
    if not end:
        return []
    return [*ranges[:-1], FileRange(ranges[-1].start, end)] if ranges else [FileRange(0, end)]
