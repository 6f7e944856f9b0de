"""Consumer groups of the classic protocol and of KIP-848, described in one form.

Each group is described as one of KIP-848 first (ConsumerGroupDescribe, key 69); by DescribeGroups (key 15) if the
coordinator has no such group or is too old, as Kafka's Admin does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.client.groups.coordinators import Coordinators
from falkirk.client.groups.listing import CLASSIC, CONSUMER, CONSUMER_GROUP_PROTOCOLS
from falkirk.client.refusal import Refusal
from falkirk.client.retries import API_TIMEOUT_MS
from falkirk.protocol.consumer_protocol import decode_embedded
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerProtocolAssignment,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.cluster_description import ClusterNode
    from falkirk.client.connection import NodeConnection
    from falkirk.protocol.messages import consumer_group_describe_response as modern
    from falkirk.protocol.messages import describe_groups_response as classic

DEAD: Final = "Dead"
EMPTY: Final = "Empty"

_DESCRIBE_CONSUMER_GROUPS: Final = 69
_NO_MEMBER_TYPE: Final = -1
_CONSUMER_MEMBER: Final = 1
# The coordinator has no such group of KIP-848, or no such groups at all.
_CLASSIC_INSTEAD: Final = frozenset({ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION})


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberDescription:
    """A member. Epochs and `target` are None in classic groups.

    `is_upgraded`: it speaks the new protocol; False: the classic one in a group of the new type; None: not reported, as
    by brokers before 4.1 and in classic groups.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    member_epoch: int | None = None
    target: tuple[TopicPartition, ...] | None = None
    is_upgraded: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDescription:
    """A consumer group. `state` and `assignor` are the coordinator's words; epochs are None in classic groups."""

    group_id: str
    type: str
    state: str
    assignor: str
    members: tuple[MemberDescription, ...]
    coordinator: ClusterNode
    group_epoch: int | None = None
    target_assignment_epoch: int | None = None
    is_simple: bool = False


async def describe_groups(
    admin: AsyncAdmin, group_ids: Iterable[str], *, timeout_ms: int = API_TIMEOUT_MS
) -> dict[str, GroupDescription | Refusal]:
    """Describe consumer groups, groups with offsets alone included; groups of other kinds are refused.

    Raises ClientError for a coordinator that cannot be reached.
    """
    coordinators = Coordinators(admin)

    async def ask(
        coordinator: ClusterNode, requested: Sequence[str], request_timeout_ms: int
    ) -> Mapping[str, GroupDescription | Refusal]:
        node = admin.connection(coordinator.endpoint)
        found = await _ask_modern(node, coordinator, requested, request_timeout_ms)
        others = [
            group_id
            for group_id, answer in found.items()
            if isinstance(answer, Refusal) and answer.error_code in _CLASSIC_INSTEAD
        ]
        return found | (await _ask_classic(node, coordinator, others, request_timeout_ms) if others else {})

    return await coordinators.ask(group_ids, ask, timeout_ms=timeout_ms)


async def _ask_modern(
    node: NodeConnection, coordinator: ClusterNode, group_ids: Sequence[str], timeout_ms: int
) -> dict[str, GroupDescription | Refusal]:
    if _DESCRIBE_CONSUMER_GROUPS not in (await node.versions()).api_ranges:
        return dict.fromkeys(group_ids, Refusal(ErrorCode.UNSUPPORTED_VERSION))
    request = ConsumerGroupDescribeRequest(group_ids=tuple(group_ids))
    response = await node.request(request, is_idempotent=True, timeout_ms=timeout_ms)
    assert isinstance(response, ConsumerGroupDescribeResponse)
    return {group.group_id: _of_modern(coordinator, group) for group in response.groups}


async def _ask_classic(
    node: NodeConnection, coordinator: ClusterNode, group_ids: Sequence[str], timeout_ms: int
) -> dict[str, GroupDescription | Refusal]:
    request = DescribeGroupsRequest(groups=tuple(group_ids))
    response = await node.request(request, is_idempotent=True, timeout_ms=timeout_ms)
    assert isinstance(response, DescribeGroupsResponse)
    return {group.group_id: _of_classic(coordinator, group) for group in response.groups}


def _of_modern(coordinator: ClusterNode, group: modern.DescribedGroup) -> GroupDescription | Refusal:
    if group.error_code != ErrorCode.NONE:
        return Refusal(group.error_code, group.error_message)
    return GroupDescription(
        group_id=group.group_id,
        type=CONSUMER,
        state=group.group_state,
        assignor=group.assignor_name,
        members=tuple(map(_modern_member, group.members)),
        coordinator=coordinator,
        group_epoch=group.group_epoch,
        target_assignment_epoch=group.assignment_epoch,
    )


def _modern_member(member: modern.Member) -> MemberDescription:
    is_reported = member.member_type != _NO_MEMBER_TYPE
    return MemberDescription(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        host=member.client_host,
        assignment=_assigned(member.assignment),
        member_epoch=member.member_epoch,
        target=_assigned(member.target_assignment),
        is_upgraded=member.member_type == _CONSUMER_MEMBER if is_reported else None,
    )


def _assigned(assignment: modern.Assignment) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(topic.topic_name, partition)
        for topic in assignment.topic_partitions
        for partition in topic.partitions
    )


def _of_classic(coordinator: ClusterNode, group: classic.DescribedGroup) -> GroupDescription | Refusal:
    if group.error_code != ErrorCode.NONE:
        return Refusal(group.error_code, group.error_message)
    if group.protocol_type not in CONSUMER_GROUP_PROTOCOLS:
        reason = f"GroupId {group.group_id} is not a consumer group ({group.protocol_type})."
        return Refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, reason)
    try:
        members = tuple(map(_classic_member, group.members))
    except RemoteProtocolError as error:
        reason = f"an assignment in group {group.group_id} cannot be read: {error}"
        return Refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, reason)
    return GroupDescription(
        group_id=group.group_id,
        type=CLASSIC,
        state=group.group_state,
        assignor=group.protocol_data,
        members=members,
        coordinator=coordinator,
        is_simple=not group.protocol_type,
    )


def _classic_member(member: classic.DescribedGroupMember) -> MemberDescription:
    """Convert a member. Raises RemoteProtocolError for an assignment that does not parse."""
    return MemberDescription(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        host=member.client_host,
        assignment=_decoded(member.member_assignment),
    )


def _decoded(data: bytes) -> tuple[TopicPartition, ...]:
    """Decode an assignment of the consumer protocol: a version, then the message. Raises RemoteProtocolError."""
    if not data:
        return ()
    assignment = decode_embedded(ConsumerProtocolAssignment, data)
    return tuple(
        TopicPartition(topic.topic, partition)
        for topic in assignment.assigned_partitions
        for partition in topic.partitions
    )
