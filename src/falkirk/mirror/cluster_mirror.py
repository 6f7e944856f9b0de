"""A running cluster as one data directory: its metadata log, and the topics of its coordinators.

mirror = ClusterMirror(Path("warehouse-live"), LiveSource(brokers=parse_servers("broker:9092")))
directory = mirror.refresh()        # read it as a node's data directory; each refresh makes it grow
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.client.admin import AsyncAdmin, EndpointType
from falkirk.client.cluster_description import ClusterDescription, ClusterNode
from falkirk.client.config import ClientConfig
from falkirk.client.errors import ConnectionFailedError, NoControllerError, NodeRefusedError, NoNodeReachedError
from falkirk.client.event_loop import run
from falkirk.mirror.errors import MirrorError
from falkirk.mirror.mirrored_directory import MirroredDirectory
from falkirk.mirror.topic_mirror import MOVED
from falkirk.protocol.error_codes import ErrorCode
from falkirk.storage.partition_directory import GROUPS_TOPIC, TRANSACTIONS_TOPIC

if TYPE_CHECKING:
    from pathlib import Path

    from falkirk.client.connection import NodeConnection
    from falkirk.client.quorum_description import QuorumDescription
    from falkirk.protocol.endpoint import Endpoint

# How long a cluster may be without a leader, or unreachable, before we give up: rolling a node takes as long.
PATIENCE_S: Final = 60.0
_BACKOFF_S: Final = 0.5
_TOPICS: Final = (GROUPS_TOPIC, TRANSACTIONS_TOPIC)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSource:
    """Bootstrap servers. Without `controllers`, brokers are asked for them; without `brokers`, no topic is fetched.

    `controller_config`: of connections to controllers, None: as to brokers.
    """

    brokers: tuple[Endpoint, ...] = ()
    controllers: tuple[Endpoint, ...] = ()
    config: ClientConfig = field(default_factory=ClientConfig)
    controller_config: ClientConfig | None = None

    def brokers_admin(self) -> AsyncAdmin:
        """Return an Admin of the brokers."""
        return AsyncAdmin(self.brokers, self.config)

    def controllers_admin(self, endpoints: tuple[Endpoint, ...]) -> AsyncAdmin:
        """Return an Admin of the controllers at these addresses."""
        return AsyncAdmin(endpoints, self.controller_config or self.config, endpoint_type=EndpointType.CONTROLLER)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumLeader:
    """The leader of the metadata log, and what it reports. `controllers`: those that listen, by rising id.

    `is_allowed_to_alter`: False if the controllers refuse ALTER on the cluster to this client.
    """

    admin: AsyncAdmin
    connection: NodeConnection
    cluster_id: str
    controllers: ClusterDescription
    quorum: QuorumDescription
    is_allowed_to_alter: bool = True


class ClusterMirror:
    """Mirrors one cluster into a directory below `folder` that is named after its id."""

    def __init__(self, folder: Path, source: LiveSource) -> None:
        assert source.brokers or source.controllers, "brokers or controllers are named"
        self._folder = folder
        self._source = source
        self._directory: MirroredDirectory | None = None

    def refresh(self) -> Path:
        """Fetch what is new; return the directory. Raises ClientError, MirrorError, OSError."""
        return run(self._refresh())

    async def _refresh(self) -> Path:
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                async with AsyncExitStack() as stack:
                    return await self._refresh_once(stack)
            except (ConnectionFailedError, NoNodeReachedError, NoControllerError) as error:
                # A cluster that was never reached is most likely misspelled.
                if self._directory is None or time.monotonic() > deadline_s:
                    raise
                del error
            except NodeRefusedError as refusal:
                if refusal.error_code not in MOVED or time.monotonic() > deadline_s:
                    raise
            await asyncio.sleep(_BACKOFF_S)

    async def _refresh_once(self, stack: AsyncExitStack) -> Path:
        source, brokers = self._source, None
        if source.brokers:
            brokers = await stack.enter_async_context(source.brokers_admin())
        endpoints = source.controllers or await find_controllers(brokers)
        controllers = await stack.enter_async_context(source.controllers_admin(endpoints))
        leader = await find_leader(controllers, brokers)
        if brokers is not None:
            await check_same_cluster(leader, brokers)
        if self._directory is None or self._directory.path.name != leader.cluster_id:
            self._directory = MirroredDirectory(self._folder, leader.cluster_id, leader.quorum.leader_id)
        # Groups first, for they refer to topics: a topic deleted meanwhile is still in the metadata log.
        if brokers is not None:
            await self._directory.fetch_topics(brokers, _TOPICS)
        await self._directory.fetch_metadata(leader.connection, leader.quorum)
        return self._directory.path


async def find_controllers(brokers: AsyncAdmin | None) -> tuple[Endpoint, ...]:
    """Return where voters listen, as a broker reports; those before 3.9 do not. Raises ClientError, MirrorError."""
    assert brokers is not None, "brokers or controllers are named"
    return endpoints_of_voters(await brokers.describe_quorum())


def endpoints_of_voters(quorum: QuorumDescription) -> tuple[Endpoint, ...]:
    """Return where the voters listen. Raises MirrorError if a broker before 3.9 has described the quorum."""
    found = tuple(quorum.voter_endpoints.values())
    if not found:
        raise MirrorError("the brokers do not report the endpoints of controllers: name them (--bootstrap-controller)")
    return found


async def find_leader(controllers: AsyncAdmin, brokers: AsyncAdmin | None = None) -> QuorumLeader:
    """Return the quorum's leader, as the controllers report it. Raises ClientError, also NoControllerError.

    Controllers list themselves only for ALTER on the cluster (KIP-919). Without it the voters are taken for all of
    them, and `brokers` name the cluster.
    """
    quorum = await controllers.describe_quorum()
    is_allowed_to_alter = True
    try:
        cluster = await controllers.describe_cluster()
    except NodeRefusedError as refusal:
        if brokers is None or refusal.error_code != ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            raise
        is_allowed_to_alter, cluster = False, await _voters(quorum, brokers)
    leader, cluster_id = cluster.node(quorum.leader_id), cluster.cluster_id
    # A controller of a lift leads without a registration, so that nobody lists it.
    endpoint = quorum.voter_endpoints.get(quorum.leader_id) if leader is None else leader.endpoint
    if endpoint is None:
        raise NoControllerError((await controllers.any_node()).endpoint)
    assert cluster_id is not None, "a KRaft cluster has an id"
    return QuorumLeader(
        admin=controllers,
        connection=controllers.connection(endpoint),
        cluster_id=cluster_id,
        controllers=cluster,
        quorum=quorum,
        is_allowed_to_alter=is_allowed_to_alter,
    )


async def _voters(quorum: QuorumDescription, brokers: AsyncAdmin) -> ClusterDescription:
    return ClusterDescription(
        cluster_id=(await brokers.describe_cluster()).cluster_id,
        controller_id=quorum.leader_id,
        nodes=tuple(
            ClusterNode(node_id=node_id, endpoint=endpoint)
            for node_id, endpoint in sorted(quorum.voter_endpoints.items())
        ),
    )


async def check_same_cluster(leader: QuorumLeader, brokers: AsyncAdmin) -> None:
    """Raise MirrorError if the brokers are of another cluster than the controllers. Raises ClientError."""
    other = (await brokers.describe_cluster()).cluster_id
    if other != leader.cluster_id:
        raise MirrorError(f"the controllers are of cluster {leader.cluster_id}, the brokers of {other}")
