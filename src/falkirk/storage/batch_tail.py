"""The last batches of a log in memory: what followers fetch, and what is applied, is nearly always there."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from falkirk.protocol.record_batch import HEADER_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.record_batch import RecordBatch


class BatchTail:
    """A run of contiguous batches that grows at the end and shrinks at the front.

    The batches take at most `bytes_max` together; the last one always stays. When there is no room left a quarter is
    dropped at once, so that the cost for each batch stays the same.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._batches: list[RecordBatch] = []
        self._offsets: list[int] = []
        self._bytes = 0

    def append(self, batches: Sequence[RecordBatch]) -> None:
        """Append batches."""
        for batch in batches:
            self._batches.append(batch)
            self._offsets.append(batch.base_offset)
            self._bytes += batch.size
        if self._bytes > self._bytes_max:
            self._forget(self._bytes_max * 3 // 4)

    def truncate(self, end_offset: int) -> None:
        """Drop the batches that begin at `end_offset` or later."""
        at = bisect_left(self._offsets, end_offset)
        self._bytes -= sum(batch.size for batch in self._batches[at:])
        del self._batches[at:], self._offsets[at:]

    def holds(self, offset: int) -> bool:
        """Return whether the run has the batch of `offset`, which must be below the log's end."""
        return bool(self._offsets) and self._offsets[0] <= offset

    def read(self, offset: int, bytes_max: int) -> list[RecordBatch]:
        """Return batches from the one of `offset` on, which the run must hold: as many as fit, at least one."""
        at = bisect_right(self._offsets, offset) - 1
        assert at >= 0
        found = [self._batches[at]]
        room = bytes_max - found[0].size
        for batch in self._batches[at + 1 : at + 1 + max(room, 0) // HEADER_BYTES]:
            room -= batch.size
            if room < 0:
                break
            found.append(batch)
        return found

    def _forget(self, bytes_left: int) -> None:
        count = 0
        while self._bytes > bytes_left and count < len(self._batches) - 1:
            self._bytes -= self._batches[count].size
            count += 1
        del self._batches[:count], self._offsets[:count]
