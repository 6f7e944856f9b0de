"""Partitions of internal topics of a running cluster, fetched from their leaders as a consumer does.

Of a compacted log only the remaining records come; records mirrored earlier stay. Kafka requires READ on the topics.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Final, Protocol

from falkirk.client.errors import NodeRefusedError
from falkirk.client.partitions import EARLIEST, LEADER_MOVED, describe_topics, list_offsets
from falkirk.client.refusal import Refusal
from falkirk.mirror.errors import MirrorError
from falkirk.mirror.partition_mirror import no_pause
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import FetchRequest, FetchResponse
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.connection import NodeConnection
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.messages.fetch_response import PartitionData

# Versions that name topics; every broker supports them.
_FETCH_VERSIONS: Final = SupportedRange(4, 12)
_FETCH_BYTES: Final = 32 * 1024 * 1024
_PARTITION_BYTES: Final = 8 * 1024 * 1024
_PARTITIONS_MAX: Final = 100
MOVED: Final = LEADER_MOVED | {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
"""Errors that mean another leader, or none yet: look the leader up again."""


class PartitionCopy(Protocol):
    """What a partition's batches are fetched into; a PartitionMirror is one. `end_offset` is fetched next."""

    end_offset: int

    def append(self, records: bytes | memoryview, high_watermark: int) -> bool:
        """Add the whole batches that are committed and new; return whether there were any."""

    def skip_to(self, offset: int) -> None:
        """Continue behind a gap: the source has deleted the records in between."""

    def begin_again(self) -> None:
        """Forget everything: the source's log is another one."""

    def set_topic_id(self, topic_id: bytes) -> None:
        """Set the topic id; begin again if the copy is of another topic of the same name."""


class TopicMirrors:
    """The partitions of some topics, each in the copy that `open_copy` opens for it.

    `pause` is called with the bytes of each response.
    """

    def __init__(
        self,
        topics: Sequence[str],
        open_copy: Callable[[TopicPartition], PartitionCopy],
        pause: Callable[[int], Awaitable[None]] = no_pause,
    ) -> None:
        self._topics = topics
        self._open = open_copy
        self._pause = pause
        self._mirrors: dict[TopicPartition, PartitionCopy] = {}

    async def refresh(self, admin: AsyncAdmin) -> None:
        """Fetch every partition up to its high watermark at the first response; topics that do not exist have none.

        Raises ClientError, also NodeRefusedError with an error of MOVED; MirrorError for a log that cannot be
        followed.
        """
        leaders = await self._leaders(admin)
        await asyncio.gather(
            *(self._refresh_leader(admin, admin.connection(endpoint), keys) for endpoint, keys in leaders.items())
        )

    async def _leaders(self, admin: AsyncAdmin) -> Mapping[Endpoint, list[TopicPartition]]:
        leaders = defaultdict(list)
        for name, topic in (await describe_topics(admin, self._topics)).items():
            if isinstance(topic, Refusal):
                if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    continue
                raise await self._refused(admin, name, topic.error_code)
            for number, leader in topic.leaders.items():
                key = TopicPartition(name, number)
                if leader is None:
                    raise await self._refused(admin, str(key), ErrorCode.LEADER_NOT_AVAILABLE)
                self._mirror(key).set_topic_id(topic.topic_id)
                leaders[leader.endpoint].append(key)
        return leaders

    async def _refused(self, admin: AsyncAdmin, what: str, error_code: int) -> NodeRefusedError:
        return NodeRefusedError((await admin.any_node()).endpoint, f"Metadata of {what}", error_code)

    def _mirror(self, key: TopicPartition) -> PartitionCopy:
        mirror = self._mirrors.get(key)
        if mirror is None:
            mirror = self._mirrors[key] = self._open(key)
        return mirror

    async def _refresh_leader(self, admin: AsyncAdmin, leader: NodeConnection, keys: Iterable[TopicPartition]) -> None:
        left = list(keys)
        targets: dict[TopicPartition, int] = {}
        while left:
            requested = left[:_PARTITIONS_MAX]
            has_moved_on = False
            for key, partition in await self._fetch(leader, requested):
                mirror = self._mirror(key)
                if partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    await self._find_start(admin, key)
                    has_moved_on = True
                    continue
                if partition.error_code != ErrorCode.NONE:
                    raise NodeRefusedError(leader.endpoint, f"Fetch of {key}", partition.error_code)
                # Later records are for the next refresh, or a busy topic would never end.
                target = targets.setdefault(key, partition.high_watermark)
                has_moved_on |= mirror.append(partition.records or b"", partition.high_watermark)
                if mirror.end_offset >= target:
                    left.remove(key)
                    has_moved_on = True
            if not has_moved_on:
                # No records are left between our end and the high watermark: they were compacted away.
                left = left[len(requested) :]

    async def _fetch(
        self, leader: NodeConnection, keys: Sequence[TopicPartition]
    ) -> list[tuple[TopicPartition, PartitionData]]:
        topics: dict[str, list[FetchPartition]] = defaultdict(list)
        for key in keys:
            requested = FetchPartition(
                partition=key.partition,
                fetch_offset=self._mirror(key).end_offset,
                partition_max_bytes=_PARTITION_BYTES,
            )
            topics[key.topic].append(requested)
        request = FetchRequest(
            max_bytes=_FETCH_BYTES,
            topics=[FetchTopic(topic=topic, partitions=partitions) for topic, partitions in topics.items()],
        )
        response = await leader.request(request, wanted=_FETCH_VERSIONS, is_idempotent=True)
        assert isinstance(response, FetchResponse)
        if response.error_code != ErrorCode.NONE:
            raise NodeRefusedError(leader.endpoint, "Fetch", response.error_code)
        await self._pause(sum(len(each.records or b"") for topic in response.responses for each in topic.partitions))
        return [
            (TopicPartition(topic.topic, partition.partition_index), partition)
            for topic in response.responses
            for partition in topic.partitions
        ]

    async def _find_start(self, admin: AsyncAdmin, key: TopicPartition) -> None:
        """Continue at the start of the leader's log; begin again if our log is longer than the leader's."""
        start = (await list_offsets(admin, [key], EARLIEST))[key]
        if isinstance(start, Refusal):
            raise NodeRefusedError((await admin.any_node()).endpoint, f"ListOffsets of {key}", start.error_code)
        mirror = self._mirror(key)
        if start > mirror.end_offset:
            mirror.skip_to(start)
        elif mirror.end_offset:
            mirror.begin_again()
        else:
            raise MirrorError(f"{key} has no offset 0, and begins there")
