"""The last batches of a log in memory: what followers fetch, and what is applied, is nearly always there."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

from falkirk.protocol.record_batch import HEADER_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.record_batch import RecordBatch

# What the objects of a batch take besides its bytes. Most batches of metadata are smaller than that.
_BATCH_MEMORY: Final = 512


class BatchTail:
    """A run of contiguous batches that grows at the end and shrinks at the front.

    The batches take at most `bytes_max` of memory together; the last one always stays. When there is no room left a
    quarter is dropped at once, so that the cost for each batch stays the same.
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
            self._bytes += _memory(batch)
        if self._bytes > self._bytes_max:
            self._forget(self._bytes_max * 3 // 4)

    def truncate(self, end_offset: int) -> None:
        """Drop the batches that begin at `end_offset` or later."""
        at = bisect_left(self._offsets, end_offset)
        self._bytes -= sum(map(_memory, self._batches[at:]))
        del self._batches[at:], self._offsets[at:]

    def drop_before(self, offset: int) -> None:
        """Drop the batches that begin before `offset`: they are no longer in the log."""
        self._drop(bisect_left(self._offsets, offset))

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
        left, count = self._bytes, 0
        while left > bytes_left and count < len(self._batches) - 1:
            left -= _memory(self._batches[count])
            count += 1
        self._drop(count)

    def _drop(self, count: int) -> None:
        self._bytes -= sum(map(_memory, self._batches[:count]))
        del self._batches[:count], self._offsets[:count]


def _memory(batch: RecordBatch) -> int:
    return batch.size + _BATCH_MEMORY
