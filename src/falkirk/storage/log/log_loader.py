"""Opens a log: completes unfinished changes of files, and after an unclean shutdown recovers what was not synced.

Source: LogLoader.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol.errors import RemoteProtocolError
from falkirk.storage.disk import ASIDE_SUFFIX
from falkirk.storage.log.data_segment import CLEANED, DELETED, SWAP, DataSegment
from falkirk.storage.log.log_cut import LogCut, LogCutter
from falkirk.storage.log.log_segments import LogSegments
from falkirk.storage.log.producer_snapshots import ProducerSnapshots
from falkirk.storage.log.segment_index import SegmentIndex
from falkirk.storage.partition_log import list_partition
from falkirk.storage.segment import SegmentFile, format_segment_file
from falkirk.storage.transaction_index import aborted_transaction

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from falkirk.storage.disk import Disk
    from falkirk.storage.leader_epoch_cache import LeaderEpochCache
    from falkirk.storage.log.log_config import LogConfig
    from falkirk.storage.log.log_producers import LogProducers
    from falkirk.storage.transaction_index import AbortedTransaction

SCANNED_AT_ONCE: Final = 8 << 20
"""Bytes of a segment that are scanned in one step: some 10 ms."""
BATCH_BYTES: Final = 4096
"""The cost of a batch whatever its size, in bytes that could be scanned meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecovery:
    """What opening had to do. `removed` and `restored` are names of files, `restored` without their `.swap`.

    `cut`: what is missing since; None if nothing is.
    """

    scanned_segments: int = 0
    cut: LogCut | None = None
    removed: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedLog:
    """A log that is ready for use."""

    segments: LogSegments
    snapshots: ProducerSnapshots
    producers: "LogProducers"
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    recovery: LogRecovery


class LogLoader:
    """Opens the log of one directory once."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        *,
        config: LogConfig,
        recovery_point: int,
        log_start_offset: int,
        had_clean_shutdown: bool,
        now_ms: int,
        expiration_ms: int,
        epochs: LeaderEpochCache,
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._config = config
        self._recovery_point = recovery_point
        self._log_start_offset = log_start_offset
        self._had_clean_shutdown = had_clean_shutdown
        self._now_ms = now_ms
        self._expiration_ms = expiration_ms
        self._epochs = epochs
        self._removed: list[str] = []
        self._restored: list[str] = []
        self._scanned = 0
        self._cutter = LogCutter(disk)
        self._segments = LogSegments()

    def slices(self) -> Generator[None, None, LoadedLog]:
        """Open the log; truncates and fills `epochs` to match. Yields after every SCANNED_AT_ONCE bytes of a scan."""
        self._end_file_changes()
        self._load_segments()
        snapshots = ProducerSnapshots(self._disk, self._directory)
        end_offset = None if not self._had_clean_shutdown else self._clean_end_offset()
        producers = None
        if end_offset is None and self._segments:
            producers = yield from self._recover(snapshots)
            end_offset = producers.end_offset
        is_fresh = not self._segments
        if is_fresh or end_offset is None or end_offset < self._log_start_offset:
            # No segments, or (as when files were deleted by hand) none that are still wanted.
            reason = f"the log ends at offset {end_offset}, before its start {self._log_start_offset}"
            end_offset, producers = self._log_start_offset, None
            self._begin_anew(snapshots, reason)
        start_offset = max(self._log_start_offset, self._segments[0].base_offset)
        self._epochs.truncate_from_end(end_offset)
        self._epochs.truncate_from_start(self._log_start_offset)
        snapshots.remove_strays(self._segments.base_offsets)
        if producers is None:
            producers = self._load_producers(snapshots, start_offset, end_offset)
        is_clean = self._had_clean_shutdown and not self._scanned and not is_fresh
        return LoadedLog(
            segments=self._segments,
            snapshots=snapshots,
            producers=producers,
            log_start_offset=start_offset,
            log_end_offset=end_offset,
            recovery_point=end_offset if is_clean else min(self._recovery_point, end_offset),
            recovery=LogRecovery(
                scanned_segments=self._scanned,
                cut=self._cutter.cut,
                removed=tuple(self._removed),
                restored=tuple(self._restored),
            ),
        )

    def _end_file_changes(self) -> None:
        """Remove incomplete replacements of files, and finish complete ones: a swap has all files."""
        files = list_partition(self._disk, self._directory)
        self._remove(name for name in files.other_files if name.endswith(ASIDE_SUFFIX))
        cleaned = [file.base_offset for file in files.marked_files if file.marker == CLEANED]
        swaps = []
        for file in files.marked_files:
            # A swap behind a `.cleaned` segment belongs to an unfinished replacement.
            if file.marker == SWAP and (not cleaned or file.base_offset < min(cleaned)):
                swaps.append(file)
            else:
                assert file.marker in (DELETED, CLEANED, SWAP)
                self._remove([format_segment_file(file)])
        replaced = [self._segment(file.base_offset, marker=SWAP) for file in swaps if file.kind == "log"]
        if replaced:
            start = min(segment.base_offset for segment in replaced)
            end = max(segment.next_offset() for segment in replaced)
            self._remove(
                format_segment_file(file)
                for file in files.segment_files
                if start <= file.base_offset < end and file.kind != "snapshot"
            )
            for segment in replaced:
                segment.close()
        for file in swaps:
            name = format_segment_file(SegmentFile(base_offset=file.base_offset, kind=file.kind))
            self._disk.rename(f"{self._directory}/{format_segment_file(file)}", f"{self._directory}/{name}")
            self._restored.append(name)

    def _load_segments(self) -> None:
        files = list_partition(self._disk, self._directory)
        bases = set(files.segments)
        self._remove(
            format_segment_file(file)
            for file in files.segment_files
            if file.kind != "snapshot" and file.base_offset not in bases
        )
        self._segments = LogSegments(self._segment(base_offset) for base_offset in files.segments)

    def _segment(self, base_offset: int, *, marker: str = "", is_new: bool = False) -> DataSegment:
        name = format_segment_file(SegmentFile(base_offset=base_offset, kind="log", marker=marker))
        return DataSegment(
            self._disk,
            self._directory,
            base_offset,
            created_ms=self._now_ms,
            index_interval_bytes=self._config.index_interval_bytes,
            size=0 if is_new else self._disk.size(f"{self._directory}/{name}"),
            marker=marker,
            is_new=is_new,
        )

    def _clean_end_offset(self) -> int | None:
        """Return the end of the log; None if the last segment is damaged there in spite of a clean shutdown."""
        if not self._segments:
            return None
        try:
            return self._segments.active.next_offset()
        except RemoteProtocolError:
            return None

    def _recover(self, snapshots: ProducerSnapshots) -> Generator[None, None, LogProducers]:
        """Scan what may not have been synced; truncate at the first damage."""
        start = self._recovery_point if not self._had_clean_shutdown else self._segments.active.base_offset
        first = max(self._segments.floor(start), 0)
        unflushed = [segment.base_offset for segment in self._segments][first:]
        producers = rebuild_producers(
            self._segments,
            snapshots,
            log_start_offset=self._log_start_offset,
            end_offset=unflushed[0],
            now_ms=self._now_ms,
            expiration_ms=self._expiration_ms,
        )
        for at, base_offset in enumerate(unflushed):
            if at and base_offset != producers.end_offset and not self._config.is_compacted:
                # A host that loses power may keep a segment and lose the end of one before it, or its name: segments
                # behind the gap must go, or it would never be filled. In a compacted log a gap is no loss; Kafka
                # never checks.
                self._cut_segments(unflushed[at:], producers.end_offset, f"a gap before offset {base_offset}")
                break
            segment = self._segments[first + at]
            producers.end_offset = max(producers.end_offset, base_offset)
            if at:
                snapshots.write(producers, is_synced=True)
            self._scanned += 1
            is_cut = yield from scan_segment(segment, producers, self._epochs, self._cutter)
            if base_offset != unflushed[-1] and not is_cut:
                segment.write_indexes()
                continue
            self._cut_segments(unflushed[at + 1 :], producers.end_offset, "behind damage")
            break
        return producers

    def _begin_anew(self, snapshots: ProducerSnapshots, reason: str) -> None:
        self._cut_segments(list(self._segments.base_offsets), self._log_start_offset, reason)
        snapshots.clear()
        self._epochs.clear()
        segment = self._segment(self._log_start_offset, is_new=True)
        assert segment.file.size == 0
        self._segments.add(segment)

    def _load_producers(self, snapshots: ProducerSnapshots, start_offset: int, end_offset: int) -> LogProducers:
        return rebuild_producers(
            self._segments,
            snapshots,
            log_start_offset=start_offset,
            end_offset=end_offset,
            now_ms=self._now_ms,
            expiration_ms=self._expiration_ms,
        )

    def _cut_segments(self, base_offsets: Sequence[int], end_offset: int, reason: str) -> None:
        """Remove segments, the last one first; `end_offset` is the end of what stays."""
        if base_offsets:
            self._cutter.begin(self._segments[self._segments.floor(base_offsets[0])].path, 0, end_offset, reason)
        for base_offset in reversed(base_offsets):
            segment = self._segments.remove(base_offset)
            self._cutter.cut_segment(segment)
            segment.remove()
            self._removed.append(format_segment_file(SegmentFile(base_offset=base_offset, kind="log")))

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            self._disk.remove(f"{self._directory}/{name}")
            self._removed.append(name)


def rebuild_producers(  # one argument for each thing that it depends on
    segments: LogSegments,
    snapshots: ProducerSnapshots,
    *,
    log_start_offset: int,
    end_offset: int,
    now_ms: int,
    expiration_ms: int,
) -> LogProducers:
    """Return the producers as of `end_offset`, from the newest snapshot before it and the batches behind that."""
    producers = snapshots.load(log_start_offset, end_offset, now_ms, expiration_ms)
    last_two = list(segments.base_offsets[-2:])
    for segment in segments.covering(producers.end_offset, end_offset):
        start = max(segment.base_offset, producers.end_offset, log_start_offset)
        producers.end_offset = start
        if start in last_two:
            snapshots.write(producers, is_synced=True)
        place = segment.find(start)
        if place is None:
            continue
        for _, batch in segment.batches(place.position, segment.size):
            if batch.base_offset >= end_offset:
                break
            producers.append(batch)
    producers.end_offset = end_offset
    return producers


def scan_segment(
    segment: DataSegment, producers: LogProducers, epochs: LeaderEpochCache, cutter: LogCutter
) -> Generator[None, None, bool]:
    """Read a whole segment, truncate it at damage, and rebuild its indexes; return whether it was truncated.

    `producers` and `epochs` are updated from the valid batches. Source: LogSegment.recover.
    """
    index = SegmentIndex(segment.base_offset)
    aborted: list[AbortedTransaction] = []
    size, end_offset, reason = 0, segment.base_offset, ""
    left = SCANNED_AT_ONCE
    try:
        for position, batch in segment.batches(0, segment.size, check_crc=True):
            if batch.base_offset < end_offset:
                reason = f"batch begins at offset {batch.base_offset}, {end_offset} was expected"
                break
            completed = producers.append(batch)
            if completed is not None and completed.is_aborted:
                aborted.append(aborted_transaction(completed))
            if batch.leader_epoch > (-1 if epochs.latest_epoch is None else epochs.latest_epoch):
                epochs.assign(batch.leader_epoch, batch.base_offset)
            index.add(batch, position, segment.index_interval_bytes)
            size, end_offset = position + batch.size, batch.end_offset
            left -= batch.size + BATCH_BYTES
            if left <= 0:
                left = SCANNED_AT_ONCE
                yield
    except RemoteProtocolError as error:
        # Kafka, too, treats all damage here as an unfinished write.
        reason = error.reason
    is_cut = size < segment.size
    if is_cut:
        cutter.cut_end(segment, size, end_offset, reason)
    segment.apply_scan(size, index, aborted)
    producers.end_offset = end_offset
    return is_cut
