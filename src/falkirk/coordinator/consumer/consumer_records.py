"""The records of consumer groups: types 3 to 8, and 16.

All values have version 0 in every release; the release's layout says which fields they have. Fields that a layout lacks
keep their defaults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.runtime.outcome import CoordinatorRecord
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
from falkirk.protocol.messages.consumer_group_current_member_assignment_value import TopicPartitions
from falkirk.protocol.messages.consumer_group_partition_metadata_value import TopicMetadata
from falkirk.protocol.messages.consumer_group_target_assignment_member_value import TopicPartition
from falkirk.versions.message_layouts import layout_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.coordinator.assignors.assignor import Assignment
    from falkirk.coordinator.consumer.member import ConsumerGroupMember, OwnedPartitions
    from falkirk.coordinator.runtime.topics import TopicPartitionCount
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.release import Release


# 3.7 alone has the layouts of the early access; later ones added fields.
_EARLY_LAYOUT: Final = 0
_TIMESTAMP_LAYOUT: Final = 1
_ASSIGNMENT_EPOCHS_LAYOUT: Final = 2


def group_epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """Type 3. `metadata_hash`: 0 where a record of type 4 has the topics' partitions."""
    return CoordinatorRecord(
        ConsumerGroupMetadataKey(group_id=group_id),
        ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def partition_metadata_record(
    release: Release, group_id: str, epoch: int, topics: Mapping[str, TopicPartitionCount]
) -> CoordinatorRecord:
    """Type 4, without racks: 4.0, the last release that writes it in production, leaves them out, too."""
    value = ConsumerGroupPartitionMetadataValue(
        epoch=epoch if _is_early(release, ConsumerGroupPartitionMetadataValue) else 0,
        topics=[
            TopicMetadata(topic_id=topic.topic_id, topic_name=name, num_partitions=topic.partition_count)
            for name, topic in sorted(topics.items())
        ],
    )
    return CoordinatorRecord(ConsumerGroupPartitionMetadataKey(group_id=group_id), value)


def member_record(release: Release, group_id: str, member: ConsumerGroupMember) -> CoordinatorRecord:
    """Type 5: what the member sent of itself."""
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(member.subscribed_topics)),
        subscribed_topic_regex=member.subscribed_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.server_assignor,
    )
    if not _is_early(release, ConsumerGroupMemberMetadataValue):
        value.classic_member_metadata = member.classic_metadata
    return CoordinatorRecord(_member_key(group_id, member.member_id), value)


def target_epoch_record(release: Release, group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    """Type 6: the epoch of the target assignment, and from 4.3 on when it was computed."""
    value = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch)
    if _layout(release, ConsumerGroupTargetAssignmentMetadataValue) >= _TIMESTAMP_LAYOUT:
        value.assignment_timestamp = timestamp_ms
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def target_assignment_record(group_id: str, member_id: str, assignment: Assignment) -> CoordinatorRecord:
    """Type 7: a member's target assignment."""
    value = ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            TopicPartition(topic_id=topic_id, partitions=tuple(sorted(partitions)))
            for topic_id, partitions in sorted(assignment.items())
        ]
    )
    return CoordinatorRecord(_target_key(group_id, member_id), value)


def current_assignment_record(
    release: Release, group_id: str, member: ConsumerGroupMember, target_epoch: int, target: Assignment
) -> CoordinatorRecord:
    """Type 8. Only the layout of 3.7 has the target, in place of the member's state."""
    layout = _layout(release, ConsumerGroupCurrentMemberAssignmentValue)
    has_epochs = layout >= _ASSIGNMENT_EPOCHS_LAYOUT
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        assigned_partitions=_owned(member.assigned, has_epochs=has_epochs),
        partitions_pending_revocation=_owned(member.revoking, has_epochs=has_epochs),
    )
    if layout > _EARLY_LAYOUT:
        value.state = member.state
    else:
        value.target_member_epoch = target_epoch
        value.partitions_pending_assignment = [
            TopicPartitions(topic_id=topic_id, partitions=tuple(sorted(missing)))
            for topic_id, partitions in sorted(target.items())
            if (missing := partitions.difference(member.assigned.get(topic_id, ())))
        ]
    return CoordinatorRecord(_current_key(group_id, member.member_id), value)


def regex_record(
    group_id: str, regex: str, topics: Iterable[str], *, version: int, timestamp_ms: int
) -> CoordinatorRecord:
    """Type 16: the topics that a regular expression matched. `version`: the end offset of the metadata."""
    value = ConsumerGroupRegularExpressionValue(topics=tuple(sorted(topics)), version=version, timestamp=timestamp_ms)
    return CoordinatorRecord(_regex_key(group_id, regex), value)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """Return the tombstones of all records of a member, in the order that Kafka's loader requires."""
    return [
        CoordinatorRecord(_current_key(group_id, member_id)),
        CoordinatorRecord(_target_key(group_id, member_id)),
        CoordinatorRecord(_member_key(group_id, member_id)),
    ]


def current_assignment_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    """Delete a member's current assignment (type 8)."""
    return CoordinatorRecord(_current_key(group_id, member_id))


def target_assignment_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    """Delete a member's target assignment (type 7)."""
    return CoordinatorRecord(_target_key(group_id, member_id))


def member_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    """Delete a member's metadata (type 5)."""
    return CoordinatorRecord(_member_key(group_id, member_id))


def target_epoch_tombstone(group_id: str) -> CoordinatorRecord:
    """Delete the target assignment's epoch (type 6), after all records of type 7."""
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id))


def partition_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """Delete the partition metadata (type 4)."""
    return CoordinatorRecord(ConsumerGroupPartitionMetadataKey(group_id=group_id))


def regex_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    """Delete a resolved regular expression (type 16)."""
    return CoordinatorRecord(_regex_key(group_id, regex))


def group_epoch_tombstone(group_id: str) -> CoordinatorRecord:
    """Delete the group's epoch (type 3), the last record of a group."""
    return CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id))


def _member_key(group_id: str, member_id: str) -> ConsumerGroupMemberMetadataKey:
    return ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)


def _target_key(group_id: str, member_id: str) -> ConsumerGroupTargetAssignmentMemberKey:
    return ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)


def _current_key(group_id: str, member_id: str) -> ConsumerGroupCurrentMemberAssignmentKey:
    return ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)


def _regex_key(group_id: str, regex: str) -> ConsumerGroupRegularExpressionKey:
    return ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)


def _owned(owned: OwnedPartitions, *, has_epochs: bool) -> list[TopicPartitions]:
    topics = []
    for topic_id, epochs in sorted(owned.items()):
        partitions = tuple(sorted(epochs))
        topic = TopicPartitions(topic_id=topic_id, partitions=partitions)
        if has_epochs:
            topic.assignment_epochs = tuple(epochs[partition] for partition in partitions)
        topics.append(topic)
    return topics


def _is_early(release: Release, message: type[WireMessage]) -> bool:
    return _layout(release, message) == _EARLY_LAYOUT


def _layout(release: Release, message: type[WireMessage]) -> int:
    layout = layout_in(release, message.SCHEMA.info.name)
    assert layout is not None, "each of these has several"
    return layout
