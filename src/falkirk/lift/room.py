"""Room on the disks of a lift: enough before it begins, and what to do when one is full nevertheless."""

from __future__ import annotations

import errno
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from falkirk.lift.errors import LiftError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

# The metadata log, two snapshots and the undo bundle, each at most as large as what was fetched; and what comes on top.
_COPIES: Final = 4
_MORE_BYTES: Final = 64 << 20
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


def check_room(directories: Iterable[Path], log_bytes: int) -> None:
    """Raise LiftError if the disk of a directory, which need not exist, has too little room.

    `log_bytes`: the size of the cluster's metadata log with its snapshot.
    """
    needed = _COPIES * log_bytes + _MORE_BYTES
    for directory in directories:
        existing = next(each for each in (directory.absolute(), *directory.absolute().parents) if each.exists())
        free = shutil.disk_usage(existing).free
        if free < needed:
            raise LiftError(f"{directory}: {free} bytes are free on its disk, and the lift may need {needed}")


@contextmanager
def named_if_full(directory: Path) -> Iterator[None]:
    """Raise LiftError for a full disk, with what is to be done. `directory`: where the journal is."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise LiftError(
            f"{error.filename or directory}: {error.strerror}: nothing was given back; make room, and run the same "
            "command again"
        ) from error
