"""A standard output that is not buffered (PYTHONUNBUFFERED) and still writes all that it is given.

A signal or a descriptor that does not block may cut a write to a pipe short. Python's text layer takes what an
unbuffered file has written for all of it: the rest is lost, and the exit status is 0.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _WholeWrites(io.FileIO):
    """A file whose writes go on until everything is written."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write everything. Raises BlockingIOError if the descriptor does not block and nobody reads."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:
            written = super().write(rest)
            if written is None:
                raise BlockingIOError(f"{len(rest)} of {size} bytes are not written: nobody reads")
            rest = rest[written:]
        return size


def write_whole() -> None:
    """Let the standard output write all that it is given, if it is not buffered."""
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper) and type(out.buffer) is io.FileIO:
        whole = _WholeWrites(out.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(
            whole, out.encoding, out.errors, line_buffering=out.line_buffering, write_through=True
        )
