"""Check that the batches of a metadata log follow one another, and keep its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from falkirk.columnar.batch_table import BatchTable


class BrokenChain(NamedTuple):
    """A batch that does not follow the one before it: kind of problem, position, and reason."""

    kind: str
    position: int
    offset: int
    reason: str


class BatchChain:
    """Follows batch headers, because no CRC covers base offset and leader epoch: only the sequence shows a flipped bit.

    The first batch must begin at `start` (None: anywhere). Only batches behind `counts_from` set `last_timestamp`.
    """

    def __init__(self, start: int | None = None, *, counts_from: int = 0) -> None:
        self.first_offset: int | None = None
        self.end_offset = 0 if start is None else start
        """Offset behind the last valid batch."""
        self.epoch = 0
        """Epoch of that batch."""
        self.last_timestamp: int | None = None
        """Largest timestamp of the last valid data batch."""
        self._counts_from = counts_from
        self._expected = start
        self._last_epoch = -1

    def follow(self, table: BatchTable, corrupt: set[int | None]) -> Iterator[BrokenChain]:
        """Add the next batches; yields those that break the chain. `corrupt`: base offsets of batches without rows."""
        base, epoch = table.column("base_offset"), table.column("leader_epoch")
        end = base + table.column("last_offset_delta") + 1
        if self.first_offset is None:
            self.first_offset = int(base[0])
        expected = np.concatenate([[base[0] if self._expected is None else self._expected], end[:-1]])
        before = np.concatenate([[self._last_epoch], epoch[:-1]])
        for index in np.flatnonzero((base != expected) | (epoch < before)).tolist():
            offset, wanted = int(base[index]), int(expected[index])
            position = int(table.position[index]) + table.file_position
            if offset == wanted:
                reason = f"batch has leader epoch {int(epoch[index])} after {int(before[index])}"
                yield BrokenChain("corrupt batch", position, offset, reason)
            elif offset < wanted:
                reason = f"batch begins at offset {offset}, {wanted} was expected"
                yield BrokenChain("corrupt batch", position, offset, reason)
            elif not any(wanted <= each < offset for each in corrupt if each is not None):
                yield BrokenChain("gap", position, offset, f"records from offset {wanted} on are missing")
        self._expected, self._last_epoch = int(end[-1]), int(epoch[-1])
        self._advance(table, end, ~np.isin(base, [each for each in corrupt if each is not None]))

    def _advance(self, table: BatchTable, end: NDArray[np.int64], sound: NDArray[np.bool_]) -> None:
        whole = np.flatnonzero(sound)
        if len(whole):
            self.end_offset = int(end[whole[-1]])
            self.epoch = int(table.column("leader_epoch")[whole[-1]])
        data = np.flatnonzero(sound & ~table.is_control & (end > self._counts_from))
        if len(data):
            self.last_timestamp = int(table.column("max_timestamp")[data[-1]])
