"""Reads a log by offset, up to the end that the reader may see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.storage.log.read import FetchedData, FetchIsolation
from falkirk.structs import FrozenLeaf

if TYPE_CHECKING:
    from falkirk.storage.log.log_segments import LogSegments


class OffsetReader:
    """Caches where the visible ends of readers are in the files, so that each end is looked up once."""

    def __init__(self, segments: LogSegments) -> None:
        self._segments = segments
        self._ends: dict[FetchIsolation, _EndPosition] = {}

    def forget_ends(self) -> None:
        """Clear the cache, after segments were truncated, removed or replaced."""
        self._ends.clear()

    def read(
        self,
        offset: int,
        bytes_max: int,
        isolation: FetchIsolation,
        *,
        end_offset: int,
        log_end_offset: int,
        is_one_batch_needed: bool,
    ) -> FetchedData:
        """Read from the batch that contains `offset` on, before `end_offset`, from one segment."""
        with_aborted = isolation is FetchIsolation.TXN_COMMITTED
        nothing = FetchedData(first_offset=offset, aborted_transactions=() if with_aborted else None)
        if offset >= end_offset:
            # Most partitions of a fetch session are idle: no file is read for them.
            return nothing
        segments = self._segments
        end = self._end_position(isolation, end_offset, log_end_offset)
        for at in range(max(segments.floor(offset), 0), len(segments)):
            segment = segments[at]
            if segment.base_offset > end.base_offset:
                break
            limit = end.position if segment.base_offset == end.base_offset else segment.size
            found = segment.read(offset, bytes_max, limit, is_one_batch_needed=is_one_batch_needed)
            if found is None:
                continue
            place, data = found
            aborted = None
            if with_aborted:
                aborted = segments.aborted_transactions(at, offset, place.position + len(data), log_end_offset)
            return FetchedData(records=data, first_offset=place.base_offset, aborted_transactions=aborted)
        return nothing

    def _end_position(self, isolation: FetchIsolation, end_offset: int, log_end_offset: int) -> _EndPosition:
        if end_offset == log_end_offset:
            active = self._segments.active
            return _EndPosition(end_offset, active.base_offset, active.size)
        known = self._ends.get(isolation)
        if known is not None and known.offset == end_offset:
            return known
        segment = self._segments[max(self._segments.floor(end_offset), 0)]
        place = segment.find(end_offset)
        position = segment.size if place is None else place.position
        known = self._ends[isolation] = _EndPosition(end_offset, segment.base_offset, position)
        return known


class _EndPosition(FrozenLeaf):
    """A reader's visible end in the files: the segment, and the first byte beyond it."""

    offset: int
    base_offset: int
    position: int
