"""Partitions of internal topics of a running cluster, from their leaders, by Fetch as consumers send it.

Of a log that was compacted comes what is left of it; what a mirror has of it already stays. Kafka wants READ on the
topics for it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.client.errors import NodeRefusedError
from falkirk.pipeline.live.errors import LiveSourceError
from falkirk.pipeline.live.partition_mirror import PartitionMirror
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
)
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from falkirk.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsTopic
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.connection import NodeConnection
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.messages.fetch_response import PartitionData

# Versions that name topics, which every broker has; and those of Metadata that tell ids.
_FETCH_VERSIONS: Final = SupportedRange(4, 12)
_LIST_OFFSETS_VERSIONS: Final = SupportedRange(1, 9)
_METADATA_VERSIONS: Final = SupportedRange(10, 12)
_FETCH_BYTES: Final = 32 * 1024 * 1024
_PARTITION_BYTES: Final = 8 * 1024 * 1024
_PARTITIONS_MAX: Final = 100
_EARLIEST: Final = -2
MOVED: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    }
)
"""Somebody else leads, or nobody yet: it is to be asked again who."""


class _Key(NamedTuple):
    topic: str
    partition: int


class TopicMirrors:
    """The partitions of topics, each in a directory below `directory` that is called like it."""

    def __init__(self, directory: Path, topics: Sequence[str]) -> None:
        self._directory = directory
        self._topics = topics
        self._mirrors: dict[_Key, PartitionMirror] = {}

    async def refresh(self, admin: AsyncAdmin) -> None:
        """Bring them up to what could be read when we asked; topics that are not there are none.

        Raises ClientError, NodeRefusedError with an error of MOVED among them; LiveSourceError for a partition that
        nobody leads.
        """
        leaders = await self._leaders(admin)
        await asyncio.gather(
            *(self._refresh_leader(admin.connection(endpoint), keys) for endpoint, keys in leaders.items())
        )

    async def _leaders(self, admin: AsyncAdmin) -> Mapping[Endpoint, list[_Key]]:
        node = await admin.any_node()
        endpoints = {broker.node_id: broker.endpoint for broker in (await admin.describe_cluster()).nodes}
        asked = [MetadataRequestTopic(name=topic) for topic in self._topics]
        request = MetadataRequest(topics=asked, allow_auto_topic_creation=False)
        response = await node.request(request, wanted=_METADATA_VERSIONS, is_idempotent=True)
        assert isinstance(response, MetadataResponse)
        leaders = defaultdict(list)
        for topic in response.topics:
            if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                continue
            name = topic.name or ""
            if topic.error_code != ErrorCode.NONE:
                raise NodeRefusedError(node.endpoint, f"Metadata of {name}", topic.error_code)
            for partition in topic.partitions:
                key = _Key(name, partition.partition_index)
                endpoint = endpoints.get(partition.leader_id)
                if endpoint is None:
                    raise NodeRefusedError(
                        node.endpoint, f"Metadata of {name}-{key.partition}", ErrorCode.LEADER_NOT_AVAILABLE
                    )
                self._mirror(key).be_of_topic(topic.topic_id)
                leaders[endpoint].append(key)
        return leaders

    def _mirror(self, key: _Key) -> PartitionMirror:
        mirror = self._mirrors.get(key)
        if mirror is None:
            mirror = self._mirrors[key] = PartitionMirror(self._directory / f"{key.topic}-{key.partition}")
        return mirror

    async def _refresh_leader(self, leader: NodeConnection, keys: Iterable[_Key]) -> None:
        left = list(keys)
        targets: dict[_Key, int] = {}
        while left:
            asked = left[:_PARTITIONS_MAX]
            has_moved_on = False
            for key, partition in await self._fetch(leader, asked):
                mirror = self._mirror(key)
                if partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    await self._find_start(leader, key)
                    has_moved_on = True
                    continue
                if partition.error_code != ErrorCode.NONE:
                    raise NodeRefusedError(
                        leader.endpoint, f"Fetch of {key.topic}-{key.partition}", partition.error_code
                    )
                # What comes later is for the next time, or a busy topic would have no end.
                target = targets.setdefault(key, partition.high_watermark)
                has_moved_on |= mirror.append(partition.records or b"", partition.high_watermark)
                if mirror.end_offset >= target:
                    left.remove(key)
                    has_moved_on = True
            if not has_moved_on:
                # Nothing stands between what we have and the high watermark: records there were compacted away.
                left = left[len(asked) :]

    async def _fetch(self, leader: NodeConnection, keys: Sequence[_Key]) -> list[tuple[_Key, PartitionData]]:
        topics: dict[str, list[FetchPartition]] = defaultdict(list)
        for key in keys:
            asked = FetchPartition(
                partition=key.partition,
                fetch_offset=self._mirror(key).end_offset,
                partition_max_bytes=_PARTITION_BYTES,
            )
            topics[key.topic].append(asked)
        request = FetchRequest(
            max_bytes=_FETCH_BYTES,
            topics=[FetchTopic(topic=topic, partitions=partitions) for topic, partitions in topics.items()],
        )
        response = await leader.request(request, wanted=_FETCH_VERSIONS, is_idempotent=True)
        assert isinstance(response, FetchResponse)
        if response.error_code != ErrorCode.NONE:
            raise NodeRefusedError(leader.endpoint, "Fetch", response.error_code)
        return [
            (_Key(topic.topic, partition.partition_index), partition)
            for topic in response.responses
            for partition in topic.partitions
        ]

    async def _find_start(self, leader: NodeConnection, key: _Key) -> None:
        """Go on where the leader's log begins or, if ours is longer than its own, begin anew."""
        asked = ListOffsetsPartition(partition_index=key.partition, timestamp=_EARLIEST)
        request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=key.topic, partitions=[asked])])
        response = await leader.request(request, wanted=_LIST_OFFSETS_VERSIONS, is_idempotent=True)
        assert isinstance(response, ListOffsetsResponse)
        [partition] = response.topics[0].partitions
        if partition.error_code != ErrorCode.NONE:
            raise NodeRefusedError(leader.endpoint, f"ListOffsets of {key.topic}-{key.partition}", partition.error_code)
        mirror = self._mirror(key)
        if partition.offset > mirror.end_offset:
            mirror.skip_to(partition.offset)
        elif mirror.end_offset:
            mirror.begin_again()
        else:
            raise LiveSourceError(f"{leader.endpoint}: {key.topic}-{key.partition} has no offset 0, and begins there")
