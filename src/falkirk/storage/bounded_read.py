"""Whole files that are read into memory: of what others wrote, no more than such a file can need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.storage.errors import CorruptFileError

if TYPE_CHECKING:
    from falkirk.storage.disk import ReadableDisk

SMALL_FILE_BYTES_MAX: Final = 1 << 20
"""Of files with a few lines: meta.properties, server.properties, quorum-state, partition.metadata."""
CHECKPOINT_BYTES_MAX: Final = 64 << 20
"""Of files with a line for each partition or user: bootstrap.checkpoint, offset checkpoints, leader epochs."""


def read_bounded(
    disk: ReadableDisk, path: str, bytes_max: int = SMALL_FILE_BYTES_MAX, *, file: str | None = None
) -> bytes:
    """Return a file's bytes. Raises CorruptFileError with `file` (default: the path) if there are more than that."""
    data = disk.read(path, 0, bytes_max + 1)
    if len(data) > bytes_max:
        raise CorruptFileError(
            f"longer than {bytes_max} bytes, the most for this file", offset=bytes_max, file=file or path
        )
    return data
