"""Deletes the offsets of deleted partitions: all are found at once, and deleted in slices."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.offsets.offset_records import offset_position, offset_tombstone
from falkirk.coordinator.runtime.outcome import NOTHING, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.coordinator.offsets.offset_store import OffsetStore
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.coordinator.runtime.outcome import CoordinatorRecord


_SLICE: Final = "offsets-of-deleted-partitions"
_LOOKED_AT_MAX: Final = 2_000
_RECORDS_MAX: Final = 250


class DeletedPartitions:
    """All groups' offsets of a topic may exceed one batch. Offsets committed again meanwhile are kept."""

    def __init__(self, context: ShardContext, store: OffsetStore) -> None:
        self._context = context
        self._store = store
        # Group, position, and the value that is committed there; None: there is only a pending one.
        self._left: deque[tuple[str, bytes, bytes | None]] = deque()

    def delete(self, partitions: Iterable[tuple[str, int]]) -> Outcome:
        """Return the tombstones of the first offsets; further slices continue with the others."""
        positions = dict.fromkeys(offset_position(topic, partition) for topic, partition in partitions)
        store = self._store
        for group_id, offsets in store.committed.items():
            found = positions.keys() & offsets.keys()
            # In the order of the request: sets have none that stays the same.
            self._left += [(group_id, position, offsets[position]) for position in positions if position in found]
        for group_id in store.groups_with_pending():
            committed = store.of_group(group_id)
            pending = store.pending_positions(group_id)
            self._left += [(group_id, each, None) for each in positions if each in pending and each not in committed]
        return self._go_on()

    def _go_on(self) -> Outcome:
        records: list[CoordinatorRecord] = []
        looked_at = 0
        while self._left and len(records) < _RECORDS_MAX and looked_at < _LOOKED_AT_MAX:
            looked_at += 1
            group_id, position, value = self._left.popleft()
            if self._store.get(group_id, position) is value and (
                value is not None or self._store.is_pending(group_id, position)
            ):
                records.append(offset_tombstone(group_id, position))
        if self._left:
            self._context.slices[_SLICE] = self._go_on
        return Outcome(records=records) if records else NOTHING
