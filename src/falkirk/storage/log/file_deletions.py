"""Files and partition directories to be deleted after a delay, in steps."""

from __future__ import annotations

import heapq
from collections import deque
from contextlib import suppress
from itertools import count, islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from falkirk.storage.disk import Disk
    from falkirk.storage.log.unified_log import UnifiedLog

# Each is an unlink and a sync of the directory.
_FILES_AT_ONCE: Final = 4


class FileDeletions:
    """Deletes renamed files; the delay lets readers finish.

    Nothing of this is stored: the names of files and directories mark them as deleted. `failed` is called with a log
    directory that fails meanwhile.
    """

    def __init__(self, disk: Disk, failed: Callable[[str, OSError], None]) -> None:
        self._disk = disk
        self._failed = failed
        self._order = count()
        self._due: list[tuple[int, int, str, UnifiedLog | None, tuple[str, ...]]] = []
        # Log directory and path; directories after their content.
        self._begun: deque[tuple[str, str]] = deque()

    def add_directory(self, directory: str, due_ms: int) -> None:
        """Remove a partition's directory and its content at that time."""
        heapq.heappush(self._due, (due_ms, next(self._order), log_dir_of(directory), None, (directory,)))

    def add_files(self, log: UnifiedLog, names: Iterable[str], due_ms: int) -> None:
        """Remove files of a log at that time, wherever its directory is then."""
        heapq.heappush(self._due, (due_ms, next(self._order), log_dir_of(log.directory), log, tuple(names)))

    def drop(self, log_dir: str) -> None:
        """Forget the deletions in a log directory that has failed."""
        self._due = [each for each in self._due if each[2] != log_dir]
        heapq.heapify(self._due)
        self._begun = deque(each for each in self._begun if each[0] != log_dir)

    @property
    def has_begun(self) -> bool:
        """True if there is more to remove at once."""
        return bool(self._begun)

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next deletion is due."""
        return self._due[0][0] if self._due else None

    def run(self, now_ms: int) -> None:
        """Remove a few of the files that are due."""
        if not self._begun and self._due and self._due[0][0] <= now_ms:
            _, _, log_dir, log, names = heapq.heappop(self._due)
            try:
                self._begun.extend((log_dir, path) for path in self._paths(log, names))
            except OSError as error:
                self._failed(log_dir, error)
        for log_dir, path in list(islice(self._begun, _FILES_AT_ONCE)):
            try:
                # Its directory was renamed meanwhile.
                with suppress(FileNotFoundError):
                    self._disk.remove(path)
            except OSError as error:
                self._failed(log_dir, error)
                return
            self._begun.popleft()

    def _paths(self, log: UnifiedLog | None, names: tuple[str, ...]) -> list[str]:
        if log is not None:
            return [f"{log.directory}/{name}" for name in names]
        (directory,) = names
        if not self._disk.exists(directory):
            return []
        return [*(f"{directory}/{name}" for name in self._disk.list(directory)), directory]


def log_dir_of(directory: str) -> str:
    """Return the log directory of a partition's directory."""
    return directory.rpartition("/")[0]
