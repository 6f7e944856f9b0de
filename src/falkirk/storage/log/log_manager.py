"""All logs of a broker, in one or more log directories (Kafka's LogManager)."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.protocol.uuid import uuid_text
from falkirk.storage.errors import InconsistentTopicIdError, LogDirFailedError
from falkirk.storage.log.file_deletions import FileDeletions, log_dir_of
from falkirk.storage.log.log_directory import LogDirectory
from falkirk.storage.log.log_directory_loader import LogDirectoryLoader
from falkirk.storage.log.log_housekeeping import LogHousekeeping
from falkirk.storage.log.log_opening import LogOpening
from falkirk.storage.partition_directory import (
    DirectoryState,
    PartitionDirectory,
    format_partition_directory,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Mapping

    from falkirk.protocol.chance import Chance
    from falkirk.storage.disk import Disk, DiskUsage
    from falkirk.storage.log.housekeeping_settings import HousekeepingSettings
    from falkirk.storage.log.log_config import LogConfig
    from falkirk.storage.log.log_cut import LogCut
    from falkirk.storage.log.unified_log import UnifiedLog

LOADED_BYTES: Final = 16 << 20
"""How much is loaded in one step: some 4 logs, or fewer that must be scanned."""
USED_AT_ONCE: Final = 1_000
"""How many loaded logs are put into use in one step: some milliseconds."""
USED_PER_STRAY: Final = 100
"""What a log counts as whose directory is renamed, which may be a sync."""
CLOSED_AT_ONCE: Final = 500
"""Of how many logs in a failed directory the files are closed in one step."""
_UNIQUE_ID_BYTES: Final = 16


class DuplicateLogError(Exception):
    """Two directories for one partition, as one line: the operator must remove one of them."""


class StrayLog(NamedTuple):
    """A log that has no place in the image; its directory was renamed from `path` to `new_path`."""

    partition: "TopicPartition"
    topic_id: bytes
    path: str
    new_path: str


class LogManager:
    """Opens, creates, moves and deletes logs; does the housekeeping in steps.

    A log directory that fails is taken offline, with its logs and no others: a caller that gets an OSError from a log
    calls `mark_offline`; `pop_failed` returns those that fail during housekeeping. Directories are known by path and by
    id. `cordoned_log_dirs`: paths of those that get no new logs (KIP-1066), unless one is named explicitly or there are
    no others.
    """

    def __init__(
        self,
        disk: Disk,
        log_dirs: Mapping[str, bytes],
        *,
        settings: HousekeepingSettings,
        config_of: Callable[[str], LogConfig],
        chance: Chance,
        now_ms: int,
    ) -> None:
        """Use `begin` instead."""
        self._disk = disk
        self._settings = settings
        self._config_of = config_of
        self._chance = chance
        self._now_ms = now_ms
        self._directories = {path: LogDirectory(disk, path, each) for path, each in log_dirs.items()}
        self._current: dict[TopicPartition, UnifiedLog] = {}
        self._future: dict[TopicPartition, UnifiedLog] = {}
        self._failed: dict[str, OSError] = {}
        # Logs of directories that have failed, in use no more; their files are to be closed.
        self._leaving: dict[UnifiedLog, None] = {}
        self.cordoned_log_dirs: Collection[str] = ()
        self.strays: list[StrayLog] = []
        """Logs that were set aside when they were loaded."""
        self.cuts: list[LogCut] = []
        """What was cut off logs when they were loaded."""
        self._loaders: deque[LogDirectoryLoader] = deque()
        self._loaded: list[LogDirectoryLoader] = []
        # Set once all logs are open.
        self._using: Iterator[bool] | None = None
        self._wanted_directory: Callable[[TopicPartition, bytes], bytes | None] = lambda *_: None
        self._deletions = FileDeletions(disk, self._fail)
        self._housekeeping = LogHousekeeping(
            self._directories, settings=settings, deletions=self._deletions, failed=self._fail, now_ms=now_ms
        )

    @classmethod
    def begin(
        cls,
        disk: Disk,
        log_dirs: Mapping[str, bytes],
        *,
        clean_log_dirs: Collection[str],
        settings: HousekeepingSettings,
        config_of: Callable[[str], LogConfig],
        wanted_directory: Callable[[TopicPartition, bytes], bytes | None],
        chance: Chance,
        now_ms: int,
    ) -> Self:
        """Start to load all logs of these directories (ids by path): `load_some` does it.

        Those of `clean_log_dirs` were shut down cleanly. `config_of` returns a topic's config. `wanted_directory`
        returns, for a partition and topic id, the id of the directory where the image wants its replica; None if it
        wants none here: then it becomes a stray. It decides how an interrupted move between directories ends, and is
        called when all logs are open.
        """
        manager = cls(disk, log_dirs, settings=settings, config_of=config_of, chance=chance, now_ms=now_ms)
        manager._wanted_directory = wanted_directory
        for directory in manager._directories.values():
            loader = LogDirectoryLoader(
                disk,
                directory,
                had_clean_shutdown=directory.path in clean_log_dirs,
                config_of=config_of,
                deletions=manager._deletions,
                producer_id_expiration_ms=settings.producer_id_expiration_ms,
                now_ms=now_ms,
            )
            manager._loaders.append(loader)
        return manager

    def load_some(self, bytes_max: int = LOADED_BYTES) -> bool:
        """Load a few logs, or put some into use; return whether that was all. Nothing else may be called before.

        `pop_failed` returns directories that failed. Raises CorruptFileError if one of the small files of a partition
        cannot be read, DuplicateLogError.
        """
        while self._loaders:
            loader = self._loaders[0]
            try:
                bytes_max = loader.step(bytes_max)
            except OSError as error:
                self._fail(loader.directory.path, error)
            else:
                if bytes_max <= 0:
                    return False
                self._loaded.append(loader)
            self._loaders.popleft()
        if self._using is None:
            self._using = self._use_loaded()
        return next(self._using, True)

    @property
    def loading_progress(self) -> tuple[int, int]:
        """How many logs are open, and how many names of the directory that is being loaded are left."""
        opened, left = zip(*(loader.progress for loader in (*self._loaded, *self._loaders)), strict=True)
        return sum(opened), sum(left)

    # --- The logs

    def get(self, partition: TopicPartition, *, is_future: bool = False) -> UnifiedLog | None:
        """Return a log that is online; `is_future`: the replica that moves to another directory (KIP-113)."""
        log = (self._future if is_future else self._current).get(partition)
        return None if log in self._leaving else log

    def get_or_create(
        self,
        partition: TopicPartition,
        topic_id: bytes,
        config: LogConfig,
        *,
        directory_id: bytes | None = None,
        is_future: bool = False,
    ) -> UnifiedLog:
        """Return a log, created if it does not exist: in that directory, or in the one with the fewest logs.

        Raises LogDirFailedError if the directory is offline or fails, InconsistentTopicIdError if the log belongs to a
        topic of another id.
        """
        log = self.get(partition, is_future=is_future)
        if log is not None:
            if log.topic_id not in (topic_id, ZERO_UUID):
                reason = (
                    f"Tried to assign topic ID {uuid_text(topic_id)} to log for topic partition {partition}, but log "
                    f"already contained topic ID {uuid_text(log.topic_id)}"
                )
                raise InconsistentTopicIdError(reason)
            return log
        failure: LogDirFailedError | None = None
        for directory in self._places(directory_id):
            try:
                return self._create(directory, partition, topic_id, config, is_future=is_future)
            except OSError as error:
                self._fail(directory.path, error)
                failure = LogDirFailedError(directory.path, str(error))
        raise failure or LogDirFailedError("log directory", f"none can be used for {partition}")

    def delete(self, partition: TopicPartition, *, is_future: bool = False, is_stray: bool = False) -> None:
        """Rename a log's directory to `-delete` (or `-stray`); its files are removed after file.delete.delay.ms.

        Does nothing if there is no such log. Raises OSError if the directory fails.
        """
        log = self.get(partition, is_future=is_future)
        if log is None:
            return
        del (self._future if is_future else self._current)[partition]
        directory = self._directories[log_dir_of(log.directory)]
        directory.remove(log)
        log.close_files()
        self._put_aside(log, DirectoryState.STRAY if is_stray else DirectoryState.DELETE)

    def replace_current_by_future(self, partition: TopicPartition) -> None:
        """Finish a move between directories: the future log becomes the current one, the old one is deleted.

        Raises OSError. A crash in between leaves two directories, and the next start uses the one that the image wants.
        """
        future, current = self._future[partition], self._current[partition]
        future.rename(_plain(partition))
        future.update_high_watermark(current.high_watermark)
        del self._future[partition]
        self._current[partition] = future
        source, target = (self._directories[log_dir_of(log.directory)] for log in (current, future))
        if partition in source.cleaner_offsets:
            target.cleaner_offsets[partition] = source.cleaner_offsets[partition]
        source.remove(current)
        current.close_files()
        self._put_aside(current, DirectoryState.DELETE)

    def logs(self) -> Iterator[UnifiedLog]:
        """Yield all online logs, future ones too."""
        logs = chain(self._current.values(), self._future.values())
        return (log for log in logs if log not in self._leaving) if self._leaving else logs

    def directory_id_of(self, log: UnifiedLog) -> bytes:
        """Return the id of a log's directory."""
        return self._directories[log_dir_of(log.directory)].directory_id

    def usage(self, log_dir: str) -> DiskUsage:
        """Return the usage of a log directory's file system. Raises OSError."""
        return self._disk.usage(log_dir)

    def mark_offline(self, log_dir: str) -> None:
        """Stop using a log directory. The files of many logs are closed with the next ticks."""
        directory = self._directories.pop(log_dir, None)
        if directory is None:
            return
        self._leaving.update(directory.logs)
        self._deletions.drop(log_dir)
        self._close_some()

    def _close_some(self) -> None:
        for _ in range(min(len(self._leaving), CLOSED_AT_ONCE)):
            log, _ = self._leaving.popitem()
            for logs in (self._current, self._future):
                # There may be a new one.
                if logs.get(log.topic_partition) is log:
                    del logs[log.topic_partition]
            with suppress(OSError):
                log.close_files()

    def pop_failed(self) -> Mapping[str, OSError]:
        """Return the directories that failed since the last call; they are offline already."""
        failed, self._failed = self._failed, {}
        return failed

    # --- Housekeeping

    def tick(self, now_ms: int) -> None:
        """Do a bounded step of what is due: retention, flushes, checkpoints, deletions, compaction."""
        self._now_ms = now_ms
        self._close_some()
        self._housekeeping.run(now_ms)

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `tick` has something to do."""
        return self._now_ms if self._failed or self._leaving else self._housekeeping.next_wakeup_ms

    def shutdown_slices(self) -> Generator[None, None, None]:
        """Close all logs, one in each step, and write all checkpoints; the clean-shutdown file is the caller's.

        It must not be written into a directory that `pop_failed` returns. Nothing else may be called meanwhile.
        """
        self._housekeeping.stop()
        while self._leaving:
            self._close_some()
            yield
        for directory in list(self._directories.values()):
            try:
                yield from directory.close_slices()
            except OSError as error:
                self._fail(directory.path, error)

    # --- Loading and creating

    def _use_loaded(self) -> Iterator[bool]:
        """Put the loaded logs into use, as the image wants each then; yield False after some of them."""
        left = USED_AT_ONCE
        for loader in self._loaded:
            directory = loader.directory
            try:
                for log, is_future in loader.loaded:
                    if left <= 0:
                        yield False
                        left = USED_AT_ONCE
                    partition = log.topic_partition
                    if log.recovery.cut is not None:
                        self.cuts.append(log.recovery.cut)
                    log.config = self._config_of(partition.topic)
                    wanted = self._wanted_directory(partition, log.topic_id)
                    left -= 1
                    if not self._add_loaded(directory, log, wanted, is_future=is_future):
                        left -= USED_PER_STRAY
                for _ in directory.read_cleaner_offsets():
                    yield False
            except OSError as error:
                self._fail(directory.path, error)
        self._loaded = []
        for partition in list(self._future):
            self._end_broken_off_move(partition)

    def _add_loaded(self, directory: LogDirectory, log: UnifiedLog, wanted: bytes | None, *, is_future: bool) -> bool:
        """Put a log into use; return whether none had to be set aside."""
        partition = log.topic_partition
        logs = self._future if is_future else self._current
        other = self.get(partition, is_future=is_future)
        directory.add(log)
        if wanted is None or (other is not None and self.directory_id_of(other) == wanted):
            self._set_aside(directory, log)
            return False
        if other is not None:
            if directory.directory_id != wanted:
                reason = (
                    f"Duplicate log directories for {partition} are found in both {log.directory} and "
                    f"{other.directory}; delete one of the two, that in the log directory which failed last"
                )
                raise DuplicateLogError(reason)
            self._set_aside(self._directories[log_dir_of(other.directory)], other)
        logs[partition] = log
        return other is None

    def _set_aside(self, directory: LogDirectory, log: UnifiedLog) -> None:
        directory.remove(log)
        log.close_files()
        path = log.directory
        self._put_aside(log, DirectoryState.STRAY)
        self.strays.append(StrayLog(log.topic_partition, log.topic_id, path, log.directory))

    def _end_broken_off_move(self, partition: TopicPartition) -> None:
        """Promote a future log that the controller knows as the replica: only the renaming was missing.

        Source: LogManager.recoverAbandonedFutureLogs.
        """
        log = self.get(partition, is_future=True)
        if log is None or self.directory_id_of(log) != self._wanted_directory(partition, log.topic_id):
            return
        try:
            if self.get(partition) is not None:
                self.replace_current_by_future(partition)
            else:
                log.rename(_plain(partition))
                self._current[partition] = self._future.pop(partition)
        except OSError as error:
            # Whichever of the two directories failed: the log to delete is in the other one, and harmless.
            self._fail(log_dir_of(log.directory), error)

    def _places(self, directory_id: bytes | None) -> list[LogDirectory]:
        directories = list(self._directories.values())
        if directory_id is not None:
            return [each for each in directories if each.directory_id == directory_id]
        free = [each for each in directories if each.path not in self.cordoned_log_dirs]
        return sorted(free, key=lambda each: len(each.logs)) or directories[:1]

    def _create(
        self,
        directory: LogDirectory,
        partition: TopicPartition,
        topic_id: bytes,
        config: LogConfig,
        *,
        is_future: bool,
    ) -> UnifiedLog:
        directory.forget_former(partition, partial(self._is_in, directory))
        name = self._suffixed(partition, DirectoryState.FUTURE) if is_future else _plain(partition)
        log = LogOpening(
            disk=self._disk,
            directory=f"{directory.path}/{name}",
            config=config,
            topic_partition=partition,
            topic_id=topic_id,
            recovery_point=0,
            log_start_offset=0,
            had_clean_shutdown=False,
            now_ms=self._now_ms,
            producer_id_expiration_ms=self._settings.producer_id_expiration_ms,
        ).run()
        (self._future if is_future else self._current)[partition] = log
        directory.add(log)
        return log

    def _is_in(self, directory: LogDirectory, partition: tuple[str, int]) -> bool:
        key = TopicPartition(*partition)
        return any(log in directory.logs for log in (self._current.get(key), self._future.get(key)))

    def _put_aside(self, log: UnifiedLog, state: DirectoryState) -> None:
        log.rename(self._suffixed(log.topic_partition, state))
        if state is DirectoryState.DELETE:
            self._deletions.add_directory(log.directory, self._now_ms + log.config.file_delete_delay_ms)

    def _suffixed(self, partition: TopicPartition, state: DirectoryState) -> str:
        unique_id = self._chance.randbytes(_UNIQUE_ID_BYTES).hex()
        return format_partition_directory(
            PartitionDirectory(topic=partition.topic, partition=partition.partition, state=state, unique_id=unique_id)
        )

    def _fail(self, log_dir: str, error: OSError) -> None:
        self._failed.setdefault(log_dir, error)
        self.mark_offline(log_dir)


def _plain(partition: TopicPartition) -> str:
    return format_partition_directory(PartitionDirectory(topic=partition.topic, partition=partition.partition))
