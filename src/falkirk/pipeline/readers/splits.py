"""Byte ranges of a log file that end where batches end, so that several workers can read one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.pipeline.readers.batch_borders import iter_borders, tail_problem

if TYPE_CHECKING:
    from falkirk.columnar.report import Problem
    from falkirk.storage.disk import ReadableDisk

SPLIT_BYTES: Final = 32 * 1024 * 1024
"""Size of a range: what a worker reads at a time anyway."""


class FileRange(NamedTuple):
    """Bytes of a file, `end` excluded."""

    start: int
    end: int


class WholeEnd(NamedTuple):
    """How far a file can be read: the last border of batches, and what stands behind it, if anything."""

    end: int
    problem: Problem | None


def split_file(
    disk: ReadableDisk, path: str, *, start: int = 0, end: int | None = None, split_bytes: int = SPLIT_BYTES
) -> list[FileRange]:
    """Cut the bytes from `start`, where a batch begins, to `end` (None: the file's end) into ranges of whole batches.

    Each has at least `split_bytes`, and ends with the batch that reaches them. The last one has everything to `end`,
    also what is no batch, so that its reader tells of it. A small file is not read at all. Raises OSError.
    """
    end = disk.size(path) if end is None else end
    ranges = []
    first = start
    if end - start > split_bytes:
        for border in iter_borders(disk, path, start, end):
            if border - first >= split_bytes and border < end:
                ranges.append(FileRange(first, border))
                first = border
    if first < end:
        ranges.append(FileRange(first, end))
    return ranges


def whole_end(disk: ReadableDisk, path: str, *, start: int = 0, end: int | None = None) -> WholeEnd:
    """Find the last border of batches from `start`, where a batch begins, to `end` (None: the file's end).

    For files that grow: what stands behind it is a batch that is being written, or a problem. Raises OSError.
    """
    end = disk.size(path) if end is None else end
    last = start
    for last in iter_borders(disk, path, start, end):  # noqa: B007 - the last one is wanted
        pass
    return WholeEnd(last, tail_problem(disk, path, last, end) if last < end else None)
