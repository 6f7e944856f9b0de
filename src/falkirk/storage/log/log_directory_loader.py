"""Opens all logs of one log directory in steps: thousands of them take seconds."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.storage.log.unified_log import UnifiedLog
from falkirk.storage.offset_checkpoints import (
    LOG_START_FILE_NAME,
    RECOVERY_POINT_FILE_NAME,
    REPLICATION_FILE_NAME,
)
from falkirk.storage.partition_directory import METADATA_DIRECTORY, DirectoryState, parse_partition_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.storage.disk import Disk
    from falkirk.storage.log.file_deletions import FileDeletions
    from falkirk.storage.log.log_config import LogConfig
    from falkirk.storage.log.log_directory import LogDirectory
    from falkirk.storage.partition_directory import PartitionDirectory

LOG_BYTES: Final = 4 << 20
"""The fixed cost of opening a log, in bytes that could be scanned meanwhile: a dozen system calls, some syncs."""


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
        # None: not listed yet.
        self._names: deque[str] | None = None
        self._checkpoints: dict[str, Mapping[tuple[str, int], int]] = {}

    def step(self, bytes_max: int) -> int:
        """Open some logs; return how much of `bytes_max` is left, which is more than 0 only if all are open.

        A log counts as much as was read of it, and LOG_BYTES in any case. Raises OSError, which ends the directory, and
        CorruptFileError.
        """
        if self._names is None:
            for name in (RECOVERY_POINT_FILE_NAME, LOG_START_FILE_NAME, REPLICATION_FILE_NAME):
                self._checkpoints[name] = self.directory.read_checkpoint(name)
            self._names = deque(self._disk.list(self.directory.path))
        while self._names and bytes_max > 0:
            name = self._names.popleft()
            found = parse_partition_directory(name)
            path = f"{self.directory.path}/{name}"
            if found is not None and name != METADATA_DIRECTORY and self._disk.is_directory(path):
                bytes_max -= self._load(path, found)
        return bytes_max

    def _load(self, path: str, found: PartitionDirectory) -> int:
        config = self._config_of(found.topic)
        if found.state is DirectoryState.DELETE:
            self._deletions.add_directory(path, self._now_ms + config.file_delete_delay_ms)
        if found.state in (DirectoryState.DELETE, DirectoryState.STRAY):
            return 0
        partition = TopicPartition(found.topic, found.partition)
        log = UnifiedLog.open(
            self._disk,
            path,
            config=config,
            topic_partition=partition,
            topic_id=ZERO_UUID,
            recovery_point=self._checkpoints[RECOVERY_POINT_FILE_NAME].get(partition, 0),
            log_start_offset=self._checkpoints[LOG_START_FILE_NAME].get(partition, 0),
            had_clean_shutdown=self._had_clean_shutdown,
            now_ms=self._now_ms,
            producer_id_expiration_ms=self._producer_id_expiration_ms,
        )
        log.update_high_watermark(self._checkpoints[REPLICATION_FILE_NAME].get(partition, 0))
        self.loaded.append((log, found.state is DirectoryState.FUTURE))
        scanned = min(log.recovery.scanned_segments, len(log.segments))
        return LOG_BYTES + sum(log.segments[-1 - at].size for at in range(scanned))
