"""Expires offsets, and deletes groups that are left without any (KIP-211)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.offsets.committed_offset import decode_offset
from falkirk.coordinator.offsets.offset_records import NO_EXPIRY, offset_tombstone
from falkirk.coordinator.records.offset_commit import offset_topic_partition
from falkirk.coordinator.runtime.outcome import NOTHING, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.coordinator.offsets.offset_store import OffsetStore
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.coordinator.runtime.group import Group
    from falkirk.coordinator.runtime.outcome import CoordinatorRecord


_TIMER: Final = "offsets-expire"
# A round in one step would take as long as the partition has offsets.
_LOOKED_AT_MAX: Final = 10_000
_RECORDS_MAX: Final = 1_000


class OffsetExpiry:
    """Scans all groups every `offsets.retention.check.interval.ms`, a slice at a time.

    An offset with an expiry time of its own expires then; others `offsets.retention.minutes` after the time that the
    group returns. None expires while a member may subscribe to its topic, or an open transaction has an offset for its
    partition. An empty group without offsets and open transactions is deleted.
    """

    def __init__(self, context: ShardContext, store: OffsetStore) -> None:
        self._context = context
        self._store = store
        self._left: Iterator[str] = iter(())

    def start(self) -> None:
        """Schedule the first scan, one interval from now."""
        self._left = iter(())
        context = self._context
        due_ms = context.now_ms + context.settings.offsets_retention_check_interval_ms
        context.timers.schedule(_TIMER, due_ms, self._begin)

    def _begin(self) -> Outcome:
        self._left = iter(tuple(self._context.groups))
        return self._go_on()

    def _go_on(self) -> Outcome:
        records: list[CoordinatorRecord] = []
        looked_at = 0
        for group_id in self._left:
            group = self._context.groups.get(group_id)
            # Gone since the round began, as may be any.
            if group is not None:
                looked_at += 1 + len(self._store.of_group(group_id))
                records += self._tombstones(group)
            if looked_at >= _LOOKED_AT_MAX or len(records) >= _RECORDS_MAX:
                self._context.timers.schedule(_TIMER, self._context.now_ms, self._go_on)
                break
        else:
            self.start()
        return Outcome(records=records) if records else NOTHING

    def _tombstones(self, group: Group) -> list[CoordinatorRecord]:
        expired = [
            position
            for position, value in self._store.of_group(group.group_id).items()
            if self._is_expired(group, position, value)
        ]
        records = [offset_tombstone(group.group_id, position) for position in expired]
        self._context.counters.offset_expirations += len(expired)
        is_all = len(expired) == len(self._store.of_group(group.group_id))
        if is_all and group.is_empty and not self._store.has_open_transactions(group.group_id):
            records += group.deletion_records()
        return records

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
