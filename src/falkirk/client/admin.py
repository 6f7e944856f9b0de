"""The Admin client for asyncio.

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

# Requests in parallel.
_PARALLEL_MAX: Final = 16
_DESCRIBE_CLUSTER: Final = 60
_DESCRIBE_QUORUM: Final = 55
_UPDATE_FEATURES: Final = 57
_METADATA_TOPIC: Final = "__cluster_metadata"
_WITH_FENCED: Final = 2
# Has the endpoint type from version 1 on.
_WITH_ENDPOINT_TYPE: Final = SupportedRange(1, 2)


class EndpointType(Enum):
    """The kind of node that the bootstrap servers are. Source: KIP-919."""

    BROKER = 1
    CONTROLLER = 2


class AsyncAdmin:
    """Connections to the nodes of one cluster, opened on demand and closed at the end of the block.

    Every request raises ClientError, which names the node, or UnsupportedApiError if the node is too old for it.
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
        self.endpoint_type = endpoint_type
        self._connections: dict[Endpoint, NodeConnection] = {}
        # The newest of any node: clients ignore features of an older epoch.
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
        """Return the connection to a node."""
        found = self._connections.get(endpoint)
        if found is None:
            found = self._connections[endpoint] = NodeConnection(endpoint, self.config)
        return found

    async def any_node(self) -> NodeConnection:
        """Return the first bootstrap server that answers. Raises NoNodeReachedError with the failure of each."""
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
        """Send a request to any bootstrap server; an error code in the response is left to the caller."""
        return await (await self.any_node()).request(message)

    async def describe_cluster(self, *, include_fenced: bool = False, with_rights: bool = False) -> ClusterDescription:
        """Return the brokers, or the controllers if the bootstrap servers are controllers.

        `include_fenced`: fenced brokers, too; nodes before 4.0 do not list them. `with_rights`: the operations on the
        cluster that this client is authorized for, too (KIP-430).
        """
        connection = await self.any_node()
        offered = (await connection.versions()).api_ranges
        if self.endpoint_type is EndpointType.BROKER and _DESCRIBE_CLUSTER not in offered:
            return await _describe_by_metadata(connection)
        request = DescribeClusterRequest(
            endpoint_type=self.endpoint_type.value, include_cluster_authorized_operations=with_rights
        )
        request.include_fenced_brokers = (
            include_fenced
            and self.endpoint_type is EndpointType.BROKER
            and _DESCRIBE_CLUSTER in offered
            and _WITH_FENCED in offered[_DESCRIBE_CLUSTER]
        )
        # A node without endpoint types is a broker's listener, or too old to list controllers.
        wanted = _WITH_ENDPOINT_TYPE if self.endpoint_type is EndpointType.CONTROLLER else None
        response = await connection.request(request, wanted=wanted, is_idempotent=True)
        assert isinstance(response, DescribeClusterResponse)
        if response.error_code != ErrorCode.NONE:
            raise NodeRefusedError(connection.endpoint, "DescribeCluster", response.error_code, response.error_message)
        return ClusterDescription.of_describe_cluster(response)

    async def api_versions(
        self, nodes: Iterable[ClusterNode], *, with_progress: bool = False
    ) -> Mapping[int, NodeVersions | ClientError]:
        """Return the API versions of each node, or the error of one that does not answer; by node id.

        `with_progress`: falkirk's nodes report their progress in the metadata log, too.
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

        requested = list(nodes)
        answers = await asyncio.gather(*map(ask, requested))
        return {node.node_id: answer for node, answer in zip(requested, answers, strict=True)}

    async def controller(self) -> NodeConnection:
        """Return the active controller, or the broker that forwards to it. Raises NoControllerError."""
        is_of_controllers = self.endpoint_type is EndpointType.CONTROLLER
        try:
            cluster = await self.describe_cluster()
        except NodeRefusedError as refusal:
            # Controllers list themselves for ALTER on the cluster (KIP-919), and describe the quorum for DESCRIBE.
            if not is_of_controllers or refusal.error_code != ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                raise
        else:
            node = cluster.node(cluster.controller_id)
            if node is not None:
                return self.connection(node.endpoint)
        # A controller of a lift leads without a registration, so that no node lists it; only a leader describes.
        for endpoint in self._bootstrap if is_of_controllers else ():
            try:
                await _describe_quorum(self.connection(endpoint))
            except ClientError as error:
                if isinstance(error, NodeRefusedError) and error.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                    raise
            else:
                return self.connection(endpoint)
        raise NoControllerError((await self.any_node()).endpoint)

    async def deciding_node(self) -> NodeConnection:
        """Return the active controller, or any broker: it forwards what it does not decide."""
        return await (self.any_node() if self.endpoint_type is EndpointType.BROKER else self.controller())

    async def describe_quorum(self, timeout_ms: int | None = None) -> QuorumDescription:
        """Return the replicas of the metadata log, and how far each is.

        `timeout_ms`: of the response, None: request.timeout.ms. Where no controller leads, a broker waits for one.
        """
        return await _describe_quorum(await self.deciding_node(), timeout_ms)

    async def describe_features(self, node_id: int | None = None) -> FeatureMetadata:
        """Return the finalized features, and the supported features of one node: a bootstrap server, or the controller.

        The epoch never falls from one call to the next: newer finalized features of earlier calls win over a node that
        lags. With `node_id` the answer is that node's own. Raises UnknownNodeError.
        """
        if node_id is not None:
            return FeatureMetadata.of(await (await self._node(node_id)).refreshed_versions())
        node = await self.deciding_node()
        self._features = FeatureMetadata.of(await node.refreshed_versions()).not_older_than(self._features)
        return self._features

    async def newest_features(self) -> FeatureMetadata:
        """Return the same, with the controller's finalized features if their epoch is higher.

        The controller is the first to know (KIP-584). One that does not answer is ignored.
        """
        requested = await self.describe_features()
        try:
            known = FeatureMetadata.of(await (await self.controller()).refreshed_versions())
        except (ConnectionFailedError, NoControllerError):
            return requested
        self._features = requested.not_older_than(known)
        return self._features

    async def update_features(
        self,
        updates: Mapping[str, FeatureUpdate],
        *,
        validate_only: bool = False,
        timeout_ms: int = 60_000,
        forced_snapshot: bool = False,
        abort_transactions: bool = False,
    ) -> UpdateFeaturesResult:
        """Change finalized features (at least one), or with `validate_only` check whether they could be changed.

        `forced_snapshot`: consents that real brokers follow a lowered metadata.version by a snapshot;
        `abort_transactions`: that open transactions are aborted where transaction.version is lowered unsafely, instead
        of waiting for their end. The request is sent again if the controller has changed or a connection breaks; levels
        that are reached by then count as changed. Raises UnsupportedUpdateError if the controller is too old,
        NoControllerError if there is none.
        Source: KIP-584, KIP-778.
        """
        assert updates, "there is at least one update"
        asking = partial(
            self._update_features,
            updates,
            validate_only=validate_only,
            forced_snapshot=forced_snapshot,
            abort_transactions=abort_transactions,
        )
        clock = asyncio.get_running_loop().time
        backoff_s = self.config.retry_backoff_ms / 1000
        deadline_s = clock() + timeout_ms / 1000
        is_routed, was_cut_off = self.endpoint_type is EndpointType.CONTROLLER, False
        while True:
            remaining_ms = max(int((deadline_s - clock()) * 1000), 1)
            is_last = clock() + backoff_s >= deadline_s
            try:
                result = await asking(await (self.controller() if is_routed else self._update_target()), remaining_ms)
                if is_last or not result.is_not_controller:
                    return await self._confirmed(updates, result) if was_cut_off else result
                is_routed = True
            except RequestTimedOutError:
                raise
            except (ConnectionFailedError, NoControllerError) as failure:
                if is_last:
                    raise
                was_cut_off |= isinstance(failure, ConnectionFailedError) and not validate_only
            await asyncio.sleep(backoff_s)

    async def _update_target(self) -> NodeConnection:
        """Return any broker if it can forward to a quorum, else the controller."""
        node = await self.any_node()
        offered = (await node.versions()).api_ranges
        return await self.controller() if _UPDATE_FEATURES in offered and _DESCRIBE_QUORUM not in offered else node

    async def _confirmed(
        self, updates: Mapping[str, FeatureUpdate], result: UpdateFeaturesResult
    ) -> UpdateFeaturesResult:
        """Count levels that are reached as changed: a controller on ZooKeeper refuses a repeated update as invalid."""
        if not any(failure and failure.error_code == ErrorCode.INVALID_REQUEST for failure in result.values.values()):
            return result
        finalized = (await self.newest_features()).finalized_features
        levels = {name: finalized[name].max_version_level if name in finalized else 0 for name in updates}
        return result.without_failures_of(
            {name for name, update in updates.items() if update.max_version_level == levels[name]}
        )

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
        abort_transactions: bool,
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
            abort_transactions=abort_transactions,
        )
        response = await node.request(
            request,
            wanted=SupportedRange(0, 0) if is_old else SupportedRange(1, 2),
            timeout_ms=timeout_ms + self.config.request_timeout_ms,
        )
        assert isinstance(response, UpdateFeaturesResponse)
        return read_result(node.endpoint, updates, response)


async def _describe_quorum(node: NodeConnection, timeout_ms: int | None = None) -> QuorumDescription:
    requested = describe_quorum_request.TopicData(_METADATA_TOPIC, [describe_quorum_request.PartitionData(0)])
    request = DescribeQuorumRequest(topics=[requested])
    response = await node.request(request, is_idempotent=True, timeout_ms=timeout_ms)
    assert isinstance(response, DescribeQuorumResponse)
    error_code, message = response.error_code, response.error_message
    if error_code == ErrorCode.NONE:
        [partition] = response.topics[0].partitions
        error_code, message = partition.error_code, partition.error_message
    if error_code != ErrorCode.NONE:
        raise NodeRefusedError(node.endpoint, "DescribeQuorum", error_code, message)
    return QuorumDescription.of(partition, response.nodes)


async def _describe_by_metadata(connection: NodeConnection) -> ClusterDescription:
    request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
    response = await connection.request(request, is_idempotent=True)
    assert isinstance(response, MetadataResponse)
    if response.error_code != ErrorCode.NONE:
        raise NodeRefusedError(connection.endpoint, "Metadata", response.error_code)
    return ClusterDescription.of_metadata(response)
