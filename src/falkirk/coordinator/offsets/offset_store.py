"""The offsets of all groups of a shard as bytes: the end of a record's key, and its value.

A partition of `__consumer_offsets` may have millions of offsets, most of which are committed again before they are
fetched: they are stored within a microsecond as the log has them, and decoded on demand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import TypeAlias

    Position: TypeAlias = bytes
    """Topic and partition as they stand in an offset's key."""


_NONE: Final[Mapping[Position, bytes]] = {}


class OffsetStore:
    """Committed offsets, and pending ones of open transactions. Only records and markers change them.

    `tombstones_end_pending`: an offset's tombstone also removes its pending offsets; see LoaderRules.
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
        """Store a committed offset."""
        of_group = self.committed.get(group_id)
        if of_group is None:
            of_group = self.committed[group_id] = {}
        of_group[position] = value
        if self._pending and self.is_pending(group_id, position):
            self._committed_at[group_id, position] = log_offset

    def commit_pending(
        self, group_id: str, position: Position, value: bytes, *, log_offset: int, producer_id: int
    ) -> None:
        """Store an offset that is committed when its producer's transaction is."""
        groups = self._pending.setdefault(producer_id, {})
        groups.setdefault(group_id, {})[position] = log_offset, value
        self._open.setdefault(group_id, set()).add(producer_id)

    def delete(self, group_id: str, position: Position) -> None:
        """Apply a tombstone."""
        of_group = self.committed.get(group_id)
        if of_group is not None and of_group.pop(position, None) is not None:
            self._committed_at.pop((group_id, position), None)
            if not of_group:
                del self.committed[group_id]
        if self._tombstones_end_pending and group_id in self._open:
            for producer_id in list(self._open[group_id]):
                self.delete_pending(group_id, position, producer_id)

    def delete_pending(self, group_id: str, position: Position, producer_id: int) -> None:
        """Remove one producer's pending offset."""
        positions = self._pending.get(producer_id, {}).get(group_id)
        if positions is None or positions.pop(position, None) is None:
            return
        if not positions:
            self._close(group_id, producer_id)
        self._forget_commit(group_id, position)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> list[str]:
        """Apply a transaction marker; return the groups whose offsets it committed.

        An offset committed later in the log, by a transaction or not, stays, as a cleaned log would have it.
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
        """Return the value of a committed offset."""
        return self.committed.get(group_id, _NONE).get(position)

    def of_group(self, group_id: str) -> Mapping[Position, bytes]:
        """Return a group's committed offsets."""
        return self.committed.get(group_id, _NONE)

    @property
    def count(self) -> int:
        """Return the number of committed offsets of all groups."""
        return sum(map(len, self.committed.values()))

    def has_open_transactions(self, group_id: str) -> bool:
        """Return whether an open transaction has offsets of this group."""
        return group_id in self._open

    def is_pending(self, group_id: str, position: Position) -> bool:
        """Return whether an open transaction has an offset at this position."""
        return any(position in positions for positions in self._pending_of(group_id))

    def pending_positions(self, group_id: str) -> Collection[Position]:
        """Return the positions of a group's pending offsets, each once."""
        return dict.fromkeys(position for positions in self._pending_of(group_id) for position in positions)

    def groups_with_pending(self) -> Collection[str]:
        """Return the groups with pending offsets."""
        return self._open.keys()

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
