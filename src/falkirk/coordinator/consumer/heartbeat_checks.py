"""Checks of a ConsumerGroupHeartbeat: its fields, and the epoch at which a member sends it. Messages are Kafka's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.consumer.member import JOINING_EPOCH, STATIC_LEAVING_EPOCH
from falkirk.coordinator.consumer.refusal import Refusal
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
    from falkirk.coordinator.consumer.member import ConsumerGroupMember
    from falkirk.protocol.messages import ConsumerGroupHeartbeatRequest
    from falkirk.protocol.messages.consumer_group_heartbeat_request import TopicPartitions


_CLIENT_MADE_MEMBER_ID_VERSION: Final = 1


def request_refusal(
    request: ConsumerGroupHeartbeatRequest, api_version: int, assignors: Sequence[str]
) -> Refusal | None:
    """Check a request by itself. From v1 on a member sends its id; before, a joining one may come without."""
    message = _reason_malformed(request, api_version)
    if message is not None:
        return Refusal(ErrorCode.INVALID_REQUEST, message)
    if request.server_assignor is not None and request.server_assignor not in assignors:
        return Refusal(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(assignors)}.",
        )
    return None


def group_full_refusal(group: ConsumerGroup, member_id: str, members_max: int) -> Refusal | None:
    """Refuse a member that is not in the group yet, if the group is full."""
    if len(group.members) < members_max or member_id in group.members:
        return None
    return Refusal(
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        f"The consumer group has reached its maximum capacity of {members_max} members.",
    )


def unknown_member_refusal(group: ConsumerGroup, member_id: str) -> Refusal:
    """Return the refusal of a member that is not in the group."""
    return Refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")


def static_member_refusal(existing: ConsumerGroupMember | None, member_id: str, instance_id: str) -> Refusal | None:
    """Check that an instance id is known and that this member holds it."""
    if existing is None:
        return Refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if existing.member_id != member_id:
        return Refusal(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {existing.member_id}.",
        )
    return None


def unreleased_instance_refusal(existing: ConsumerGroupMember, member_id: str, instance_id: str) -> Refusal | None:
    """Check that the holder of an instance id has left, so that another member may replace it."""
    if existing.member_epoch == STATIC_LEAVING_EPOCH:
        return None
    return Refusal(
        ErrorCode.UNRELEASED_INSTANCE_ID,
        f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id is"
        f" owned by {existing.member_id} member.",
    )


def epoch_refusal(member: ConsumerGroupMember, epoch: int, owned: Iterable[TopicPartitions] | None) -> Refusal | None:
    """Check the epoch of a member that does not join.

    The previous epoch is allowed if the member owns nothing beyond its assignment: the response with the new epoch may
    have been lost. Source: KIP-848, member epoch.
    """
    if epoch == member.member_epoch:
        return None
    if epoch > member.member_epoch:
        return _fenced("greater", epoch, member)
    if epoch == member.previous_member_epoch and owned is not None and _are_assigned(owned, member):
        return None
    return _fenced("smaller", epoch, member)


def _reason_malformed(request: ConsumerGroupHeartbeatRequest, api_version: int) -> str | None:
    epoch = request.member_epoch
    if (api_version >= _CLIENT_MADE_MEMBER_ID_VERSION or epoch != JOINING_EPOCH) and not request.member_id.strip():
        return "MemberId can't be empty."
    blank = _blank_name(request)
    if blank is not None:
        return f"{blank} can't be empty."
    if epoch == JOINING_EPOCH:
        return _reason_joining_malformed(request)
    if epoch == STATIC_LEAVING_EPOCH and request.instance_id is None:
        return "InstanceId can't be null."
    return "MemberEpoch is invalid." if epoch < STATIC_LEAVING_EPOCH else None


def _blank_name(request: ConsumerGroupHeartbeatRequest) -> str | None:
    if not request.group_id.strip():
        return "GroupId"
    if request.instance_id is not None and not request.instance_id.strip():
        return "InstanceId"
    return "RackId" if request.rack_id is not None and not request.rack_id.strip() else None


def _reason_joining_malformed(request: ConsumerGroupHeartbeatRequest) -> str | None:
    if request.rebalance_timeout_ms == -1:
        return "RebalanceTimeoutMs must be provided in first request."
    if request.topic_partitions is None or request.topic_partitions:
        return "TopicPartitions must be empty when (re-)joining."
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        return "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
    return None


def _are_assigned(owned: Iterable[TopicPartitions], member: ConsumerGroupMember) -> bool:
    return all(
        member.assigned.get(topic.topic_id, {}).keys() >= set(topic.partitions) for topic in owned if topic.partitions
    )


def _fenced(than: str, epoch: int, member: ConsumerGroupMember) -> Refusal:
    return Refusal(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {than} member epoch ({epoch}) than the one known by the group coordinator"
        f" ({member.member_epoch}). The member must abandon all its partitions and rejoin.",
    )
