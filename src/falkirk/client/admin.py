"""Asks a cluster about itself.

async with AsyncAdmin(parse_servers("broker:9092"), ClientConfig()) as admin:
    cluster = await admin.describe_cluster()
    versions = await admin.api_versions(cluster.nodes)
"""

from __future__ import annotations

import asyncio
from enum import Enum
from typing import TYPE_CHECKING, Final, Self

from falkirk.client.cluster_description import ClusterDescription
from falkirk.client.connection import NodeConnection
from falkirk.client.errors import ClientError, NodeRefusedError, NoNodeReachedError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    MetadataRequest,
    MetadataResponse,
)
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.client.cluster_description import ClusterNode
    from falkirk.client.config import ClientConfig
    from falkirk.client.node_versions import NodeVersions
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage

# Nodes that are asked at the same time.
_PARALLEL_MAX: Final = 16
_DESCRIBE_CLUSTER: Final = 60
# Says which kind of node is meant from version 1 on.
_WITH_ENDPOINT_TYPE: Final = SupportedRange(1, 2)


class EndpointType(Enum):
    """Which nodes the bootstrap servers are. Source: KIP-919."""

    BROKER = 1
    CONTROLLER = 2


class AsyncAdmin:
    """Connections to the nodes of one cluster, made when they are needed and closed at the end of the block.

    All that asks raises ClientError (the node is named), or UnsupportedApiError for what a node is too old for.
    """

    def __init__(
        self,
        bootstrap: Sequence[Endpoint],
        config: ClientConfig,
        *,
        endpoint_type: EndpointType = EndpointType.BROKER,
    ) -> None:
        self._bootstrap = tuple(bootstrap)
        self._config = config
        self._endpoint_type = endpoint_type
        self._connections: dict[Endpoint, NodeConnection] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        connections = list(self._connections.values())
        self._connections.clear()
        await asyncio.gather(*(connection.close() for connection in connections))

    def connection(self, endpoint: Endpoint) -> NodeConnection:
        """Give the connection to a node."""
        found = self._connections.get(endpoint)
        if found is None:
            found = self._connections[endpoint] = NodeConnection(endpoint, self._config)
        return found

    async def any_node(self) -> NodeConnection:
        """Give the first bootstrap server that can be talked to. Raises NoNodeReachedError with what each one said."""
        failures: list[ClientError] = []
        for endpoint in self._bootstrap:
            connection = self.connection(endpoint)
            try:
                await connection.versions()
            except ClientError as error:
                failures.append(error)
            else:
                return connection
        raise NoNodeReachedError(failures)

    async def request(self, message: WireMessage) -> WireMessage:
        """Ask any of the bootstrap servers; what the answer says is the caller's."""
        return await (await self.any_node()).request(message)

    async def describe_cluster(self) -> ClusterDescription:
        """Give the brokers, or the controllers if the bootstrap servers are such."""
        connection = await self.any_node()
        offered = (await connection.versions()).api_ranges
        if self._endpoint_type is EndpointType.BROKER and _DESCRIBE_CLUSTER not in offered:
            return await _describe_by_metadata(connection)
        request = DescribeClusterRequest(endpoint_type=self._endpoint_type.value)
        # A node that cannot be told which kind is meant is a broker's listener, or too old to list controllers.
        wanted = _WITH_ENDPOINT_TYPE if self._endpoint_type is EndpointType.CONTROLLER else None
        response = await connection.request(request, wanted=wanted, is_idempotent=True)
        assert isinstance(response, DescribeClusterResponse)
        if response.error_code != ErrorCode.NONE:
            raise NodeRefusedError(connection.endpoint, "DescribeCluster", response.error_code, response.error_message)
        return ClusterDescription.of_describe_cluster(response)

    async def api_versions(self, nodes: Iterable[ClusterNode]) -> Mapping[int, NodeVersions | ClientError]:
        """Ask each node what it speaks; what went wrong stands in the place of its answer. By node id."""
        slots = asyncio.Semaphore(_PARALLEL_MAX)

        async def ask(node: ClusterNode) -> NodeVersions | ClientError:
            async with slots:
                try:
                    return await self.connection(node.endpoint).refreshed_versions()
                except ClientError as error:
                    return error

        asked = list(nodes)
        answers = await asyncio.gather(*map(ask, asked))
        return {node.node_id: answer for node, answer in zip(asked, answers, strict=True)}

    async def describe_features(self) -> NodeVersions:
        """Ask one node for supported and finalized features, and their epoch."""
        return await (await self.any_node()).refreshed_versions()


async def _describe_by_metadata(connection: NodeConnection) -> ClusterDescription:
    request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
    response = await connection.request(request, is_idempotent=True)
    assert isinstance(response, MetadataResponse)
    if response.error_code != ErrorCode.NONE:
        raise NodeRefusedError(connection.endpoint, "Metadata", response.error_code)
    return ClusterDescription.of_metadata(response)
