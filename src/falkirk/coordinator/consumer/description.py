"""A consumer group in ConsumerGroupDescribe (key 69, v0-1); v1 has the types of the members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages.consumer_group_describe_response import (
    Assignment,
    DescribedGroup,
    Member,
    TopicPartitions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
    from falkirk.coordinator.consumer.member import ConsumerGroupMember
    from falkirk.coordinator.consumer.services import ConsumerServices
    from falkirk.coordinator.runtime.group import Group
    from falkirk.coordinator.runtime.topics import Topics


_CLASSIC_MEMBER: Final = 0
_CONSUMER_MEMBER: Final = 1


def described_group(services: ConsumerServices, group: ConsumerGroup) -> DescribedGroup:
    """Describe a group; partitions of deleted topics are left out.

    A member's assignment is what it owns, including partitions whose revocation it has not confirmed.
    """
    topics = services.context.topics
    requested = group.server_assignors
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.group_epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=max(services.assignor_names, key=lambda name: requested[name]),
        members=[_member(group, member, topics) for member in group.members.values()],
    )


def no_consumer_group(group_id: str, group: Group | None) -> DescribedGroup:
    """Describe a group that is missing, or of another type."""
    what = "not found" if group is None else "is not a consumer group"
    return DescribedGroup(
        group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=f"Group {group_id} {what}."
    )


def _member(group: ConsumerGroup, member: ConsumerGroupMember, topics: Topics) -> Member:
    owned: dict[bytes, set[int]] = {}
    for part in (member.assigned, member.revoking):
        for topic_id, partitions in part.items():
            owned.setdefault(topic_id, set()).update(partitions)
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(member.subscribed_topics)),
        subscribed_topic_regex=member.subscribed_regex,
        assignment=_assignment(owned, topics),
        target_assignment=_assignment(group.target_of(member.member_id), topics),
        member_type=_CLASSIC_MEMBER if member.uses_classic_protocol else _CONSUMER_MEMBER,
    )


def _assignment(partitions: Mapping[bytes, Iterable[int]], topics: Topics) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=name, partitions=tuple(sorted(of_topic)))
            for topic_id, of_topic in sorted(partitions.items())
            if (name := topics.name_of(topic_id)) is not None
        ]
    )
