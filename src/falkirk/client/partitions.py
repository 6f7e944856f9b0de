"""Partitions of topics, their leaders, and the start and end of their logs.

Sources: Metadata (key 3), ListOffsets (key 2).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.client.cluster_description import ClusterNode
from falkirk.client.errors import ConnectionFailedError
from falkirk.client.refusal import Refusal
from falkirk.client.retries import API_TIMEOUT_MS, Retries
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ListOffsetsRequest, ListOffsetsResponse, MetadataRequest, MetadataResponse
from falkirk.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsTopic
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from falkirk.protocol.topic_partition import TopicPartition, by_topic
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.client.admin import AsyncAdmin

LATEST: Final = -1
EARLIEST: Final = -2
"""Special timestamps of ListOffsets."""

LEADER_MOVED: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    }
)
"""Another broker leads, or none yet: fetch the metadata again."""

_METADATA_VERSIONS: Final = SupportedRange(4, 12)
_LIST_OFFSETS_VERSIONS: Final = SupportedRange(1, 9)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDescription:
    """A topic, and the leader of each partition by number; None for a partition without a leader."""

    name: str
    topic_id: bytes
    leaders: Mapping[int, ClusterNode | None]


async def describe_topics(
    admin: AsyncAdmin, topics: Iterable[str], *, timeout_ms: int = API_TIMEOUT_MS
) -> dict[str, TopicDescription | Refusal]:
    """Return the partitions of topics; none is created. Raises ClientError if no broker answers."""
    wanted = sorted(set(topics))
    if not wanted:
        return {}
    retries = Retries(admin.config, timeout_ms)
    while True:
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=topic) for topic in wanted], allow_auto_topic_creation=False
        )
        node = await admin.any_node()
        response = await node.request(
            request, wanted=_METADATA_VERSIONS, is_idempotent=True, timeout_ms=retries.request_timeout_ms
        )
        assert isinstance(response, MetadataResponse)
        found = _topics(response)
        if retries.is_last or not any(
            isinstance(each, Refusal) and each.error_code in LEADER_MOVED for each in found.values()
        ):
            return found
        await retries.pause()


async def list_offsets(
    admin: AsyncAdmin, partitions: Iterable[TopicPartition], time: int, *, timeout_ms: int = API_TIMEOUT_MS
) -> dict[TopicPartition, int | Refusal]:
    """Return an offset for each partition.

    `time`: LATEST for the log end, EARLIEST for the log start, or a timestamp (ms since 1970) for the first record of
    that time or later, -1 if there is none. Raises ClientError for a leader that cannot be reached in time.
    """
    retries = Retries(admin.config, timeout_ms)
    found: dict[TopicPartition, int | Refusal] = {}
    waiting = set(partitions)
    while waiting:
        topics = await describe_topics(admin, {each.topic for each in waiting}, timeout_ms=retries.request_timeout_ms)
        by_leader: dict[Endpoint, list[TopicPartition]] = {}
        for each in sorted(waiting):
            leader = leader_of(topics, each)
            if isinstance(leader, Refusal):
                found[each] = leader
            else:
                by_leader.setdefault(leader.endpoint, []).append(each)
        requested = (_ask(admin, *one, time, retries.request_timeout_ms) for one in by_leader.items())
        for answer in await asyncio.gather(*requested, return_exceptions=True):
            if isinstance(answer, ConnectionFailedError) and not retries.is_last:
                continue
            if isinstance(answer, BaseException):
                raise answer
            found |= answer
        waiting = {each for each in waiting if each not in found or _has_moved(found[each])}
        if waiting:
            if retries.is_last:
                break
            await retries.pause()
    return found


def leader_of(topics: Mapping[str, TopicDescription | Refusal], partition: TopicPartition) -> ClusterNode | Refusal:
    """Return a partition's leader, or why there is none."""
    topic = topics.get(partition.topic, Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    if isinstance(topic, Refusal):
        return topic
    if partition.partition not in topic.leaders:
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return topic.leaders[partition.partition] or Refusal(ErrorCode.LEADER_NOT_AVAILABLE)


def _topics(response: MetadataResponse) -> dict[str, TopicDescription | Refusal]:
    nodes = {
        each.node_id: ClusterNode(node_id=each.node_id, endpoint=Endpoint(each.host, each.port))
        for each in response.brokers
    }
    return {
        topic.name or "": Refusal(topic.error_code)
        if topic.error_code != ErrorCode.NONE
        else TopicDescription(
            name=topic.name or "",
            topic_id=topic.topic_id,
            leaders={each.partition_index: nodes.get(each.leader_id) for each in topic.partitions},
        )
        for topic in response.topics
    }


async def _ask(
    admin: AsyncAdmin, endpoint: Endpoint, partitions: Iterable[TopicPartition], time: int, timeout_ms: int
) -> dict[TopicPartition, int | Refusal]:
    requested = [
        ListOffsetsTopic(
            name=topic,
            partitions=[ListOffsetsPartition(partition_index=number, timestamp=time) for number in numbers],
        )
        for topic, numbers in by_topic(partitions).items()
    ]
    response = await admin.connection(endpoint).request(
        ListOffsetsRequest(replica_id=-1, topics=requested),
        wanted=_LIST_OFFSETS_VERSIONS,
        is_idempotent=True,
        timeout_ms=timeout_ms,
    )
    assert isinstance(response, ListOffsetsResponse)
    return {
        TopicPartition(topic.name, each.partition_index): Refusal(each.error_code)
        if each.error_code != ErrorCode.NONE
        else each.offset
        for topic in response.topics
        for each in topic.partitions
    }


def _has_moved(answer: int | Refusal) -> bool:
    return isinstance(answer, Refusal) and answer.error_code in LEADER_MOVED
