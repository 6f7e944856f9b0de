"""Upgrade of a classic group of consumers to a consumer group, when a member of the consumer protocol joins it.

Its members keep the leader's last assignment, at the epoch that was the group's generation. Requests that wait in a
rebalance get REBALANCE_IN_PROGRESS: their members then join the consumer group without knowing it.
Source: KIP-848, "Migrating"; Kafka's ConsumerGroup.fromClassicGroup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.classic.responses import join_error, sync_error
from falkirk.coordinator.classic.state import ClassicGroupState
from falkirk.coordinator.consumer import consumer_records
from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.consumer.conversions import Upgrade
from falkirk.coordinator.consumer.member import ConsumerGroupMember
from falkirk.coordinator.consumer.refusal import Refusal
from falkirk.coordinator.conversion.migration_policy import MigrationPolicy
from falkirk.coordinator.runtime.outcome import Reply
from falkirk.protocol.consumer_protocol import CONSUMER_PROTOCOL_TYPE, decode_embedded
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from falkirk.protocol.messages.consumer_group_member_metadata_value import ClassicMemberMetadata, ClassicProtocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.coordinator.classic.group import ClassicGroup
    from falkirk.coordinator.classic.member import ClassicMember
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.coordinator.runtime.outcome import CoordinatorRecord
    from falkirk.coordinator.runtime.topics import Topics
    from falkirk.versions.release import Release


def upgrade(group: ClassicGroup, context: ShardContext) -> Upgrade | Refusal:
    """Return a non-empty classic group as a consumer group; nothing changes before the records are replayed.

    GROUP_ID_NOT_FOUND if the policy does not allow it, the members are not consumers or too many, or their
    subscriptions or the leader's assignment cannot be converted.
    """
    reason = _reason_not_upgradable(group, context)
    if reason is not None:
        return _refusal(group, reason)
    try:
        members = _members(group, context.topics)
    except RemoteProtocolError:
        return _refusal(group, "the embedded consumer protocol is malformed")
    except _CustomAssignorError:
        return _refusal(
            group,
            "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default"
            " assignor before re-attempting the upgrade",
        )
    made = _made(group, members)
    return Upgrade(group=made, records=_records(group, made, context.release), replies=_replies(group))


class _CustomAssignorError(Exception):
    """An assignment with user data, which would be lost."""


def _reason_not_upgradable(group: ClassicGroup, context: ShardContext) -> str | None:
    if not MigrationPolicy.of(context).allows_upgrade:
        return "online upgrade is disabled"
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return "the group does not use the consumer embedded protocol"
    if len(group.members) > context.settings.consumer_max_size:
        return "the group size exceeds the consumer group maximum size"
    return None


def _refusal(group: ClassicGroup, reason: str) -> Refusal:
    return Refusal(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {group.group_id} to consumer group because {reason}.",
    )


def _made(group: ClassicGroup, members: Iterable[ConsumerGroupMember]) -> ConsumerGroup:
    epoch = group.generation_id
    made = ConsumerGroup(group.group_id, first_epoch=epoch)
    made.set_epoch(epoch)
    # Time 0: it may be reassigned at once.
    made.set_target_epoch(epoch, 0)
    for member in members:
        made.update_member(member)
        made.set_target(member.member_id, {topic_id: frozenset(parts) for topic_id, parts in member.assigned.items()})
    return made


def _records(group: ClassicGroup, made: ConsumerGroup, release: Release) -> list[CoordinatorRecord]:
    group_id, epoch = made.group_id, made.group_epoch
    records = list(group.deletion_records())
    records += [consumer_records.member_record(release, group_id, member) for member in made.members.values()]
    # No hash: the member that joins has it reckoned.
    records.append(consumer_records.group_epoch_record(group_id, epoch, 0))
    records += [
        consumer_records.target_assignment_record(group_id, member_id, target)
        for member_id, target in made.target.items()
    ]
    records.append(consumer_records.target_epoch_record(release, group_id, epoch, 0))
    records += [
        consumer_records.current_assignment_record(release, group_id, member, epoch, made.target_of(member.member_id))
        for member in made.members.values()
    ]
    return records


def _replies(group: ClassicGroup) -> list[Reply]:
    """Respond to waiting requests; they go away with the group."""
    replies = []
    for member in group.members.values():
        if member.waiting_join is not None:
            version = member.waiting_join.api_version
            response = join_error(version, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
            replies.append(Reply(member.waiting_join.token, response))
        if member.waiting_sync is not None:
            replies.append(Reply(member.waiting_sync.token, sync_error(ErrorCode.REBALANCE_IN_PROGRESS)))
    return replies


def _members(group: ClassicGroup, topics: Topics) -> list[ConsumerGroupMember]:
    # All protocols of a member come with the same subscription, but for what is the assignor's own.
    subscriptions = {
        member.member_id: decode_embedded(ConsumerProtocolSubscription, member.protocols[0].metadata)
        for member in group.members.values()
    }
    owned = _Owned(topics)
    # In a rebalance that began while there was one, assignments are forgotten, and members may still have theirs.
    claiming = []
    for member in group.members.values():
        if member.assignment:
            owned.assign(member.member_id, member.assignment)
        elif group.state is not ClassicGroupState.STABLE:
            claiming.append(member.member_id)
    for member_id in sorted(claiming, key=lambda each: -subscriptions[each].generation_id):
        owned.claim(member_id, subscriptions[member_id])
    return [
        _member(member, subscriptions[member.member_id], owned.of(member.member_id), group.generation_id)
        for member in group.members.values()
    ]


def _member(
    member: ClassicMember, subscription: ConsumerProtocolSubscription, owned: dict[bytes, set[int]], epoch: int
) -> ConsumerGroupMember:
    return ConsumerGroupMember(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id or None,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topics=frozenset(subscription.topics),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic_metadata=ClassicMemberMetadata(
            session_timeout_ms=member.session_timeout_ms,
            supported_protocols=[
                ClassicProtocol(name=protocol.name, metadata=protocol.metadata) for protocol in member.protocols
            ],
        ),
        member_epoch=epoch,
        previous_member_epoch=epoch,
        assigned={topic_id: dict.fromkeys(sorted(parts), epoch) for topic_id, parts in owned.items()},
        has_metadata=True,
        has_assignment=True,
    )


class _Owned:
    """The owners of partitions. A partition that the leader assigned twice goes to the first member."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._owned: dict[str, dict[bytes, set[int]]] = {}
        self._assigned: set[tuple[bytes, int]] = set()

    def assign(self, member_id: str, assignment: bytes) -> None:
        """Add what the leader assigned to a member. Raises RemoteProtocolError, _CustomAssignorError."""
        message = decode_embedded(ConsumerProtocolAssignment, assignment)
        if message.user_data:
            raise _CustomAssignorError
        for topic in message.assigned_partitions:
            self._add(member_id, topic.topic, topic.partitions)

    def claim(self, member_id: str, subscription: ConsumerProtocolSubscription) -> None:
        """Add what a member reported to own."""
        for topic in subscription.owned_partitions:
            self._add(member_id, topic.topic, topic.partitions)

    def of(self, member_id: str) -> dict[bytes, set[int]]:
        """Return a member's partitions by topic id."""
        return self._owned.get(member_id, {})

    def _add(self, member_id: str, topic: str, partitions: Iterable[int]) -> None:
        topic_id, count = self._topics.id_of(topic), self._topics.partitions_of(topic)
        if topic_id is None:
            return
        free = {each for each in partitions if 0 <= each < count and (topic_id, each) not in self._assigned}
        if free:
            self._assigned.update((topic_id, each) for each in free)
            self._owned.setdefault(member_id, {}).setdefault(topic_id, set()).update(free)
