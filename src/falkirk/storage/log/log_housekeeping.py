"""Periodic work on logs in bounded steps: retention, flushes, checkpoints, compaction."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.storage.log.file_deletions import log_dir_of
from falkirk.storage.log.log_cleaner import LogCleaner
from falkirk.storage.offset_checkpoints import (
    LOG_START_FILE_NAME,
    RECOVERY_POINT_FILE_NAME,
    REPLICATION_FILE_NAME,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from falkirk.storage.log.file_deletions import FileDeletions
    from falkirk.storage.log.housekeeping_settings import HousekeepingSettings
    from falkirk.storage.log.log_directory import LogDirectory
    from falkirk.storage.log.unified_log import UnifiedLog

# A check reads the oldest segment only, unless there is something to delete.
_CHECKS_AT_ONCE: Final = 32
# Each takes up to five renames, and as many syncs of the directory.
_SEGMENTS_AT_ONCE: Final = 1
_FOUND: Final = object()
# Two to three ms.
_LOGS_AT_ONCE: Final = 1_000
# A slow disk writes as much within some 50 ms.
_SYNC_BYTES: Final = 8 * 1024 * 1024


class LogHousekeeping:
    """Works through queues that its intervals fill; logs that no longer exist are skipped.

    `directories` are the online ones, by path, and may change at any time; `failed` is called with one that fails.
    """

    def __init__(
        self,
        directories: Mapping[str, LogDirectory],
        *,
        settings: HousekeepingSettings,
        deletions: FileDeletions,
        failed: Callable[[str, OSError], None],
        now_ms: int,
    ) -> None:
        self._directories = directories
        self._deletions = deletions
        self._failed = failed
        self._now_ms = now_ms
        self._to_check: deque[UnifiedLog] = deque()
        # Log and the offset up to which to flush it; None: write the recovery points next.
        self._to_flush: deque[tuple[UnifiedLog, int] | None] = deque()
        self._to_write: deque[tuple[str, str]] = deque()
        # The log directory of the checkpoint that is being written, and its slices.
        self._writing: tuple[str, Iterator[None]] | None = None
        self._dirty_since_ms: dict[UnifiedLog, int] = {}
        # By task, while it goes through the logs for what is to be flushed.
        self._searches: dict[str, Iterator[None]] = {}
        # How many more may be deleted in this step.
        self._segments_left = 0
        self._cleaner: LogCleaner | None = None
        if settings.log_cleaner_enable:
            self._cleaner = LogCleaner(directories, settings=settings, failed=failed, now_ms=now_ms)
        begin = now_ms + settings.log_initial_task_delay_ms
        self._tasks: list[_Task] = [
            _Task(self._begin_checks, settings.log_retention_check_interval_ms, begin),
            _Task(self._begin_flushes, settings.log_flush_scheduler_interval_ms, begin),
            _Task(self._begin_recovery_points, settings.log_flush_offset_checkpoint_interval_ms, begin),
            _Task(self._begin_log_starts, settings.log_flush_start_offset_checkpoint_interval_ms, begin),
            # Without delay, as in Kafka: a broker must not forget what consumers have seen.
            _Task(self._begin_high_watermarks, settings.replica_high_watermark_checkpoint_interval_ms, now_ms),
        ]

    @property
    def next_wakeup_ms(self) -> int:
        """When `run` has something to do."""
        if self._has_begun:
            return self._now_ms
        next_ms = min(task.next_ms for task in self._tasks)
        if self._cleaner is not None:
            next_ms = min(next_ms, self._cleaner.next_wakeup_ms)
        next_deletion_ms = self._deletions.next_wakeup_ms
        return next_ms if next_deletion_ms is None else min(next_ms, next_deletion_ms)

    def run(self, now_ms: int) -> None:
        """Do one step of everything that is due."""
        self._now_ms = now_ms
        if now_ms < self.next_wakeup_ms:
            return
        for task in self._tasks:
            if now_ms >= task.next_ms:
                task.next_ms = now_ms + task.interval_ms
                task.begin()
        self._check_some()
        for name, search in list(self._searches.items()):
            if next(search, _FOUND) is _FOUND:
                del self._searches[name]
        self._flush_some()
        self._write_some()
        if self._segments_left:
            # Not in a step that renamed files: each is a sync of its directory.
            self._deletions.run(now_ms)
        if self._cleaner is not None:
            self._cleaner.run(now_ms)

    def stop(self) -> None:
        """Abandon work that takes several steps and is not finished."""
        if self._cleaner is not None:
            self._cleaner.stop()

    @property
    def _has_begun(self) -> bool:
        return (
            bool(self._to_check or self._searches or self._to_flush or self._to_write or self._writing)
            or self._deletions.has_begun
            or any(directory.rolled for directory in self._directories.values())
        )

    def _logs(self) -> list[UnifiedLog]:
        logs: list[UnifiedLog] = []
        for directory in self._directories.values():
            logs += directory.logs
        return logs

    def _begin_checks(self) -> None:
        if not self._to_check:
            self._to_check.extend(self._logs())

    def _begin_flushes(self) -> None:
        self._searches.setdefault("flushes", self._find_dirty())

    def _find_dirty(self) -> Iterator[None]:
        """Queue a flush of what has been dirty for flush.ms; yield after some logs."""
        dirty: dict[UnifiedLog, int] = {}
        for number, log in enumerate(self._logs(), 1):
            if number % _LOGS_AT_ONCE == 0:
                yield
            if log.recovery_point < log.log_end_offset:
                dirty[log] = self._dirty_since_ms.get(log, self._now_ms)
                if self._now_ms - dirty[log] >= log.config.flush_ms:
                    self._to_flush.append((log, log.log_end_offset))
        self._dirty_since_ms = dirty

    def _begin_recovery_points(self) -> None:
        self._searches.setdefault("recovery points", self._find_unflushed())

    def _find_unflushed(self) -> Iterator[None]:
        """Queue a flush of what is full and not flushed; yield after some logs."""
        # Most were flushed when they were rolled, but not those found at startup.
        waiting = {each[0] for each in self._to_flush if each is not None}
        for number, log in enumerate(self._logs(), 1):
            if number % _LOGS_AT_ONCE == 0:
                yield
            end = log.segments.active.base_offset
            if log.recovery_point < end and log not in waiting:
                self._to_flush.append((log, end))
        self._to_flush.append(None)

    def _begin_log_starts(self) -> None:
        self._write_everywhere(LOG_START_FILE_NAME)

    def _begin_high_watermarks(self) -> None:
        self._write_everywhere(REPLICATION_FILE_NAME)

    def _write_everywhere(self, name: str) -> None:
        self._to_write.extend((path, name) for path in self._directories if (path, name) not in self._to_write)

    def _write_some(self) -> None:
        """Go on with a checkpoint, or begin with the next one."""
        if self._writing is None:
            if not self._to_write:
                return
            path, name = self._to_write.popleft()
            directory = self._directories.get(path)
            if directory is None:
                return
            self._writing = path, directory.write_slices(name)
        path, slices = self._writing
        try:
            if path in self._directories:
                next(slices)
                return
        except StopIteration:
            pass
        except OSError as error:
            self._failed(path, error)
        self._writing = None

    def _check_some(self) -> None:
        self._segments_left = _SEGMENTS_AT_ONCE
        for _ in range(min(_CHECKS_AT_ONCE, len(self._to_check))):
            self._guarded(self._to_check.popleft(), self._check)
            if not self._segments_left:
                return

    def _check(self, log: UnifiedLog) -> None:
        log.roll_if_due(self._now_ms)
        self._segments_left -= log.delete_old_segments(self._now_ms, segments_max=self._segments_left)
        if not self._segments_left:
            self._to_check.appendleft(log)
        log.remove_expired_producers(self._now_ms)
        names = log.pop_deleted_files()
        if names:
            self._deletions.add_files(log, names, self._now_ms + log.config.file_delete_delay_ms)

    def _flush_some(self) -> None:
        for directory in self._directories.values():
            self._to_flush.extend((log, log.segments.active.base_offset) for log in directory.pop_rolled())
        if not self._to_flush:
            return
        due = self._to_flush.popleft()
        if due is None:
            self._write_everywhere(RECOVERY_POINT_FILE_NAME)
        else:
            log, end = due
            self._guarded(log, partial(self._flush, end=end))

    def _flush(self, log: UnifiedLog, *, end: int) -> None:
        """Flush one segment, or a part of it; the rest follows in the next steps."""
        # It may have been truncated meanwhile.
        end = min(end, log.log_end_offset)
        bases = log.segments.base_offsets
        following = bisect_right(bases, log.recovery_point)
        segment_end = min(bases[following], end) if following < len(bases) else end
        if log.sync_ahead(segment_end, _SYNC_BYTES):
            log.flush(up_to=segment_end)
        if log.recovery_point < end:
            self._to_flush.appendleft((log, end))
        else:
            self._dirty_since_ms.pop(log, None)

    def _guarded(self, log: UnifiedLog, action: Callable[[UnifiedLog], None]) -> None:
        log_dir = log_dir_of(log.directory)
        directory = self._directories.get(log_dir)
        if directory is None or log not in directory.logs:
            return
        try:
            action(log)
        except OSError as error:
            self._failed(log_dir, error)


class _Task:
    """Periodic work."""

    __slots__ = ("begin", "interval_ms", "next_ms")

    def __init__(self, begin: Callable[[], None], interval_ms: int, next_ms: int) -> None:
        self.begin = begin
        self.interval_ms = interval_ms
        self.next_ms = next_ms
