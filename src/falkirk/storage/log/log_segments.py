"""The segments of one log in offset order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from falkirk.storage.log.data_segment import DataSegment
    from falkirk.storage.transaction_index import AbortedTransaction


class LogSegments:
    """A sorted list that is asked by offset; the last one is active."""

    def __init__(self, segments: Iterable[DataSegment] = ()) -> None:
        self._segments = sorted(segments, key=lambda segment: segment.base_offset)
        self._bases = [segment.base_offset for segment in self._segments]

    def __iter__(self) -> Iterator[DataSegment]:
        """Give them in offset order."""
        return iter(self._segments)

    def __len__(self) -> int:
        """Count them."""
        return len(self._segments)

    def __getitem__(self, at: int) -> DataSegment:
        """Give one by its place in the order."""
        return self._segments[at]

    @property
    def active(self) -> DataSegment:
        """The one that is appended to."""
        return self._segments[-1]

    @property
    def base_offsets(self) -> Sequence[int]:
        """Where they begin."""
        return self._bases

    @property
    def size(self) -> int:
        """Bytes of all of them; costs a look at each."""
        return sum(segment.size for segment in self._segments)

    def floor(self, offset: int) -> int:
        """Give the place of the last one that begins at `offset` or before; -1 if all begin later."""
        return bisect_right(self._bases, offset) - 1

    def covering(self, start: int, end: int) -> list[DataSegment]:
        """Give those with offsets from `start` to before `end`, as far as their beginnings tell."""
        return self._segments[max(self.floor(start), 0) : bisect_left(self._bases, end)]

    def aborted_transactions(
        self, at: int, offset: int, end_position: int, log_end_offset: int
    ) -> tuple[AbortedTransaction, ...]:
        """Give the aborted transactions of what is read from `offset` to `end_position` of the segment at `at`.

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
        """Put one in; it takes the place of one with the same base offset."""
        at = bisect_left(self._bases, segment.base_offset)
        if at < len(self._bases) and self._bases[at] == segment.base_offset:
            self._segments[at] = segment
        else:
            self._segments.insert(at, segment)
            self._bases.insert(at, segment.base_offset)

    def remove(self, base_offset: int) -> DataSegment:
        """Take one out."""
        at = bisect_left(self._bases, base_offset)
        assert self._bases[at] == base_offset
        del self._bases[at]
        return self._segments.pop(at)
