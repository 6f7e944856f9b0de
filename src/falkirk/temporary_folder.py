"""Temporary folders that do not outlive their program for long: what a killed one leaves, the next one removes."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# Held by the program that the folder belongs to.
_LOCK: Final = "lock"
_CONTENT: Final = "content"


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Yield an empty folder that goes with the block. First remove those of `prefix` whose programs have ended."""
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*/{_LOCK}"):
        _remove_left(left)
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as name, ExitStack() as stack:
        # Before the lock there is nothing to remove it by, so that nobody takes the folder for one that was left.
        unnamed = stack.enter_context((Path(name) / f"{_LOCK}.new").open("x"))
        _hold(unnamed)
        Path(unnamed.name).rename(Path(name) / _LOCK)
        content = Path(name) / _CONTENT
        content.mkdir()
        yield content


def _remove_left(lock: Path) -> None:
    try:
        with lock.open() as held:
            _hold(held)
            shutil.rmtree(lock.parent, ignore_errors=True)
    except OSError:
        # Of a program that runs, of somebody else, or gone already.
        return


def _hold(file: IO[str]) -> None:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
