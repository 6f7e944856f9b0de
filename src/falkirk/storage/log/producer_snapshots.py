"""The producer snapshots of one log, `<offset>.snapshot`."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from falkirk.storage.errors import CorruptFileError
from falkirk.storage.log.data_segment import DELETED, write_file
from falkirk.storage.log.log_producers import LogProducers, is_expired
from falkirk.storage.producer_state import format_producer_snapshot, parse_producer_snapshot
from falkirk.storage.segment import SegmentFile, format_segment_file, parse_segment_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.storage.disk import Disk


class ProducerSnapshots:
    """Written where segments begin, so that a truncation finds one before it, and at the end of a closed log."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self.directory = directory
        files = map(parse_segment_file, disk.list(directory))
        self.offsets = sorted(
            file.base_offset for file in files if file and file.kind == "snapshot" and not file.marker
        )

    def load(self, log_start_offset: int, end_offset: int, now_ms: int, expiration_ms: int) -> LogProducers:
        """Return the producers as of the newest snapshot that is not behind `end_offset`; empty if there is none.

        Snapshots behind that, before the log's start, and unreadable ones are removed. Expired producers are left out.
        Source: ProducerStateManager.truncateAndReload.
        """
        for offset in [offset for offset in self.offsets if offset > end_offset or offset <= log_start_offset]:
            self.remove(offset)
        while self.offsets:
            newest = self.offsets[-1]
            path = self._path(newest)
            try:
                entries = parse_producer_snapshot(self._disk.read(path), file=path)
            except CorruptFileError:
                self.remove(newest)
                continue
            kept = (entry for entry in entries if not is_expired(entry, now_ms, expiration_ms))
            return LogProducers(kept, end_offset=newest)
        return LogProducers(end_offset=log_start_offset)

    def write(self, producers: LogProducers, *, is_synced: bool) -> None:
        """Write a snapshot of the producers' end offset, unless it exists."""
        offset = producers.end_offset
        if offset in self.offsets:
            return
        content = format_producer_snapshot(producers.states.entries.values())
        if is_synced:
            self._disk.write(self._path(offset), [content])
        else:
            write_file(self._disk, self._path(offset), content)
        self.offsets.append(offset)
        self.offsets.sort()

    def sync(self, start: int, end: int) -> None:
        """Make the snapshots from `start` to `end` durable."""
        for offset in self.offsets:
            if start <= offset <= end:
                file = self._disk.open_log_file(self._path(offset))
                file.sync()
                file.close()

    def remove_strays(self, base_offsets: Sequence[int]) -> None:
        """Remove those that belong to no segment, except the newest if it is behind the last segment's base offset."""
        strays = sorted(set(self.offsets) - set(base_offsets))
        if strays and (not base_offsets or strays[-1] > base_offsets[-1]):
            strays.pop()
        for offset in strays:
            self.remove(offset)

    def mark_deleted(self, offset: int) -> list[str]:
        """Rename a snapshot to `.deleted`, if it exists; return its new name."""
        if offset not in self.offsets:
            return []
        name = format_segment_file(SegmentFile(base_offset=offset, kind="snapshot", marker=DELETED))
        self._disk.rename(self._path(offset), f"{self.directory}/{name}")
        self.offsets.remove(offset)
        return [name]

    def remove(self, offset: int) -> None:
        """Remove a snapshot at once."""
        with suppress(FileNotFoundError):
            self._disk.remove(self._path(offset))
        self.offsets.remove(offset)

    def clear(self) -> None:
        """Remove all snapshots."""
        for offset in list(self.offsets):
            self.remove(offset)

    def _path(self, offset: int) -> str:
        return f"{self.directory}/{format_segment_file(SegmentFile(base_offset=offset, kind='snapshot'))}"
