"""Replay of `__consumer_offsets` records into a shard, whether loaded or just written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.records.record_type import PARTS, GroupType, Part
from falkirk.coordinator.runtime.kept_tags import KeptTags
from falkirk.coordinator.shard.foreign_group import ForeignGroup
from falkirk.coordinator.shard.orphaned_records import OrphanedRecords
from falkirk.protocol.messages import GroupMetadataKey, GroupMetadataValue

if TYPE_CHECKING:
    from falkirk.coordinator.classic.protocol import ClassicProtocol
    from falkirk.coordinator.consumer.consumer_protocol import ConsumerProtocol
    from falkirk.coordinator.offsets.offset_store import OffsetStore
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.coordinator.runtime.outcome import CoordinatorRecord
    from falkirk.protocol.schema import WireMessage


class GroupReplay:
    """Passes each record to the part with its state. It refuses nothing: PartitionLoader does."""

    def __init__(
        self, context: ShardContext, store: OffsetStore, classic: ClassicProtocol, consumer: ConsumerProtocol
    ) -> None:
        self._context = context
        self._store = store
        self._classic = classic
        self._consumer = consumer
        self.kept_tags = KeptTags()
        self.orphaned_records = OrphanedRecords(context)

    def replay(self, record: CoordinatorRecord) -> None:
        """Replay a record other than that of an offset."""
        key, value = record.key, record.value
        self.kept_tags.replay(key, value)
        if isinstance(key, GroupMetadataKey):
            assert value is None or isinstance(value, GroupMetadataValue)
            self._replay_classic(key, value)
        else:
            self._replay_part(key, value)

    def replay_offset(
        self, group_id: str, position: bytes, value: bytes | None, *, log_offset: int, producer_id: int | None
    ) -> None:
        """Replay an offset as its bytes in the log; None: its tombstone.

        `producer_id`: it is pending until this producer's transaction ends.
        An offset of a missing group creates a simple group: an empty classic one without a protocol type.
        """
        if value is None:
            self._store.delete(group_id, position)
            return
        groups = self._context.groups
        if group_id not in groups:
            groups[group_id] = ClassicGroup(group_id, now_ms=self._context.now_ms)
        if producer_id is None:
            self._store.commit(group_id, position, value, log_offset)
        else:
            self._store.commit_pending(group_id, position, value, log_offset=log_offset, producer_id=producer_id)

    def _replay_classic(self, key: GroupMetadataKey, value: GroupMetadataValue | None) -> None:
        group = self._context.groups.get(key.group)
        if isinstance(group, ConsumerGroup):
            self.orphaned_records.add(group)
        if value is None and group is not None and not isinstance(group, ClassicGroup):
            # The tombstone of what a group was once, behind records of what it is: as in Kafka it has the last word.
            del self._context.groups[key.group]
        else:
            self._classic.replay(key, value)

    def _replay_part(self, key: WireMessage, value: WireMessage | None) -> None:
        type_ = key.SCHEMA.info.key
        assert type_ is not None, "it is a record's key"
        group_type, part = PARTS[type_]
        group_id: str = getattr(key, "group_id")  # noqa: B009  # all of these keys have one
        if group_type is GroupType.CONSUMER:
            self._consumer.replay(key, value)
            self.orphaned_records.replay(group_id, key)
            return
        groups = self._context.groups
        group = groups.get(group_id)
        if not isinstance(group, ForeignGroup) or group.type is not group_type:
            if value is None:
                return
            group = groups[group_id] = ForeignGroup(group_id, group_type)
        if part is Part.GROUP and value is None:
            del groups[group_id]
        else:
            group.replay(part, getattr(key, "member_id", ""), is_tombstone=value is None)
