"""A byte range of a log file as buffers of whole batches, so that memory is that of a buffer, not of the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.columnar.batch_table import CHUNK_BYTES
from falkirk.pipeline.readers.file_tail import tail_problem
from falkirk.protocol.record_batch import HEADER_BYTES
from falkirk.storage.batch_borders import borders, first_batch_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.columnar.report import ReadReport
    from falkirk.storage.disk import ReadableDisk


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Whole batches, or whole lines, and the byte of the file where they start."""

    data: memoryview
    position: int


class CutShortError(Exception):
    """The file ended, or had no whole batch, before the end of the range that was to be read."""


def until_end(chunks: Iterable[Chunk], end: int) -> Iterator[Chunk]:
    """Yield the buffers of a range that ends with a whole batch or line; raise CutShortError if they end before it."""
    position = 0
    for chunk in chunks:
        yield chunk
        position = chunk.position + len(chunk.data)
    if position < end:
        raise CutShortError


def iter_chunks(
    disk: ReadableDisk,
    path: str,
    report: ReadReport,
    *,
    start: int = 0,
    end: int | None = None,
    chunk_bytes: int = CHUNK_BYTES,
) -> Iterator[Chunk]:
    """Cut the bytes from `start`, where a batch begins, to `end` (None: the file's end) into buffers of whole batches.

    A buffer has about `chunk_bytes`, or is one larger batch. What follows the last whole batch goes to `report`, see
    `file_tail.tail_problem`. Raises OSError.
    """
    end = disk.size(path) if end is None else end
    position = start
    while position < end:
        data = memoryview(disk.read(path, position, min(max(chunk_bytes, HEADER_BYTES), end - position)))
        whole = _last_border(data)
        if not whole:
            size = first_batch_bytes(data)
            if size is not None and len(data) < size <= end - position:
                data = memoryview(disk.read(path, position, size))
                whole = _last_border(data)
        if not whole:
            report.add(tail_problem(disk, path, position, end))
            return
        yield Chunk(data=data[:whole], position=position)
        position += whole


def _last_border(data: memoryview) -> int:
    """Return the bytes of the whole batches at the start of a buffer."""
    last = 0
    for border in borders(data):
        last = border
    return last
