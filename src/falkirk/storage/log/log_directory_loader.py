"""Opens all logs of one log directory in steps: thousands of them take seconds."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.slices import VISITS_PER_SLICE
from falkirk.storage.log.log_loader import SCANNED_AT_ONCE
from falkirk.storage.log.log_opening import LogOpening
from falkirk.storage.offset_checkpoints import (
    LOG_START_FILE_NAME,
    RECOVERY_POINT_FILE_NAME,
    REPLICATION_FILE_NAME,
)
from falkirk.storage.partition_directory import METADATA_DIRECTORY, DirectoryState, parse_partition_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from falkirk.storage.disk import Disk
    from falkirk.storage.log.file_deletions import FileDeletions
    from falkirk.storage.log.log_config import LogConfig
    from falkirk.storage.log.log_directory import LogDirectory
    from falkirk.storage.log.unified_log import UnifiedLog

LOG_BYTES: Final = 4 << 20
"""The fixed cost of opening a log, in bytes that could be scanned meanwhile: a dozen system calls, some syncs."""

ENTRY_BYTES: Final = 2048
"""The cost of reading an entry of a checkpoint, in the same unit."""


class LogDirectoryLoader:
    """`loaded`: opened logs, and whether each is a future one; `directory` does not have them yet.

    Directories marked as deleted are added to `deletions`.
    """

    def __init__(  # one argument for each thing that it depends on
        self,
        disk: Disk,
        directory: LogDirectory,
        *,
        had_clean_shutdown: bool,
        config_of: Callable[[str], LogConfig],
        deletions: FileDeletions,
        producer_id_expiration_ms: int,
        now_ms: int,
    ) -> None:
        self.directory = directory
        self.loaded: list[tuple[UnifiedLog, bool]] = []
        self._disk = disk
        self._had_clean_shutdown = had_clean_shutdown
        self._config_of = config_of
        self._deletions = deletions
        self._producer_id_expiration_ms = producer_id_expiration_ms
        self._now_ms = now_ms
        self._unread = deque((RECOVERY_POINT_FILE_NAME, LOG_START_FILE_NAME, REPLICATION_FILE_NAME))
        # None: not listed yet.
        self._names: deque[str] | None = None
        # The log that is being opened, and whether it is a future one.
        self._opening: tuple[Generator[None, None, UnifiedLog], bool] | None = None
        self._checkpoints: dict[str, Mapping[tuple[str, int], int]] = {}
        # The checkpoint that is being read.
        self._reading: tuple[str, Generator[None, None, Mapping[tuple[str, int], int]]] | None = None

    def step(self, bytes_max: int) -> int:
        """Open some logs; return how much of `bytes_max` is left, which is more than 0 only if all are open.

        A log counts LOG_BYTES, and what is scanned of it; an entry of a checkpoint ENTRY_BYTES. Raises OSError, which
        ends the directory, and CorruptFileError.
        """
        while (self._unread or self._reading) and bytes_max > 0:
            bytes_max -= ENTRY_BYTES * self._read_some()
        if self._names is None:
            self._names = deque(self._disk.list(self.directory.path))
        while bytes_max > 0 and (self._names or self._opening is not None):
            if self._opening is None:
                self._opening = self._begin(self._names.popleft())
            elif self._go_on(*self._opening):
                bytes_max -= LOG_BYTES
            else:
                bytes_max -= SCANNED_AT_ONCE
        return bytes_max

    @property
    def progress(self) -> tuple[int, int]:
        """How many logs are open, and how many directories are left."""
        return len(self.loaded), 0 if self._names is None else len(self._names)

    def _read_some(self) -> int:
        """Go on with a checkpoint, or begin with the next one; return for how many entries that counts."""
        if self._reading is None:
            name = self._unread.popleft()
            self._reading = name, self.directory.read_checkpoint(name)
        name, slices = self._reading
        try:
            next(slices)
        except StopIteration as end:
            self._checkpoints[name] = end.value
            self._reading = None
            return min(len(end.value), VISITS_PER_SLICE)
        return VISITS_PER_SLICE

    def _begin(self, name: str) -> tuple[Generator[None, None, UnifiedLog], bool] | None:
        """Return the slices that open a log, and whether it is a future one; None for other directories."""
        found = parse_partition_directory(name)
        path = f"{self.directory.path}/{name}"
        if found is None or name == METADATA_DIRECTORY or not self._disk.is_directory(path):
            return None
        config = self._config_of(found.topic)
        if found.state is DirectoryState.DELETE:
            self._deletions.add_directory(path, self._now_ms + config.file_delete_delay_ms)
        if found.state in (DirectoryState.DELETE, DirectoryState.STRAY):
            return None
        partition = TopicPartition(found.topic, found.partition)
        opening = LogOpening(
            disk=self._disk,
            directory=path,
            config=config,
            topic_partition=partition,
            topic_id=ZERO_UUID,
            recovery_point=self._checkpoints[RECOVERY_POINT_FILE_NAME].get(partition, 0),
            log_start_offset=self._checkpoints[LOG_START_FILE_NAME].get(partition, 0),
            had_clean_shutdown=self._had_clean_shutdown,
            now_ms=self._now_ms,
            producer_id_expiration_ms=self._producer_id_expiration_ms,
        )
        return opening.slices(), found.state is DirectoryState.FUTURE

    def _go_on(self, slices: Generator[None, None, UnifiedLog], is_future: bool) -> bool:  # noqa: FBT001  its own
        """Do the next slice; return whether the log is open now."""
        try:
            next(slices)
        except StopIteration as end:
            log: UnifiedLog = end.value
            log.update_high_watermark(self._checkpoints[REPLICATION_FILE_NAME].get(log.topic_partition, 0))
            self.loaded.append((log, is_future))
            self._opening = None
            return True
        return False
