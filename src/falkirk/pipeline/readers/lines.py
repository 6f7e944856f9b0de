"""A byte range of a text log as buffers of whole lines, and ranges that end at line ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.columnar.batch_table import CHUNK_BYTES
from falkirk.pipeline.readers.chunks import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.storage.disk import ReadableDisk

LINE_BYTES_MAX: Final = 64 * 1024 * 1024
"""A longer line is yielded in pieces: it is not text, and memory must stay bounded."""
BLOCK_BYTES: Final = 256 * 1024
"""Bytes per read in the search for a line end."""


def iter_line_chunks(
    disk: ReadableDisk, path: str, *, start: int = 0, end: int | None = None, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[Chunk]:
    """Cut the bytes from `start`, where a line begins, to `end` (None: the file's end) into buffers of whole lines.

    A buffer has about `chunk_bytes`, or is one longer line. Only the last can lack its end: a line that is still being
    written. Raises OSError.
    """
    end = disk.size(path) if end is None else end
    position = start
    wanted = chunk_bytes
    while position < end:
        data = disk.read(path, position, min(wanted, end - position))
        whole = data.rfind(b"\n") + 1
        if not whole and len(data) == wanted < LINE_BYTES_MAX:
            wanted = min(2 * wanted, LINE_BYTES_MAX)
            continue
        if not data:
            return
        size = whole or len(data)
        yield Chunk(data=memoryview(data)[:size], position=position)
        position += size
        wanted = chunk_bytes


def next_line(disk: ReadableDisk, path: str, position: int, end: int) -> int:
    """Return the byte behind the first line end at or behind `position`; `end` if there is none before."""
    while position < end:
        data = disk.read(path, position, min(BLOCK_BYTES, end - position))
        found = data.find(b"\n")
        if found >= 0:
            return position + found + 1
        if not data:
            return end
        position += len(data)
    return end


def last_line_end(disk: ReadableDisk, path: str, start: int, end: int) -> int:
    """Return the byte behind the last line end in a range; `start` if there is none."""
    position = end
    while position > start:
        low = max(start, position - BLOCK_BYTES)
        found = disk.read(path, low, position - low).rfind(b"\n")
        if found >= 0:
            return low + found + 1
        position = low
    return start
