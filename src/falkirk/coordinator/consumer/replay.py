"""Replay of consumer group records into the groups of a shard.

The newest Kafka's loader tolerates any order that compaction may leave; this one does so for all releases and rejects
nothing. Differs from Kafka: there, tombstones in an order that no coordinator writes fail the partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.consumer.consumer_group import ConsumerGroup, ResolvedRegex
from falkirk.coordinator.consumer.member import ConsumerGroupMember
from falkirk.coordinator.runtime.topics import TopicPartitionCount
from falkirk.protocol.messages import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)

if TYPE_CHECKING:
    from falkirk.coordinator.runtime.group import Group
    from falkirk.protocol.schema import WireMessage


CONSUMER_GROUP_KEYS: Final = (
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupRegularExpressionKey,
)
"""The keys of all records that are replayed here."""


def replay_record(
    groups: dict[str, Group], key: WireMessage, value: WireMessage | None, *, first_epoch: int
) -> ConsumerGroup | None:
    """Replay a record (value None: a tombstone); return its group if it exists, or existed until now.

    A value creates the group, also in place of one of another type, as it is later in the log. `first_epoch`: as for
    ConsumerGroup.
    """
    assert isinstance(key, CONSUMER_GROUP_KEYS), f"{type(key).__name__} is no key of a consumer group's record"
    group_id = key.group_id
    group = groups.get(group_id)
    if not isinstance(group, ConsumerGroup):
        if value is None:
            return None
        group = ConsumerGroup(group_id, first_epoch=first_epoch)
        groups[group_id] = group
    _apply(group, key, value)
    if not group.has_records:
        del groups[group_id]
    return group


def _apply(group: ConsumerGroup, key: WireMessage, value: WireMessage | None) -> None:
    match key:
        case ConsumerGroupMetadataKey():
            assert value is None or isinstance(value, ConsumerGroupMetadataValue)
            group.set_epoch(None if value is None else value.epoch, 0 if value is None else value.metadata_hash)
        case ConsumerGroupPartitionMetadataKey():
            assert value is None or isinstance(value, ConsumerGroupPartitionMetadataValue)
            group.subscription_metadata = None if value is None else _subscription(value)
        case ConsumerGroupMemberMetadataKey(member_id=member_id):
            assert value is None or isinstance(value, ConsumerGroupMemberMetadataValue)
            group.update_member(_member(group, member_id).with_metadata(value))
        case ConsumerGroupTargetAssignmentMetadataKey():
            assert value is None or isinstance(value, ConsumerGroupTargetAssignmentMetadataValue)
            if value is None:
                group.set_target_epoch(None)
            else:
                group.set_target_epoch(value.assignment_epoch, value.assignment_timestamp)
        case ConsumerGroupTargetAssignmentMemberKey(member_id=member_id):
            assert value is None or isinstance(value, ConsumerGroupTargetAssignmentMemberValue)
            group.set_target(member_id, None if value is None else _target(value))
        case ConsumerGroupCurrentMemberAssignmentKey(member_id=member_id):
            assert value is None or isinstance(value, ConsumerGroupCurrentMemberAssignmentValue)
            group.update_member(_member(group, member_id).with_assignment(value))
        case ConsumerGroupRegularExpressionKey(regular_expression=regex):
            assert value is None or isinstance(value, ConsumerGroupRegularExpressionValue)
            group.set_regex(regex, None if value is None else _resolved(value))


def _member(group: ConsumerGroup, member_id: str) -> ConsumerGroupMember:
    return group.members.get(member_id) or ConsumerGroupMember(member_id=member_id)


def _subscription(value: ConsumerGroupPartitionMetadataValue) -> dict[str, TopicPartitionCount]:
    return {topic.topic_name: TopicPartitionCount(topic.topic_id, topic.num_partitions) for topic in value.topics}


def _target(value: ConsumerGroupTargetAssignmentMemberValue) -> dict[bytes, frozenset[int]]:
    return {topic.topic_id: frozenset(topic.partitions) for topic in value.topic_partitions}


def _resolved(value: ConsumerGroupRegularExpressionValue) -> ResolvedRegex:
    return ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)
