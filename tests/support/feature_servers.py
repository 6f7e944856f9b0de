"""Two nodes that know each other and answer UpdateFeatures with prepared responses."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from types import TracebackType
from typing import Self

from fake_node import FakeNode, api_versions_response, ranges

from falkirk.protocol.connection import RequestReceived
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeClusterResponse,
    DescribeQuorumResponse,
    UpdateFeaturesRequest,
    describe_cluster_response,
    describe_quorum_response,
)
from falkirk.protocol.messages.api_versions_response import FinalizedFeatureKey, SupportedFeatureKey
from falkirk.protocol.metadata_progress_tags import (
    MetadataProgress,
    asks_metadata_progress,
    encode_metadata_progress,
)
from falkirk.protocol.schema import WireMessage

NEW = ranges(api18="0-5", api55="0-2", api57="0-2", api60="0-2")
NOBODY_LISTENS = 1
Ranges = dict[str, tuple[int, int]]


def feature_answer(epoch: int, supported: Ranges, finalized: dict[str, int]) -> ApiVersionsResponse:
    """Return an ApiVersions response."""
    return api_versions_response(
        NEW,
        supported_features=[SupportedFeatureKey(name, *levels) for name, levels in supported.items()],
        finalized_features_epoch=epoch,
        finalized_features=[FinalizedFeatureKey(name, level, level) for name, level in finalized.items()],
    )


class FeatureServers:
    """Brokers 1 and 2, and a node 3 that only the quorum knows, if it is one of `voters`.

    `answers` to UpdateFeatures are sent in order, the last one repeatedly. `offsets` are the metadata log end offsets
    of the voters and of node 2, an observer, at each DescribeQuorum; `features` is what all report of features at each
    request, `progress` what a node reports of its metadata log, in the same way. A node that is not in `progress`
    answers as real Kafka. Nothing listens at the addresses of voters in `unreachable` and of `fenced` brokers.
    """

    def __init__(self, *answers: WireMessage | bytes | None, api_ranges=NEW) -> None:
        self.answers = list(answers)
        self.api_ranges = api_ranges
        self.controller_id = 1
        self.asked: list[tuple[int, int, UpdateFeaturesRequest]] = []
        self.offsets = [(10, 10)]
        self.features: list[ApiVersionsResponse] = []
        self.progress: dict[int, list[MetadataProgress]] = {}
        self.voters = {1}
        self.unreachable: set[int] = set()
        self.fenced: set[int] = set()
        self.nodes = [FakeNode(api_ranges, self._answer_of(node_id)) for node_id in (1, 2)]
        self._controller = FakeNode(api_ranges, self._answer_of(3))

    @property
    def servers(self) -> str:
        """The addresses, as for --bootstrap-server."""
        return ",".join(str(node.endpoint) for node in self.nodes)

    async def __aenter__(self) -> Self:
        for node in (*self.nodes, self._controller):
            await node.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in (*self.nodes, self._controller):
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
        def answer(request: RequestReceived) -> WireMessage | bytes | None:
            match request.api_key:
                case 18:
                    return self._versions(node_id, request)
                case 55:
                    return self._quorum()
                case 57:
                    message = request.message()
                    assert isinstance(message, UpdateFeaturesRequest)
                    self.asked.append((node_id, request.api_version, message))
                    return self._update(node_id, request.api_version, message)
                case 60:
                    return self._cluster()
            return None

        return answer

    def _update(self, _node_id: int, _version: int, _request: UpdateFeaturesRequest) -> WireMessage | bytes | None:
        return _next(self.answers)

    def _versions(self, node_id: int, request: RequestReceived) -> ApiVersionsResponse | None:
        message = request.message()
        assert isinstance(message, ApiVersionsRequest)
        asks = asks_metadata_progress(message.unknown_tagged_fields)
        if not self.features:
            return None
        answer = copy(_next(self.features))
        if asks and node_id in self.progress:
            answer.unknown_tagged_fields = encode_metadata_progress(_next(self.progress[node_id]))
        return answer

    def _cluster(self) -> DescribeClusterResponse:
        broker = describe_cluster_response.DescribeClusterBroker
        nodes = [broker(at, "127.0.0.1", node.endpoint.port) for at, node in enumerate(self.nodes, 1)]
        nodes += [broker(at, "127.0.0.1", NOBODY_LISTENS, is_fenced=True) for at in sorted(self.fenced)]
        return DescribeClusterResponse(controller_id=self.controller_id, brokers=nodes)

    def _quorum(self) -> DescribeQuorumResponse:
        voter, observer = _next(self.offsets)
        replica = describe_quorum_response.ReplicaState
        partition = describe_quorum_response.PartitionData(
            error_code=ErrorCode.NONE if self.controller_id >= 0 else ErrorCode.NOT_LEADER_OR_FOLLOWER,
            leader_id=1,
            leader_epoch=7,
            high_watermark=10,
            current_voters=[replica(replica_id=node_id, log_end_offset=voter) for node_id in sorted(self.voters)],
            observers=[replica(replica_id=2, log_end_offset=observer)],
        )
        topic = describe_quorum_response.TopicData("__cluster_metadata", [partition])
        return DescribeQuorumResponse(topics=[topic], nodes=[self._voter(node_id) for node_id in sorted(self.voters)])

    def _voter(self, node_id: int) -> describe_quorum_response.Node:
        own = self._controller if node_id == 3 else self.nodes[node_id - 1]
        port = NOBODY_LISTENS if node_id in self.unreachable else own.endpoint.port
        return describe_quorum_response.Node(
            node_id=node_id, listeners=[describe_quorum_response.Listener("CONTROLLER", "127.0.0.1", port)]
        )


def _next(script: list):
    return script.pop(0) if len(script) > 1 else script[0]
