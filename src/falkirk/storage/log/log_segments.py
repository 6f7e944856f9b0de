"""The segments of one log in offset order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from falkirk.storage.log.data_segment import DataSegment
    from falkirk.storage.transaction_index import AbortedTransaction


class LogSegments:
    """A sorted list with lookups by offset; the last segment is active."""

    def __init__(self, segments: Iterable[DataSegment] = ()) -> None:
        self._segments = sorted(segments, key=lambda segment: segment.base_offset)
        self._bases = [segment.base_offset for segment in self._segments]

    def __iter__(self) -> Iterator[DataSegment]:
        """Iterate in offset order."""
        return iter(self._segments)

    def __len__(self) -> int:
        """Return the number of segments."""
        return len(self._segments)

    def __getitem__(self, at: int) -> DataSegment:
        """Return a segment by its index in the order."""
        return self._segments[at]

    @property
    def active(self) -> DataSegment:
        """The segment that is appended to."""
        return self._segments[-1]

    @property
    def base_offsets(self) -> Sequence[int]:
        """The base offsets of all segments."""
        return self._bases

    @property
    def size(self) -> int:
        """Bytes of all segments; adds them up."""
        return sum(segment.size for segment in self._segments)

    def floor(self, offset: int) -> int:
        """Return the index of the last segment that begins at `offset` or before; -1 if all begin later."""
        return bisect_right(self._bases, offset) - 1

    def covering(self, start: int, end: int) -> list[DataSegment]:
        """Return the segments that may have offsets from `start` to before `end`, judged by their base offsets."""
        return self._segments[max(self.floor(start), 0) : bisect_left(self._bases, end)]

    def aborted_transactions(
        self, at: int, offset: int, end_position: int, log_end_offset: int
    ) -> tuple[AbortedTransaction, ...]:
        """Return the aborted transactions in a read from `offset` to `end_position` of the segment at index `at`.

        Source: LocalLog.addAbortedTransactions.
        """
        upper_bound = self._segments[at].index.offset_from(end_position)
        if upper_bound is None:
            upper_bound = self._bases[at + 1] if at + 1 < len(self._bases) else log_end_offset
        found: list[AbortedTransaction] = []
        for segment in self._segments[at:]:
            for transaction in segment.aborted:
                if transaction.last_offset >= offset and transaction.first_offset < upper_bound:
                    found.append(transaction)
                if transaction.last_stable_offset >= upper_bound:
                    return tuple(found)
        return tuple(found)

    def add(self, segment: DataSegment) -> None:
        """Add a segment; it replaces one with the same base offset."""
        at = bisect_left(self._bases, segment.base_offset)
        if at < len(self._bases) and self._bases[at] == segment.base_offset:
            self._segments[at] = segment
        else:
            self._segments.insert(at, segment)
            self._bases.insert(at, segment.base_offset)

    def remove(self, base_offset: int) -> DataSegment:
        """Remove and return a segment."""
        at = bisect_left(self._bases, base_offset)
        assert self._bases[at] == base_offset
        del self._bases[at]
        return self._segments.pop(at)
