"""Committed offsets of groups: fetched, committed and deleted from outside of the group.

Sources: OffsetFetch (key 9; many groups a request from version 8 on, KIP-709), OffsetCommit (key 8), OffsetDelete (key
47, KIP-496), DeleteGroups (key 42).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.client.groups.coordinators import MOVED, Coordinators
from falkirk.client.refusal import Refusal
from falkirk.client.retries import API_TIMEOUT_MS
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from falkirk.protocol.messages.offset_commit_request import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from falkirk.protocol.messages.offset_delete_request import OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from falkirk.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup
from falkirk.protocol.topic_partition import TopicPartition, by_topic
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.cluster_description import ClusterNode
    from falkirk.client.connection import NodeConnection
    from falkirk.protocol.messages.offset_fetch_response import OffsetFetchResponseTopic, OffsetFetchResponseTopics

_OFFSET_FETCH: Final = 9
# All partitions of one group; of many groups. Later versions know topics by id alone.
_FETCH_SINGLE: Final = SupportedRange(2, 7)
_FETCH_BATCHED: Final = SupportedRange(8, 9)
_COMMIT: Final = SupportedRange(2, 9)
_NO_EPOCH: Final = -1
CommittedOffsets = dict[TopicPartition, "CommittedOffset"]
Outcomes = dict[TopicPartition, "Refusal | None"]
"""The refusal of each partition: None if it is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedOffset:
    """The offset of the next record to read. `leader_epoch`: of the record before it, if it was committed."""

    offset: int
    leader_epoch: int | None = None
    metadata: str = ""


async def list_group_offsets(
    admin: AsyncAdmin, group_ids: Iterable[str], *, timeout_ms: int = API_TIMEOUT_MS
) -> dict[str, CommittedOffsets | Refusal]:
    """Return all committed offsets of groups, by partition; a group that does not exist has none.

    Raises ClientError for a coordinator that cannot be reached.
    """

    async def ask(
        coordinator: ClusterNode, requested: Sequence[str], request_timeout_ms: int
    ) -> Mapping[str, CommittedOffsets | Refusal]:
        return await _fetch(admin.connection(coordinator.endpoint), requested, request_timeout_ms)

    return await Coordinators(admin).ask(group_ids, ask, timeout_ms=timeout_ms)


async def alter_group_offsets(
    admin: AsyncAdmin, group_id: str, offsets: Mapping[TopicPartition, int], *, timeout_ms: int = API_TIMEOUT_MS
) -> Outcomes | Refusal:
    """Commit offsets for a group without active members; a group that does not exist is created.

    Raises ClientError for a coordinator that cannot be reached.
    """

    async def ask(
        coordinator: ClusterNode, _: Sequence[str], request_timeout_ms: int
    ) -> Mapping[str, Outcomes | Refusal]:
        topics = [
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=partition, committed_offset=offsets[TopicPartition(topic, partition)]
                    )
                    for partition in partitions
                ],
            )
            for topic, partitions in by_topic(offsets).items()
        ]
        request = OffsetCommitRequest(group_id=group_id, topics=topics)
        node = admin.connection(coordinator.endpoint)
        response = await node.request(request, wanted=_COMMIT, is_idempotent=True, timeout_ms=request_timeout_ms)
        assert isinstance(response, OffsetCommitResponse)
        return {group_id: _outcomes(response)}

    return (await Coordinators(admin).ask([group_id], ask, timeout_ms=timeout_ms))[group_id]


async def delete_group_offsets(
    admin: AsyncAdmin, group_id: str, partitions: Iterable[TopicPartition], *, timeout_ms: int = API_TIMEOUT_MS
) -> Outcomes | Refusal:
    """Delete offsets of a group; those of topics to which a member subscribes are refused.

    Raises ClientError for a coordinator that cannot be reached.
    """
    topics = [
        OffsetDeleteRequestTopic(name=topic, partitions=[OffsetDeleteRequestPartition(each) for each in numbers])
        for topic, numbers in by_topic(partitions).items()
    ]

    async def ask(
        coordinator: ClusterNode, _: Sequence[str], request_timeout_ms: int
    ) -> Mapping[str, Outcomes | Refusal]:
        request = OffsetDeleteRequest(group_id=group_id, topics=topics)
        node = admin.connection(coordinator.endpoint)
        response = await node.request(request, is_idempotent=True, timeout_ms=request_timeout_ms)
        assert isinstance(response, OffsetDeleteResponse)
        if response.error_code != ErrorCode.NONE:
            return {group_id: Refusal(response.error_code)}
        return {group_id: _outcomes(response)}

    return (await Coordinators(admin).ask([group_id], ask, timeout_ms=timeout_ms))[group_id]


async def delete_groups(
    admin: AsyncAdmin, group_ids: Iterable[str], *, timeout_ms: int = API_TIMEOUT_MS
) -> dict[str, Refusal | None]:
    """Delete empty groups with their offsets, and return the refusal of each, None if it is done.

    Raises ClientError for a coordinator that cannot be reached.
    """

    async def ask(
        coordinator: ClusterNode, requested: Sequence[str], request_timeout_ms: int
    ) -> Mapping[str, Refusal | None]:
        request = DeleteGroupsRequest(groups_names=tuple(requested))
        node = admin.connection(coordinator.endpoint)
        response = await node.request(request, timeout_ms=request_timeout_ms)
        assert isinstance(response, DeleteGroupsResponse)
        return {each.group_id: _outcome(each.error_code, each.error_message) for each in response.results}

    return await Coordinators(admin).ask(group_ids, ask, timeout_ms=timeout_ms)


async def _fetch(
    node: NodeConnection, group_ids: Sequence[str], timeout_ms: int
) -> dict[str, CommittedOffsets | Refusal]:
    offered = (await node.versions()).api_ranges.get(_OFFSET_FETCH)
    if offered is not None and offered.highest in _FETCH_SINGLE:
        return {group_id: await _fetch_single(node, group_id, timeout_ms) for group_id in group_ids}
    groups = [OffsetFetchRequestGroup(group_id=group_id, topics=None) for group_id in group_ids]
    request = OffsetFetchRequest(groups=groups)
    response = await node.request(request, wanted=_FETCH_BATCHED, is_idempotent=True, timeout_ms=timeout_ms)
    assert isinstance(response, OffsetFetchResponse)
    return {
        group.group_id: Refusal(group.error_code) if group.error_code else _offsets(group.topics)
        for group in response.groups
    }


async def _fetch_single(node: NodeConnection, group_id: str, timeout_ms: int) -> CommittedOffsets | Refusal:
    request = OffsetFetchRequest(group_id=group_id, topics=None)
    response = await node.request(request, wanted=_FETCH_SINGLE, is_idempotent=True, timeout_ms=timeout_ms)
    assert isinstance(response, OffsetFetchResponse)
    return Refusal(response.error_code) if response.error_code else _offsets(response.topics)


def _offsets(topics: Sequence[OffsetFetchResponseTopic] | Sequence[OffsetFetchResponseTopics]) -> CommittedOffsets:
    """Return the committed offsets; a partition with an error, or without an offset, has none."""
    return {
        TopicPartition(topic.name, partition.partition_index): CommittedOffset(
            offset=partition.committed_offset,
            leader_epoch=None if partition.committed_leader_epoch == _NO_EPOCH else partition.committed_leader_epoch,
            metadata=partition.metadata or "",
        )
        for topic in topics
        for partition in topic.partitions
        if partition.error_code == ErrorCode.NONE and partition.committed_offset >= 0
    }


def _outcome(error_code: int, message: str | None = None) -> Refusal | None:
    return None if error_code == ErrorCode.NONE else Refusal(error_code, message)


def _outcomes(response: OffsetCommitResponse | OffsetDeleteResponse) -> Outcomes | Refusal:
    """Return the outcome of each partition, or that the coordinator has moved."""
    outcomes = {
        TopicPartition(topic.name, partition.partition_index): _outcome(partition.error_code)
        for topic in response.topics
        for partition in topic.partitions
    }
    return _moved(outcomes) or outcomes


def _moved(outcomes: Outcomes) -> Refusal | None:
    """Return an error of MOVED if a partition has one: then the coordinator is asked again about all of them."""
    return next((each for each in outcomes.values() if each is not None and each.error_code in MOVED), None)
