"""Compacts the dirtiest log, then the next one, in steps (Kafka's LogCleaner and LogCleanerManager)."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from falkirk.protocol.errors import RemoteProtocolError
from falkirk.storage.log.compaction import CleanableRange, Compaction, CompactionDroppedError
from falkirk.storage.log.file_deletions import log_dir_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from falkirk.storage.log.data_segment import DataSegment
    from falkirk.storage.log.housekeeping_settings import HousekeepingSettings
    from falkirk.storage.log.log_directory import LogDirectory
    from falkirk.storage.log.unified_log import UnifiedLog

_CHECKS_AT_ONCE: Final = 32
# Those that are not compacted included: about a ms.
_LOGS_AT_ONCE: Final = 1_000
_PIECE_INTERVAL_MS: Final = 10


class LogCleaner:
    """Checks the compacted logs every log.cleaner.backoff.ms, and compacts as long as one is due.

    `directories` are the online ones, by path; `failed` is called with one that fails. As in Kafka, a log with an
    unreadable batch is never compacted again.
    """

    def __init__(
        self,
        directories: Mapping[str, LogDirectory],
        *,
        settings: HousekeepingSettings,
        failed: Callable[[str, OSError], None],
        now_ms: int,
    ) -> None:
        self._directories = directories
        self._settings = settings
        self._failed = failed
        # Logs of which the dirtiest is compacted next.
        self._to_check: deque[UnifiedLog] = deque()
        self._dirtiest: tuple[float, UnifiedLog, CleanableRange] | None = None
        self._compaction: Compaction | None = None
        self._uncleanable: set[UnifiedLog] = set()
        self.next_wakeup_ms = now_ms + settings.log_initial_task_delay_ms
        """When `run` has something to do."""

    def run(self, now_ms: int) -> None:
        """Do one step, if it is time."""
        if now_ms < self.next_wakeup_ms:
            return
        self.next_wakeup_ms = now_ms + _PIECE_INTERVAL_MS
        if self._compaction is not None:
            self._go_on(self._compaction, now_ms)
            return
        if not self._to_check:
            self._begin_checks()
        self._check_some(now_ms)

    def stop(self) -> None:
        """Abandon the compaction in progress; if the disk fails then, what it wrote is removed at the next start."""
        compaction, self._compaction = self._compaction, None
        if compaction is not None:
            with suppress(OSError):
                compaction.drop()

    def _begin_checks(self) -> None:
        self._dirtiest = None
        for directory in self._directories.values():
            self._to_check.extend(directory.logs)
        self._uncleanable = {log for log in self._uncleanable if self._directory_of(log) is not None}

    def _check_some(self, now_ms: int) -> None:
        checks_left = _CHECKS_AT_ONCE
        for _ in range(min(_LOGS_AT_ONCE, len(self._to_check))):
            log = self._to_check.popleft()
            if not log.config.is_compacted or log in self._uncleanable or self._directory_of(log) is None:
                continue
            try:
                self._check(log, now_ms)
            except OSError as error:
                self._failed(log_dir_of(log.directory), error)
            except RemoteProtocolError:
                self._uncleanable.add(log)
            checks_left -= 1
            if not checks_left:
                break
        if self._to_check:
            return
        if self._dirtiest is None:
            self.next_wakeup_ms = now_ms + self._settings.log_cleaner_backoff_ms
            return
        _, log, cleanable = self._dirtiest
        settings = self._settings
        map_bytes_max = int(settings.log_cleaner_dedupe_buffer_size * settings.log_cleaner_io_buffer_load_factor)
        self._compaction = Compaction(log, cleanable, map_bytes_max=map_bytes_max, now_ms=now_ms)

    def _check(self, log: UnifiedLog, now_ms: int) -> None:
        directory = self._directory_of(log)
        assert directory is not None
        checkpoint = directory.cleaner_offsets.get(log.topic_partition)
        cleanable = cleanable_range(log, checkpoint, now_ms)
        if not cleanable.dirty_bytes:
            return
        ratio = cleanable.dirty_ratio
        is_due = cleanable.is_urgent or ratio > log.config.min_cleanable_dirty_ratio
        if is_due and (self._dirtiest is None or ratio > self._dirtiest[0]):
            self._dirtiest = (ratio, log, cleanable)

    def _go_on(self, compaction: Compaction, now_ms: int) -> None:
        log = compaction.log
        log_dir = log_dir_of(log.directory)
        directory = self._directory_of(log)
        if directory is None:
            # Its files are removed with their directory, or cannot be reached.
            self.stop()
            return
        try:
            if not compaction.step():
                return
            self._compaction = None
            assert compaction.end_offset is not None
            directory.write_cleaner_offset(log.topic_partition, compaction.end_offset)
            # The next one may be due already.
            self.next_wakeup_ms = now_ms
        except CompactionDroppedError:
            self.stop()
        except RemoteProtocolError:
            self._uncleanable.add(log)
            self.stop()
        except OSError as error:
            self._compaction = None
            self._failed(log_dir, error)

    def _directory_of(self, log: UnifiedLog) -> LogDirectory | None:
        directory = self._directories.get(log_dir_of(log.directory))
        return directory if directory is not None and log in directory.logs else None


def cleanable_range(log: UnifiedLog, checkpoint: int | None, now_ms: int) -> CleanableRange:
    """Return what of a log may be compacted: nothing of the active segment, nor beyond the last stable offset.

    `checkpoint`: the end of the last compaction. min.compaction.lag.ms holds back younger segments;
    max.compaction.lag.ms makes it urgent. Source: LogCleanerManager.cleanableOffsets, calculateCleanableBytes.
    """
    segments = log.segments
    active = segments.active.base_offset
    first_dirty = log.log_start_offset if checkpoint is None else checkpoint
    if not log.log_start_offset <= first_dirty <= log.log_end_offset:
        first_dirty = log.log_start_offset
    # After a truncation the compacted part may have been overwritten.
    first_dirty = min(first_dirty, active)
    dirty = segments.covering(first_dirty, active)
    bound = min(log.last_stable_offset, active)
    if log.config.min_compaction_lag_ms > 0:
        youngest_ms = now_ms - log.config.min_compaction_lag_ms
        bound = min(bound, next((each.base_offset for each in dirty if each.largest[0] > youngest_ms), bound))
    # The segment that contains the bound is not compacted.
    first_uncleanable = segments[max(segments.floor(max(first_dirty, bound)), 0)].base_offset
    cleanable = segments.covering(min(first_dirty, first_uncleanable), first_uncleanable)
    return CleanableRange(
        first_dirty_offset=first_dirty,
        first_uncleanable_offset=first_uncleanable,
        clean_bytes=sum(segment.size for segment in segments if segment.base_offset < first_dirty),
        dirty_bytes=sum(segment.size for segment in cleanable),
        is_urgent=_is_urgent(log, dirty, now_ms),
    )


def _is_urgent(log: UnifiedLog, dirty: Sequence[DataSegment], now_ms: int) -> bool:
    until_ms = now_ms - max(log.config.max_compaction_lag_ms, 0)
    # By default there is no limit, and nothing needs to be read.
    return until_ms > 0 and any(0 < segment.first_timestamp < until_ms for segment in dirty)
