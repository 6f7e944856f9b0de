"""Offsets of topics' partitions that were deleted go too: found at once, and deleted some at a time."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.records.offset_records import offset_position, offset_tombstone
from falkirk.coordinator.shard.outcome import NOTHING, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.coordinator.offsets.offset_store import OffsetStore
    from falkirk.coordinator.shard.context import ShardContext
    from falkirk.coordinator.shard.outcome import CoordinatorRecord


class DeletedPartitions:
    """What all groups have of a topic may be too much for one batch. What was committed anew meanwhile stays."""

    def __init__(self, context: ShardContext, store: OffsetStore) -> None:
        self._context = context
        self._store = store
        # Group, position, and the value that is committed there; None: there is only a pending one.
        self._left: deque[tuple[str, bytes, bytes | None]] = deque()

    def delete(self, partitions: Iterable[tuple[str, int]]) -> Outcome:
        """Give the tombstones of the first offsets; a timer gives the others."""
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
        while self._left and len(records) < _RECORDS_MAX:
            group_id, position, value = self._left.popleft()
            if self._store.get(group_id, position) is value and (
                value is not None or self._store.is_pending(group_id, position)
            ):
                records.append(offset_tombstone(group_id, position))
        if self._left:
            self._context.timers.schedule(_TIMER, self._context.now_ms, self._go_on)
        return Outcome(records=records) if records else NOTHING


_TIMER: Final = "offsets-of-deleted-partitions"
_RECORDS_MAX: Final = 1_000
