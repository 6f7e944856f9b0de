"""The offsets of all groups of a shard, as bytes: what a record's key ends with, and its value.

A partition of `__consumer_offsets` may have millions of offsets, and most are never asked for before they are
committed anew: they are taken up in a microsecond, as they stand in the log, and decoded when somebody wants them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    Position = bytes
    """Topic and partition as they stand in an offset's key."""


class OffsetStore:
    """Committed offsets, and those that wait for the end of a transaction. State changes by records and markers only.

    `tombstones_end_pending`: an offset's tombstone also ends what open transactions have for it; see LoaderRules.
    """

    def __init__(self, *, tombstones_end_pending: bool = True) -> None:
        self.committed: dict[str, dict[Position, bytes]] = {}
        """By group; no entry is empty."""
        self._tombstones_end_pending = tombstones_end_pending
        # By producer id, then by group: value, and the offset in the log of its record. No entry is empty.
        self._pending: dict[int, dict[str, dict[Position, tuple[int, bytes]]]] = {}
        # Which producers have anything pending in a group.
        self._open: dict[str, set[int]] = {}
        # Where in the log the last commit stands, of positions that also wait for a transaction's end.
        self._committed_at: dict[tuple[str, Position], int] = {}

    def commit(self, group_id: str, position: Position, value: bytes, log_offset: int) -> None:
        """Take an offset that counts at once."""
        of_group = self.committed.get(group_id)
        if of_group is None:
            of_group = self.committed[group_id] = {}
        of_group[position] = value
        if self._pending and self.is_pending(group_id, position):
            self._committed_at[group_id, position] = log_offset

    def commit_pending(
        self, group_id: str, position: Position, value: bytes, *, log_offset: int, producer_id: int
    ) -> None:
        """Take an offset that counts when its producer commits."""
        groups = self._pending.setdefault(producer_id, {})
        groups.setdefault(group_id, {})[position] = log_offset, value
        self._open.setdefault(group_id, set()).add(producer_id)

    def delete(self, group_id: str, position: Position) -> None:
        """Take a tombstone."""
        of_group = self.committed.get(group_id)
        if of_group is not None and of_group.pop(position, None) is not None:
            self._committed_at.pop((group_id, position), None)
            if not of_group:
                del self.committed[group_id]
        if self._tombstones_end_pending and group_id in self._open:
            for producer_id in list(self._open[group_id]):
                self.delete_pending(group_id, position, producer_id)

    def delete_pending(self, group_id: str, position: Position, producer_id: int) -> None:
        """Take back what one producer has pending."""
        positions = self._pending.get(producer_id, {}).get(group_id)
        if positions is None or positions.pop(position, None) is None:
            return
        if not positions:
            self._close(group_id, producer_id)
        self._forget_commit(group_id, position)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> list[str]:
        """Take a marker; give the groups that got offsets by it.

        An offset that was committed later, with or without a transaction, stays: it is what a cleaned log would have.
        """
        groups = dict(self._pending.get(producer_id, {}))
        for group_id, positions in groups.items():
            self._close(group_id, producer_id)
            for position, (log_offset, value) in positions.items():
                if is_commit and log_offset > self._committed_at.get((group_id, position), -1):
                    self.commit(group_id, position, value, log_offset)
                self._forget_commit(group_id, position)
        return list(groups) if is_commit else []

    def get(self, group_id: str, position: Position) -> bytes | None:
        """Give a committed offset's value."""
        return self.committed.get(group_id, _NONE).get(position)

    def of_group(self, group_id: str) -> Mapping[Position, bytes]:
        """Give a group's committed offsets."""
        return self.committed.get(group_id, _NONE)

    @property
    def count(self) -> int:
        """Count the committed offsets of all groups."""
        return sum(map(len, self.committed.values()))

    def has_open_transactions(self, group_id: str) -> bool:
        """Say whether a transaction with offsets of this group has not ended."""
        return group_id in self._open

    def is_pending(self, group_id: str, position: Position) -> bool:
        """Say whether an offset waits for the end of a transaction."""
        return any(position in positions for positions in self._pending_of(group_id))

    def pending_positions(self, group_id: str) -> Collection[Position]:
        """Give the positions of a group that wait for the end of a transaction, each once."""
        return dict.fromkeys(position for positions in self._pending_of(group_id) for position in positions)

    def groups_with_pending(self) -> Collection[str]:
        """Give the groups with offsets in open transactions."""
        return dict.fromkeys(group_id for groups in self._pending.values() for group_id in groups)

    def _close(self, group_id: str, producer_id: int) -> None:
        groups = self._pending[producer_id]
        del groups[group_id]
        if not groups:
            del self._pending[producer_id]
        producers = self._open[group_id]
        producers.remove(producer_id)
        if not producers:
            del self._open[group_id]

    def _forget_commit(self, group_id: str, position: Position) -> None:
        if not self.is_pending(group_id, position):
            self._committed_at.pop((group_id, position), None)

    def _pending_of(self, group_id: str) -> Iterator[Mapping[Position, tuple[int, bytes]]]:
        for producer_id in self._open.get(group_id, ()):
            yield self._pending[producer_id][group_id]


_NONE: Final[Mapping[Position, bytes]] = {}
