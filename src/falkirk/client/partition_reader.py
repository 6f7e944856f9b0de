"""Read a partition from its leader as a consumer would, from its start up to its current high watermark."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.client.errors import ConnectionFailedError, NodeRefusedError
from falkirk.client.partitions import EARLIEST, LEADER_MOVED, describe_topics, leader_of, list_offsets
from falkirk.client.refusal import Refusal
from falkirk.client.retries import API_TIMEOUT_MS, Retries
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import FetchRequest, FetchResponse
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from falkirk.protocol.record_batch import IncompleteBatchError, RecordBatch, read_batch
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.cluster_description import ClusterNode
    from falkirk.protocol.messages.fetch_response import PartitionData
    from falkirk.protocol.topic_partition import TopicPartition

# Versions that name topics, which every broker has.
_FETCH_VERSIONS: Final = SupportedRange(4, 12)
_PIECE_BYTES: Final = 8 * 1024 * 1024
_WAIT_MS: Final = 500
_CONSUMER: Final = -1


async def read_partition(
    admin: AsyncAdmin, partition: TopicPartition, *, timeout_ms: int = API_TIMEOUT_MS
) -> list[RecordBatch]:
    """Return a partition's batches up to its high watermark, aborted transactions included.

    `timeout_ms` counts anew with each fetch. Raises ClientError: NodeRefusedError for a partition that cannot be read;
    RemoteProtocolError for batches that do not parse.
    """
    reading = _Reading(admin, partition)
    while True:
        retries = Retries(admin.config, timeout_ms)
        while not await reading.advance(retries):
            await retries.pause()
        if reading.is_done:
            return reading.batches


@dataclass(slots=True)
class _Reading:
    admin: AsyncAdmin
    partition: TopicPartition
    batches: list[RecordBatch] = field(default_factory=list)
    end_offset: int | None = None
    target: int | None = None

    @property
    def is_done(self) -> bool:
        return self.target is not None and self.end_offset is not None and self.end_offset >= self.target

    async def advance(self, retries: Retries) -> bool:
        """Fetch once; return False if it failed and is to be tried again."""
        try:
            leader = await self._leader(retries)
            if self.end_offset is None:
                self.end_offset = await self._start(retries)
            answer = await self._fetch(leader, self.end_offset, retries)
        except ConnectionFailedError:
            if retries.is_last:
                raise
            return False
        except NodeRefusedError as error:
            if error.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                # The log was cut at its start, or is another one: from its beginning, then.
                self.end_offset = self.target = None
                self.batches.clear()
            elif error.error_code not in LEADER_MOVED:
                raise
            if retries.is_last:
                raise
            return False
        # Later records are left out, or the read of a busy partition would not end.
        self.target = answer.high_watermark if self.target is None else self.target
        if not self._add(answer):
            # There is nothing between the end offset and the high watermark: records there were compacted away.
            self.end_offset = max(self.target, self.end_offset)
        return True

    def _add(self, answer: PartitionData) -> bool:
        records, position = memoryview(answer.records or b""), 0
        before = len(self.batches)
        while position < len(records):
            try:
                batch = read_batch(records, position)
            except IncompleteBatchError:
                break  # the last one of an answer may be cut
            position = batch.end_position
            if self.end_offset is None or batch.end_offset > self.end_offset:
                self.batches.append(batch)
                self.end_offset = batch.end_offset
        return len(self.batches) > before

    async def _leader(self, retries: Retries) -> ClusterNode:
        topics = await describe_topics(self.admin, [self.partition.topic], timeout_ms=retries.request_timeout_ms)
        leader = leader_of(topics, self.partition)
        if isinstance(leader, Refusal):
            raise await self._refused("Metadata", leader)
        return leader

    async def _start(self, retries: Retries) -> int:
        starts = await list_offsets(self.admin, [self.partition], EARLIEST, timeout_ms=retries.request_timeout_ms)
        start = starts[self.partition]
        if isinstance(start, Refusal):
            raise await self._refused("ListOffsets", start)
        return start

    async def _fetch(self, leader: ClusterNode, offset: int, retries: Retries) -> PartitionData:
        requested = FetchPartition(
            partition=self.partition.partition, fetch_offset=offset, partition_max_bytes=_PIECE_BYTES
        )
        request = FetchRequest(
            replica_id=_CONSUMER,
            max_wait_ms=_WAIT_MS,
            max_bytes=_PIECE_BYTES,
            topics=[FetchTopic(topic=self.partition.topic, partitions=[requested])],
        )
        node = self.admin.connection(leader.endpoint)
        response = await node.request(
            request,
            wanted=_FETCH_VERSIONS,
            is_idempotent=True,
            timeout_ms=retries.request_timeout_ms,
        )
        assert isinstance(response, FetchResponse)
        found = [each for topic in response.responses for each in topic.partitions]
        code = response.error_code or (found[0].error_code if found else ErrorCode.UNKNOWN_SERVER_ERROR)
        if code != ErrorCode.NONE:
            raise NodeRefusedError(leader.endpoint, f"Fetch of {self.partition}", code)
        return found[0]

    async def _refused(self, api_name: str, refusal: Refusal) -> NodeRefusedError:
        node = await self.admin.any_node()
        return NodeRefusedError(node.endpoint, f"{api_name} of {self.partition}", refusal.error_code, refusal.message)
