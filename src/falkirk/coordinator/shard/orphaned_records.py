"""Records of a consumer group that a classic group has replaced without tombstones.

A release that does not know consumer groups lets a classic group take the name of one (KIP-915). The consumer group's
records are still the newest of their keys: once a cleaner has removed the classic group's later record they count
again, and long-gone members reappear. So tombstones are written when such a log was loaded. Differs from Kafka: there
they reappear.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.classic.classic_records import group_metadata_record
from falkirk.coordinator.classic.group import ClassicGroup, group_metadata_tombstone
from falkirk.coordinator.classic.state import ClassicGroupState
from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.runtime.outcome import NOTHING, CoordinatorRecord, Outcome
from falkirk.protocol.coordinator_record import encode_key
from falkirk.protocol.messages import ConsumerGroupMetadataKey, ConsumerGroupTargetAssignmentMetadataKey

if TYPE_CHECKING:
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.protocol.schema import WireMessage


_OF_EVERY_GROUP: Final = (ConsumerGroupMetadataKey, ConsumerGroupTargetAssignmentMetadataKey)
_WRITTEN_STATES: Final = (ClassicGroupState.EMPTY, ClassicGroupState.STABLE)


class OrphanedRecords:
    """The orphans found while records were replayed, by group."""

    def __init__(self, context: ShardContext) -> None:
        self._context = context
        self._tombstones: dict[str, dict[bytes, CoordinatorRecord]] = {}

    def add(self, group: ConsumerGroup) -> None:
        """Add the records of a group that is replaced or removed now."""
        of_group = self._tombstones.setdefault(group.group_id, {})
        of_group.update((encode_key(record.key), record) for record in group.deletion_records())

    def replay(self, group_id: str, key: WireMessage) -> None:
        """Replay a consumer group record or its tombstone: the previous value of its key is gone."""
        of_group = self._tombstones.get(group_id)
        if of_group is not None:
            of_group.pop(encode_key(key), None)

    def bury(self) -> None:
        """Schedule the writing of tombstones, group by group, once the shard coordinates."""
        for group_id in self._tombstones:
            self._context.timers.schedule(
                f"orphaned-records-{group_id}", self._context.now_ms, partial(self._bury, group_id)
            )

    def _bury(self, group_id: str) -> Outcome:
        tombstones = list(self._tombstones.pop(group_id).values())
        group = self._context.groups.get(group_id)
        if not tombstones:
            return NOTHING
        if isinstance(group, ConsumerGroup):
            return Outcome(records=[record for record in tombstones if not isinstance(record.key, _OF_EVERY_GROUP)])
        if group is None:
            return Outcome(records=tombstones)
        if not isinstance(group, ClassicGroup) or group.state not in _WRITTEN_STATES:
            # What is not done now is done after the next load.
            return NOTHING
        # Kafka fails at a consumer group's tombstones behind the record of a classic one: it goes, and comes back.
        records = [group_metadata_tombstone(group_id), *tombstones, group_metadata_record(group)]
        return Outcome(records=records, is_replayed=False)
