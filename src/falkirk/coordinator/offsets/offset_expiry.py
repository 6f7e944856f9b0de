"""Expires offsets, and deletes groups that are left without any (KIP-211)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.offsets.committed_offset import decode_offset
from falkirk.coordinator.offsets.offset_records import NO_EXPIRY, offset_tombstone
from falkirk.coordinator.records.offset_commit import offset_topic_partition
from falkirk.coordinator.runtime.outcome import NOTHING, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.coordinator.offsets.offset_store import OffsetStore
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.coordinator.runtime.group import Group
    from falkirk.coordinator.runtime.outcome import CoordinatorRecord


_TIMER: Final = "offsets-expire"
# A round in one step would take as long as the partition has offsets. Each takes some 3 us to look at, 20 to delete.
_LOOKED_AT_MAX: Final = 2_000
_RECORDS_MAX: Final = 250


class OffsetExpiry:
    """Scans all groups every `offsets.retention.check.interval.ms`, a slice at a time.

    An offset with an expiry time of its own expires then; others `offsets.retention.minutes` after the time that the
    group returns. None expires while a member may subscribe to its topic, or an open transaction has an offset for its
    partition. An empty group without offsets and open transactions is deleted.
    """

    def __init__(self, context: ShardContext, store: OffsetStore) -> None:
        self._context = context
        self._store = store
        self._round: Iterator[list[CoordinatorRecord]] = iter(())

    def start(self) -> None:
        """Schedule the first scan, one interval from now."""
        context = self._context
        context.slices.pop(_TIMER, None)
        due_ms = context.now_ms + context.settings.offsets_retention_check_interval_ms
        context.timers.schedule(_TIMER, due_ms, self._begin)

    def _begin(self) -> Outcome:
        self._round = self._slices()
        return self._go_on()

    def _go_on(self) -> Outcome:
        records = next(self._round, None)
        if records is None:
            self.start()
            return NOTHING
        self._context.slices[_TIMER] = self._go_on
        return Outcome(records=records) if records else NOTHING

    def _slices(self) -> Iterator[list[CoordinatorRecord]]:
        """Yield the tombstones of each slice, which is written before the next one begins."""
        store, groups = self._store, self._context.groups
        records: list[CoordinatorRecord] = []
        looked_at = 0
        for group_id in tuple(groups):
            expired = 0
            for position, value in tuple(store.of_group(group_id).items()):
                # The group, or its offset, may have changed since the last slice.
                group = groups.get(group_id)
                is_current = group is not None and store.get(group_id, position) is value
                if group is not None and is_current and self._is_expired(group, position, value):
                    records.append(offset_tombstone(group_id, position))
                    self._context.counters.offset_expirations += 1
                    expired += 1
                looked_at += 1
                if _is_full(records, looked_at):
                    yield records
                    records, looked_at, expired = [], 0, 0
            group = groups.get(group_id)
            if group is not None and expired == len(store.of_group(group_id)):
                records += self._deletion_records(group)
            looked_at += 1
            # There may be very many groups without offsets.
            if _is_full(records, looked_at):
                yield records
                records, looked_at = [], 0
        yield records

    def _deletion_records(self, group: Group) -> Sequence[CoordinatorRecord]:
        """Return the records that delete a group all of whose offsets expire, if nothing else keeps it."""
        if not group.is_empty or self._store.has_open_transactions(group.group_id):
            return []
        return group.deletion_records()

    def _is_expired(self, group: Group, position: bytes, value: bytes) -> bool:
        offset = decode_offset(value)
        topic, _ = offset_topic_partition(position)
        since_ms = group.offsets_expire_since(topic, offset.commit_timestamp)
        if since_ms is None:
            return False
        now_ms, retention_ms = self._context.now_ms, self._context.settings.offsets_retention_ms
        is_over = (
            now_ms - since_ms >= retention_ms
            if offset.expire_timestamp == NO_EXPIRY
            else now_ms >= offset.expire_timestamp
        )
        return is_over and not self._store.is_pending(group.group_id, position)


def _is_full(records: Sequence[CoordinatorRecord], looked_at: int) -> bool:
    return looked_at >= _LOOKED_AT_MAX or len(records) >= _RECORDS_MAX
