"""Records of a consumer group that a classic group has taken the place of, without tombstones.

A release that does not know consumer groups lets a group of the same name begin where one was (KIP-915). What the
consumer group wrote is still the newest of its keys: it counts again as soon as a cleaner has taken away what the
classic group wrote behind it, and members of long ago stand in the group. So tombstones are written when such a log was
loaded. Differs from Kafka: there they come back.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.classic.state import ClassicGroupState
from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.records.classic_records import group_metadata_record, group_metadata_tombstone
from falkirk.coordinator.shard.outcome import NOTHING, CoordinatorRecord, Outcome
from falkirk.protocol.coordinator_record import encode_key
from falkirk.protocol.messages import ConsumerGroupMetadataKey, ConsumerGroupTargetAssignmentMetadataKey

if TYPE_CHECKING:
    from falkirk.coordinator.shard.context import ShardContext
    from falkirk.protocol.schema import WireMessage


class OrphanedRecords:
    """What was met while records were replayed, by group."""

    def __init__(self, context: ShardContext) -> None:
        self._context = context
        self._tombstones: dict[str, dict[bytes, CoordinatorRecord]] = {}

    def add(self, group: ConsumerGroup) -> None:
        """Take a group that another one takes the place of now, or nothing."""
        of_group = self._tombstones.setdefault(group.group_id, {})
        of_group.update((encode_key(record.key), record) for record in group.deletion_records())

    def replay(self, group_id: str, key: WireMessage) -> None:
        """Take a record of a consumer group, or its tombstone: what stood under its key is gone."""
        of_group = self._tombstones.get(group_id)
        if of_group is not None:
            of_group.pop(encode_key(key), None)

    def bury(self) -> None:
        """Have tombstones written, group by group, as soon as the shard coordinates."""
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


_OF_EVERY_GROUP: Final = (ConsumerGroupMetadataKey, ConsumerGroupTargetAssignmentMetadataKey)
_WRITTEN_STATES: Final = (ClassicGroupState.EMPTY, ClassicGroupState.STABLE)
