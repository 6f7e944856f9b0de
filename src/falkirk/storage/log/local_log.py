"""The segments of one log as files: created, truncated, replaced, renamed, deleted, synced (Kafka's LocalLog)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.storage.log.data_segment import CLEANED, DELETED, SWAP, DataSegment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.storage.disk import Disk
    from falkirk.storage.log.log_segments import LogSegments
    from falkirk.storage.log.producer_snapshots import ProducerSnapshots


class LocalLog:
    """Keeps the list of segments, their producer snapshots and the directory consistent."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        segments: LogSegments,
        snapshots: ProducerSnapshots,
        *,
        now_ms: int,
        index_interval_bytes: int,
    ) -> None:
        self._disk = disk
        self.directory = directory
        self.segments = segments
        self.snapshots = snapshots
        self.size = segments.size
        """Bytes of all `.log` files."""
        self.now_ms = now_ms
        """The time as last heard of: a follower is not told it, and it need not be exact."""
        self.index_interval_bytes = index_interval_bytes
        self.has_new_names = True
        """Files were made whose names may not survive a crash of the host."""
        self._deleted_files: list[str] = []

    def add_segment(self, base_offset: int) -> DataSegment:
        """Start a new active segment."""
        segment = self._empty_segment(base_offset)
        assert segment.file.size == 0
        self.segments.add(segment)
        self.has_new_names = True
        return segment

    def create_cleaned_segment(self, base_offset: int) -> DataSegment:
        """Start a segment that will replace others; its files end in `.cleaned`."""
        segment = self._empty_segment(base_offset, CLEANED)
        segment.remove()
        return segment

    def replace_segments(self, new: Sequence[DataSegment], old: Sequence[DataSegment]) -> None:
        """Replace old segments by cleaned ones; a crash leaves the old or the new ones.

        Source: LocalLog.replaceSegments.
        """
        for segment in new:
            segment.write_indexes()
            segment.sync()
        # In descending order: while one is `.cleaned` those behind it are ignored.
        for segment in reversed(new):
            segment.change_marker(SWAP)
        new_bases = {segment.base_offset for segment in new}
        for segment in old:
            self.delete_segment(segment, is_snapshot_kept=segment.base_offset in new_bases)
        for segment in new:
            segment.change_marker("")
            self.segments.add(segment)
            self.size += segment.size
        self._disk.sync_directory(self.directory)

    def truncate(self, offset: int) -> int:
        """Truncate to `offset`, which must not be before the first segment; return the new end of the log."""
        # From the end on: after a crash the rest is a valid beginning of the log.
        while self.segments.active.base_offset > offset:
            self.delete_segment(self.segments.active)
        active = self.segments.active
        self.size -= active.size
        offset = active.truncate(offset)
        self.size += active.size
        return offset

    def restart_at(self, offset: int) -> None:
        """Delete all segments, and start an empty one."""
        while len(self.segments):
            self.delete_segment(self.segments.active)
        self.snapshots.clear()
        self.add_segment(offset)

    def delete_segment(self, segment: DataSegment, *, is_snapshot_kept: bool = False) -> None:
        """Remove a segment from the list, and rename its files to `.deleted`."""
        self.segments.remove(segment.base_offset)
        self.size -= segment.size
        segment.close()
        self._deleted_files += segment.change_marker(DELETED)
        if not is_snapshot_kept:
            self._deleted_files += self.snapshots.mark_deleted(segment.base_offset)

    def pop_deleted_files(self) -> tuple[str, ...]:
        """Return the names of the files that were renamed to `.deleted` since the last call."""
        names = tuple(self._deleted_files)
        self._deleted_files.clear()
        return names

    def sync_ahead(self, start: int, end: int, bytes_max: int) -> bool:
        """Do a part of `sync`; return whether no more than that is left of any segment."""
        return all(segment.sync_ahead(bytes_max) for segment in self.segments.covering(start, end))

    def sync(self, start: int, end: int) -> None:
        """Make the offsets from `start` to before `end` durable, and all names."""
        for segment in self.segments.covering(start, end):
            segment.sync()
        self.snapshots.sync(start, end)
        if self.has_new_names:
            self._disk.sync_directory(self.directory)
            self.has_new_names = False

    def rename(self, directory: str) -> None:
        """Move the directory."""
        self._disk.rename(self.directory, directory)
        self.directory = self.snapshots.directory = directory
        for segment in self.segments:
            segment.directory = directory

    def close(self) -> None:
        """Close the open files."""
        for segment in self.segments:
            segment.close()

    def _empty_segment(self, base_offset: int, marker: str = "") -> DataSegment:
        return DataSegment(
            self._disk,
            self.directory,
            base_offset,
            created_ms=self.now_ms,
            index_interval_bytes=self.index_interval_bytes,
            marker=marker,
            is_new=True,
        )
