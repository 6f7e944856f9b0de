"""Two brokers with prepared answers as coordinators and leaders, for tests of the client and its commands."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from fake_node import FakeNode, ranges

from falkirk.protocol.connection import RequestReceived
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    DescribeClusterResponse,
    FindCoordinatorResponse,
    ListOffsetsResponse,
    MetadataResponse,
    describe_cluster_response,
    find_coordinator_response,
    list_offsets_response,
    metadata_response,
)
from falkirk.protocol.schema import WireMessage

NEW = ranges(
    api1="4-17",
    api2="1-10",
    api3="0-12",
    api8="2-9",
    api9="1-9",
    api10="0-6",
    api15="0-6",
    api16="0-5",
    api18="0-4",
    api32="1-4",
    api42="0-2",
    api44="0-1",
    api47="0-0",
    api60="0-1",
    api69="0-1",
    api74="0-1",
)
OLD = ranges(api2="1-7", api3="0-11", api8="2-8", api9="1-7", api10="0-3", api15="0-5", api16="0-3", api18="0-3",
             api42="0-2", api60="0-1")  # fmt: skip
Answer = Callable[[Any], WireMessage | bytes | None]  # Any: the message of the API


class GroupServers:
    """Brokers 1 and 2. `answers`: by API key, the response of both; a list is used in order, its last one repeatedly.

    `coordinators`: by group, its broker id or an error code, a list in order; the default is broker 1. `leaders`: by
    topic and partition; `offsets`: (start, end) of a partition. `asked`: (broker, API key, message) of each request.
    """

    def __init__(self, api_ranges=NEW) -> None:
        self.answers: dict[int, Any] = {}
        self.coordinators: dict[str, Any] = {}
        self.leaders: dict[str, dict[int, int]] = {}
        self.offsets: dict[tuple[str, int], tuple[int, int]] = {}
        self.asked: list[tuple[int, int, Any]] = []
        self.nodes = [FakeNode(api_ranges, self._answer_of(node_id)) for node_id in (1, 2)]

    @property
    def servers(self) -> str:
        """The addresses, as for --bootstrap-server."""
        return ",".join(str(node.endpoint) for node in self.nodes)

    def of(self, api_key: int) -> list[tuple[int, Any]]:
        """Return broker and message of each request of an API."""
        return [(node_id, message) for node_id, key, message in self.asked if key == api_key]

    async def __aenter__(self) -> Self:
        for node in self.nodes:
            await node.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self.nodes:
            await node.__aexit__(kind, error, trace)

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Serve in a thread."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self.__aenter__(), loop).result(10)
            yield self
            asyncio.run_coroutine_threadsafe(self.__aexit__(None, None, None), loop).result(10)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _answer_of(self, node_id: int):
        standard: dict[int, Answer] = {
            2: self._list_offsets,
            3: self._metadata,
            10: self._find_coordinator,
            60: self._cluster,
        }

        def answer(request: RequestReceived) -> WireMessage | bytes | None:
            if request.api_key == 18:
                return None
            message = request.message()
            self.asked.append((node_id, request.api_key, message))
            told = self.answers.get(request.api_key)
            if told is None:
                return standard[request.api_key](message)
            told = _next(told) if isinstance(told, list) else told
            return told(message) if callable(told) else told

        return answer

    def _cluster(self, _: object) -> DescribeClusterResponse:
        broker = describe_cluster_response.DescribeClusterBroker
        nodes = [broker(at, "127.0.0.1", node.endpoint.port) for at, node in enumerate(self.nodes, 1)]
        return DescribeClusterResponse(controller_id=1, brokers=nodes)

    def _find_coordinator(self, message: Any) -> FindCoordinatorResponse:
        found = [self._coordinator(key) for key in message.coordinator_keys or (message.key,)]
        if message.coordinator_keys:
            return FindCoordinatorResponse(coordinators=found)
        [one] = found
        return FindCoordinatorResponse(error_code=one.error_code, node_id=one.node_id, host=one.host, port=one.port)

    def _coordinator(self, group: str) -> find_coordinator_response.Coordinator:
        told = self.coordinators.get(group, 1)
        told = _next(told) if isinstance(told, list) else told
        if isinstance(told, ErrorCode):
            return find_coordinator_response.Coordinator(key=group, error_code=told)
        port = self.nodes[told - 1].endpoint.port
        return find_coordinator_response.Coordinator(key=group, node_id=told, host="127.0.0.1", port=port)

    def _metadata(self, message: Any) -> MetadataResponse:
        brokers = [
            metadata_response.MetadataResponseBroker(at, "127.0.0.1", node.endpoint.port)
            for at, node in enumerate(self.nodes, 1)
        ]
        topics = []
        for asked in message.topics:
            leaders = self.leaders.get(asked.name)
            if leaders is None:
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                topics.append(metadata_response.MetadataResponseTopic(error_code=code, name=asked.name))
                continue
            partitions = [
                metadata_response.MetadataResponsePartition(partition_index=number, leader_id=leader)
                for number, leader in leaders.items()
            ]
            topics.append(metadata_response.MetadataResponseTopic(name=asked.name, partitions=partitions))
        return MetadataResponse(brokers=brokers, topics=topics)

    def _list_offsets(self, message: Any) -> ListOffsetsResponse:
        def told(topic: str, asked: Any) -> list_offsets_response.ListOffsetsPartitionResponse:
            start, end = self.offsets[topic, asked.partition_index]
            offset = {-1: end, -2: start}.get(asked.timestamp, -1)
            return list_offsets_response.ListOffsetsPartitionResponse(asked.partition_index, offset=offset)

        return ListOffsetsResponse(
            topics=[
                list_offsets_response.ListOffsetsTopicResponse(
                    topic.name, [told(topic.name, each) for each in topic.partitions]
                )
                for topic in message.topics
            ]
        )


def _next(script: list[Any]) -> Any:  # Any: as in the script
    return script.pop(0) if len(script) > 1 else script[0]
