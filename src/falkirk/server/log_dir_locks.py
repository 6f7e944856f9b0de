"""Kafka's `.lock` files: one node at a time has a log directory, ours or Kafka's.

Java's FileChannel.lock takes a POSIX record lock, and so does lockf. Such a lock goes with the process, however it
ends, and with the first close of any handle of the file.
"""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from falkirk.server.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Iterable

LOCK_FILE: Final = ".lock"


class LogDirLocks:
    """The locks of a node's log directories, held until `release`."""

    def __init__(self) -> None:
        self._files: list[IO[bytes]] = []
        self._made: list[Path] = []

    def acquire(self, log_dirs: Iterable[str]) -> None:
        """Lock every directory or none. Raises ServerError if one is taken, OSError if one cannot be written to."""
        for log_dir in sorted(set(log_dirs)):
            path = Path(log_dir) / LOCK_FILE
            is_new = not path.exists()
            file = path.open("ab")
            self._files.append(file)
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                self.release()
                raise ServerError(
                    f"Failed to acquire lock on file .lock in {log_dir}. A Kafka instance in another process or "
                    "thread is using this directory."
                ) from error
            if is_new:
                self._made.append(path)

    def release(self, *, remove_new: bool = False) -> None:
        """Release the directories; `remove_new`: remove lock files that did not exist before."""
        for path in self._made if remove_new else ():
            path.unlink(missing_ok=True)
        self._made.clear()
        for file in self._files:
            file.close()
        self._files.clear()
