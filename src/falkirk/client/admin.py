"""Asks a cluster about itself.

async with AsyncAdmin(parse_servers("broker:9092"), ClientConfig()) as admin:
    cluster = await admin.describe_cluster()
    versions = await admin.api_versions(cluster.nodes)
"""

from __future__ import annotations

import asyncio
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final, Self

from falkirk.client.cluster_description import ClusterDescription
from falkirk.client.connection import NodeConnection
from falkirk.client.errors import (
    ClientError,
    ConnectionFailedError,
    NoControllerError,
    NodeRefusedError,
    NoNodeReachedError,
    RequestTimedOutError,
    UnknownNodeError,
    UnsupportedUpdateError,
)
from falkirk.client.feature_metadata import FeatureMetadata
from falkirk.client.feature_update import missing_in_version_0, read_result, update_request
from falkirk.client.quorum_description import QuorumDescription
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    MetadataRequest,
    MetadataResponse,
    UpdateFeaturesResponse,
    describe_quorum_request,
)
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.client.cluster_description import ClusterNode
    from falkirk.client.config import ClientConfig
    from falkirk.client.feature_update import FeatureUpdate, UpdateFeaturesResult
    from falkirk.client.node_versions import NodeVersions
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage

# Nodes that are asked at the same time.
_PARALLEL_MAX: Final = 16
_DESCRIBE_CLUSTER: Final = 60
_DESCRIBE_QUORUM: Final = 55
_UPDATE_FEATURES: Final = 57
_METADATA_TOPIC: Final = "__cluster_metadata"
_TELLS_FENCED: Final = 2
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
        self.config = config
        self._endpoint_type = endpoint_type
        self._connections: dict[Endpoint, NodeConnection] = {}
        # The newest that any node has told: clients ignore what is of an older epoch.
        self._features: FeatureMetadata | None = None

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
            found = self._connections[endpoint] = NodeConnection(endpoint, self.config)
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

    async def describe_cluster(self, *, include_fenced: bool = False) -> ClusterDescription:
        """Give the brokers, or the controllers if the bootstrap servers are such.

        `include_fenced`: brokers that are registered and not in service, too; nodes before 4.0 do not tell of them.
        """
        connection = await self.any_node()
        offered = (await connection.versions()).api_ranges
        if self._endpoint_type is EndpointType.BROKER and _DESCRIBE_CLUSTER not in offered:
            return await _describe_by_metadata(connection)
        request = DescribeClusterRequest(endpoint_type=self._endpoint_type.value)
        request.include_fenced_brokers = (
            include_fenced
            and self._endpoint_type is EndpointType.BROKER
            and _DESCRIBE_CLUSTER in offered
            and _TELLS_FENCED in offered[_DESCRIBE_CLUSTER]
        )
        # A node that cannot be told which kind is meant is a broker's listener, or too old to list controllers.
        wanted = _WITH_ENDPOINT_TYPE if self._endpoint_type is EndpointType.CONTROLLER else None
        response = await connection.request(request, wanted=wanted, is_idempotent=True)
        assert isinstance(response, DescribeClusterResponse)
        if response.error_code != ErrorCode.NONE:
            raise NodeRefusedError(connection.endpoint, "DescribeCluster", response.error_code, response.error_message)
        return ClusterDescription.of_describe_cluster(response)

    async def api_versions(
        self, nodes: Iterable[ClusterNode], *, with_progress: bool = False
    ) -> Mapping[int, NodeVersions | ClientError]:
        """Ask each node what it speaks; what went wrong stands in the place of its answer. By node id.

        `with_progress`: nodes of ours tell how far they are with the metadata log, too.
        """
        slots = asyncio.Semaphore(_PARALLEL_MAX)

        async def ask(node: ClusterNode) -> NodeVersions | ClientError:
            async with slots:
                connection = self.connection(node.endpoint)
                try:
                    if with_progress:
                        return await connection.versions_with_progress()
                    return await connection.refreshed_versions()
                except ClientError as error:
                    return error

        asked = list(nodes)
        answers = await asyncio.gather(*map(ask, asked))
        return {node.node_id: answer for node, answer in zip(asked, answers, strict=True)}

    async def controller(self) -> NodeConnection:
        """Give the active controller, or the broker that stands for it. Raises NoControllerError."""
        cluster = await self.describe_cluster()
        node = cluster.node(cluster.controller_id)
        if node is None:
            raise NoControllerError((await self.any_node()).endpoint)
        return self.connection(node.endpoint)

    async def describe_quorum(self) -> QuorumDescription:
        """Give how far the replicas of the metadata log are."""
        node = await self._node_that_decides()
        asked = describe_quorum_request.TopicData(_METADATA_TOPIC, [describe_quorum_request.PartitionData(0)])
        response = await node.request(DescribeQuorumRequest(topics=[asked]), is_idempotent=True)
        assert isinstance(response, DescribeQuorumResponse)
        error_code, message = response.error_code, response.error_message
        if error_code == ErrorCode.NONE:
            [partition] = response.topics[0].partitions
            error_code, message = partition.error_code, partition.error_message
        if error_code != ErrorCode.NONE:
            raise NodeRefusedError(node.endpoint, "DescribeQuorum", error_code, message)
        return QuorumDescription.of(partition, response.nodes)

    async def describe_features(self, node_id: int | None = None) -> FeatureMetadata:
        """Give what the cluster has agreed on, and what one node supports: a bootstrap server, or the controller.

        The epoch never falls from one call to the next: a node that lags behind is told what others have said.
        With `node_id` that node is asked, and what it knows itself is told. Raises UnknownNodeError.
        """
        if node_id is not None:
            return FeatureMetadata.of(await (await self._node(node_id)).refreshed_versions())
        node = await self._node_that_decides()
        self._features = FeatureMetadata.of(await node.refreshed_versions()).not_older_than(self._features)
        return self._features

    async def newest_features(self) -> FeatureMetadata:
        """Give the same, with what is finalized as the controller knows it if that is of a higher epoch.

        The controller is the first to know (KIP-584). One that cannot be asked now is passed over.
        """
        asked = await self.describe_features()
        try:
            told = FeatureMetadata.of(await (await self.controller()).refreshed_versions())
        except (ConnectionFailedError, NoControllerError):
            return asked
        self._features = asked.not_older_than(told)
        return self._features

    async def update_features(
        self,
        updates: Mapping[str, FeatureUpdate],
        *,
        validate_only: bool = False,
        timeout_ms: int = 60_000,
        forced_snapshot: bool = False,
    ) -> UpdateFeaturesResult:
        """Change finalized features (one at least), or with `validate_only` say whether they could be changed.

        `forced_snapshot`: real brokers may be made to follow a lowered metadata.version by a snapshot. It is sent
        again if the controller has changed or a connection breaks; what stands then is done, whoever did it. Raises
        UnsupportedUpdateError if the controller is too old for what is asked, NoControllerError if there is none.
        Source: KIP-584, KIP-778.
        """
        assert updates, "there is something to update"
        asking = partial(self._update_features, updates, validate_only=validate_only, forced_snapshot=forced_snapshot)
        clock = asyncio.get_running_loop().time
        backoff_s = self.config.retry_backoff_ms / 1000
        deadline_s = clock() + timeout_ms / 1000
        is_routed, was_cut_off = self._endpoint_type is EndpointType.CONTROLLER, False
        while True:
            remaining_ms = max(int((deadline_s - clock()) * 1000), 1)
            is_last = clock() + backoff_s >= deadline_s
            try:
                result = await asking(await (self.controller() if is_routed else self._first_asked()), remaining_ms)
                if is_last or not result.is_not_controller:
                    return await self._settled(updates, result) if was_cut_off else result
                is_routed = True
            except RequestTimedOutError:
                raise
            except (ConnectionFailedError, NoControllerError) as failure:
                if is_last:
                    raise
                was_cut_off |= isinstance(failure, ConnectionFailedError) and not validate_only
            await asyncio.sleep(backoff_s)

    async def _node_that_decides(self) -> NodeConnection:
        """Give the active controller, or any broker: it passes on what it does not decide."""
        return await (self.any_node() if self._endpoint_type is EndpointType.BROKER else self.controller())

    async def _first_asked(self) -> NodeConnection:
        """Give who takes updates: any broker that has a quorum to pass them on to, else the controller."""
        node = await self.any_node()
        offered = (await node.versions()).api_ranges
        return await self.controller() if _UPDATE_FEATURES in offered and _DESCRIBE_QUORUM not in offered else node

    async def _settled(
        self, updates: Mapping[str, FeatureUpdate], result: UpdateFeaturesResult
    ) -> UpdateFeaturesResult:
        """Take for done what stands: controllers on ZooKeeper refuse to do again what a lost answer was about."""
        if not any(failure and failure.error_code == ErrorCode.INVALID_REQUEST for failure in result.values.values()):
            return result
        finalized = (await self.newest_features()).finalized_features
        levels = {name: finalized[name].max_version_level if name in finalized else 0 for name in updates}
        return result.with_done({name for name, update in updates.items() if update.max_version_level == levels[name]})

    async def _node(self, node_id: int) -> NodeConnection:
        node = (await self.describe_cluster()).node(node_id)
        if node is None:
            raise UnknownNodeError((await self.any_node()).endpoint, node_id)
        return self.connection(node.endpoint)

    async def _update_features(
        self,
        updates: Mapping[str, FeatureUpdate],
        node: NodeConnection,
        timeout_ms: int,
        *,
        validate_only: bool,
        forced_snapshot: bool,
    ) -> UpdateFeaturesResult:
        offered = (await node.versions()).api_ranges.get(_UPDATE_FEATURES)
        is_old = offered is not None and offered.highest == 0
        missing = missing_in_version_0(updates.values(), validate_only=validate_only) if is_old else None
        if missing is not None:
            raise UnsupportedUpdateError(node.endpoint, missing)
        request = update_request(
            updates,
            version_0=is_old,
            timeout_ms=timeout_ms,
            validate_only=validate_only,
            forced_snapshot=forced_snapshot,
        )
        response = await node.request(
            request,
            wanted=SupportedRange(0, 0) if is_old else SupportedRange(1, 2),
            timeout_ms=timeout_ms + self.config.request_timeout_ms,
        )
        assert isinstance(response, UpdateFeaturesResponse)
        return read_result(node.endpoint, updates, response)


async def _describe_by_metadata(connection: NodeConnection) -> ClusterDescription:
    request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
    response = await connection.request(request, is_idempotent=True)
    assert isinstance(response, MetadataResponse)
    if response.error_code != ErrorCode.NONE:
        raise NodeRefusedError(connection.endpoint, "Metadata", response.error_code)
    return ClusterDescription.of_metadata(response)
