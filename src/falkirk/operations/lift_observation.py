"""What can be seen of a running cluster from outside: nodes, quorum, configs, groups, and copies of its logs.

Nothing is changed: who reads joins no quorum and registers nothing. What cannot be seen is listed with the reason and
the right that it needs.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from falkirk.client.errors import ClientError, NodeRefusedError, RequestTimedOutError
from falkirk.client.groups.listing import list_groups
from falkirk.client.node_configs import described_topics, lacking, layouts, node_configs
from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.mirror.cluster_mirror import check_same_cluster, endpoints_of_voters, find_leader
from falkirk.mirror.errors import MirrorError
from falkirk.mirror.mirrored_directory import MirroredDirectory
from falkirk.operations.errors import OperationError
from falkirk.operations.lift_rights import BROKERS, CONTROLLERS, Right, missing_at_brokers
from falkirk.protocol.error_codes import ErrorCode
from falkirk.storage.partition_directory import GROUPS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from falkirk.versions.negotiation import UnsupportedApiError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.cluster_description import ClusterDescription, ClusterNode
    from falkirk.client.groups.listing import GroupListing
    from falkirk.client.node_configs import LackingPartition, TopicLayout
    from falkirk.client.node_versions import NodeVersions
    from falkirk.client.quorum_description import QuorumDescription
    from falkirk.mirror.cluster_mirror import LiveSource, QuorumLeader
    from falkirk.protocol.endpoint import Endpoint

METADATA: Final = "the metadata log"
# A leader answers at once, and a quorum that elects one takes a few seconds.
_QUORUM_MS: Final = 10_000
_REFUSALS: Final = frozenset({ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.TOPIC_AUTHORIZATION_FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """Something that could not be seen. `needs`: the right that it takes, if it was refused for lack of it."""

    what: str
    reason: str
    needs: Right | None = None

    def __str__(self) -> str:
        return f"{self.what}: {self.reason}" + (f" (needs {self.needs})" if self.needs else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A running cluster, as far as it can be seen.

    `brokers`: those that are registered, fenced ones too; `controllers`: those that listen. `answers` and `configs` are
    by node id; a node that does not answer has its error. `configs` have no defaults, and None for secrets.
    `topics`: by name, as a broker reported them both before and after the metadata log was read: the log has these,
    too. `directory`: the mirrored logs, None if the metadata log could not be read. `missing_rights`: what changes of
    the cluster would need besides.
    """

    cluster_id: str
    bootstrap: tuple[Endpoint, ...]
    brokers: tuple[ClusterNode, ...]
    controllers: tuple[ClusterNode, ...] = ()
    quorum: QuorumDescription | None = None
    answers: Mapping[int, NodeVersions | ClientError] = field(default_factory=dict)
    configs: Mapping[int, Mapping[str, str | None]] = field(default_factory=dict)
    groups: tuple[GroupListing, ...] = ()
    lacking: tuple[LackingPartition, ...] = ()
    topics: Mapping[str, TopicLayout] = field(default_factory=dict)
    directory: Path | None = None
    unseen: tuple[Unseen, ...] = ()
    missing_rights: tuple[Right, ...] = ()

    @property
    def silent(self) -> frozenset[int]:
        """Nodes that are listed and do not answer."""
        return frozenset(node_id for node_id, answer in self.answers.items() if isinstance(answer, ClientError))


async def observe(source: LiveSource, folder: Path, notice: Callable[[str], None]) -> Observation:
    """Observe the cluster of `source.brokers`, and mirror its logs below `folder`. `notice` gets each step's name.

    Raises ClientError if no broker answers, or none of the named controllers; OperationError for a cluster without a
    quorum; MirrorError for controllers of another cluster; OSError.
    """
    async with AsyncExitStack() as stack:
        brokers = await stack.enter_async_context(source.brokers_admin())
        observer = _Observer(source, brokers, notice)
        return await observer.observe(stack, folder)


class _Observer:
    """Collects what is seen, and what is not."""

    def __init__(self, source: LiveSource, brokers: AsyncAdmin, notice: Callable[[str], None]) -> None:
        self._source = source
        self._brokers = brokers
        self._notice = notice
        self._unseen: list[Unseen] = []
        self._missing: list[Right] = []

    async def observe(self, stack: AsyncExitStack, folder: Path) -> Observation:
        self._notice("asking the brokers")
        cluster = await self._cluster()
        self._missing += missing_at_brokers(cluster, self._brokers.config.principal)
        quorum = await self._quorum()
        before = layouts(await described_topics(await self._brokers.any_node()))
        leader = await self._leader(stack, quorum)
        directory = None if leader is None else await self._mirror(leader, folder)
        self._notice("asking every node")
        by_id = {node.node_id: (self._brokers, node) for node in cluster.nodes}
        listening: tuple[ClusterNode, ...] = ()
        if leader is not None:
            listening, quorum = leader.controllers.nodes, leader.quorum
            for node in listening:
                by_id.setdefault(node.node_id, (leader.admin, node))
        answered = await asyncio.gather(*(self._ask(admin, node) for admin, node in by_id.values()))
        if cluster.cluster_id is None:
            raise OperationError(f"{self._source.brokers[0]}: the cluster has no id")
        groups = await self._groups()
        after = await described_topics(await self._brokers.any_node())
        return Observation(
            cluster_id=cluster.cluster_id,
            bootstrap=(*self._source.brokers, *self._source.controllers),
            brokers=cluster.nodes,
            controllers=listening,
            quorum=quorum,
            answers={node_id: answer for node_id, answer, _ in answered},
            configs={node_id: configs for node_id, _, configs in answered if configs is not None},
            groups=groups,
            lacking=lacking(after),
            topics={name: topic for name, topic in layouts(after).items() if topic == before.get(name)},
            directory=directory,
            unseen=tuple(self._unseen),
            missing_rights=tuple(self._missing),
        )

    async def _cluster(self) -> ClusterDescription:
        try:
            return await self._brokers.describe_cluster(include_fenced=True, with_rights=True)
        except NodeRefusedError as refusal:
            if refusal.error_code != ErrorCode.MISMATCHED_ENDPOINT_TYPE:
                raise
            raise OperationError(
                f"{refusal.endpoint}: a controller listens there, and it is named as a broker: the bootstrap servers "
                "are brokers, and controllers are named apart"
            ) from refusal

    async def _quorum(self) -> QuorumDescription | None:
        try:
            return await self._brokers.describe_quorum(_QUORUM_MS)
        except UnsupportedApiError as old:
            raise OperationError(f"{old.node}: the cluster has no KRaft quorum: it runs on ZooKeeper") from old
        except ClientError as error:
            reason = _description_failure(error)
            self._cannot_see("the quorum", reason, AclOperation.DESCRIBE)
            if not self._source.controllers:
                self._cannot_see(METADATA, reason, AclOperation.DESCRIBE)
            return None

    async def _leader(self, stack: AsyncExitStack, quorum: QuorumDescription | None) -> QuorumLeader | None:
        """Return the quorum's leader; None if nobody tells where it listens, or it does not answer there."""
        named, nodes = self._source.controllers, BROKERS
        if not named and quorum is None:
            return None
        self._notice("asking the controllers")
        try:
            endpoints = named if quorum is None else named or endpoints_of_voters(quorum)
            nodes = CONTROLLERS
            controllers = await stack.enter_async_context(self._source.controllers_admin(endpoints))
            leader = await find_leader(controllers, self._brokers)
        except (ClientError, MirrorError) as error:
            if named and not isinstance(error, NodeRefusedError):
                raise
            self._cannot_see(METADATA, error, AclOperation.DESCRIBE, nodes=nodes)
            return None
        if not leader.is_allowed_to_alter:
            self._missing.append(self._right(AclOperation.ALTER, nodes=CONTROLLERS))
        await check_same_cluster(leader, self._brokers)
        return leader

    async def _mirror(self, leader: QuorumLeader, folder: Path) -> Path | None:
        directory = MirroredDirectory(folder, leader.cluster_id, leader.quorum.leader_id)
        # Groups first, for they refer to topics: a topic deleted meanwhile is still in the metadata log.
        for topic in (GROUPS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC):
            self._notice(f"reading {topic}")
            try:
                await directory.fetch_topics(self._brokers, (topic,))
            except (ClientError, MirrorError) as error:
                self._cannot_see(topic, error, AclOperation.READ, topic=topic)
        self._notice(f"reading {METADATA}")
        try:
            await directory.fetch_metadata(leader.connection, leader.quorum)
        except (ClientError, MirrorError) as error:
            self._cannot_see(METADATA, error, AclOperation.CLUSTER_ACTION, nodes=CONTROLLERS)
            return None
        return directory.path

    async def _ask(
        self, admin: AsyncAdmin, node: ClusterNode
    ) -> tuple[int, NodeVersions | ClientError, dict[str, str | None] | None]:
        connection = admin.connection(node.endpoint)
        try:
            versions = await connection.versions()
        except ClientError as error:
            return node.node_id, error, None
        try:
            return node.node_id, versions, await node_configs(connection, node.node_id)
        except (ClientError, UnsupportedApiError) as refusal:
            nodes = BROKERS if admin is self._brokers else CONTROLLERS
            what = f"the configs of node {node.node_id}"
            self._cannot_see(what, refusal, AclOperation.DESCRIBE_CONFIGS, nodes=nodes)
            return node.node_id, versions, None

    async def _groups(self) -> tuple[GroupListing, ...]:
        try:
            return tuple(await list_groups(self._brokers))
        except ClientError as error:
            self._cannot_see("the states of groups", error, AclOperation.DESCRIBE)
            return ()

    def _cannot_see(
        self, what: str, error: Exception, operation: AclOperation, *, nodes: str = BROKERS, topic: str | None = None
    ) -> None:
        is_refused = isinstance(error, NodeRefusedError) and error.error_code in _REFUSALS
        needs = self._right(operation, nodes=nodes, topic=topic) if is_refused else None
        self._unseen.append(Unseen(what=what, reason=str(error).replace("\n", "; "), needs=needs))

    def _right(self, operation: AclOperation, *, nodes: str, topic: str | None = None) -> Right:
        source = self._source
        config = source.config if nodes == BROKERS else source.controller_config or source.config
        right = Right(operation=operation, principal=config.principal, nodes=nodes)
        return right if topic is None else replace(right, resource_type=ResourceType.TOPIC, resource_name=topic)


def _description_failure(error: ClientError) -> Exception:
    """Return the error of DescribeQuorum; that nobody leads if a broker has forwarded it in vain."""
    is_refused = isinstance(error, NodeRefusedError) and error.error_code == ErrorCode.REQUEST_TIMED_OUT
    if not is_refused and not isinstance(error, RequestTimedOutError):
        return error
    return OperationError(f"no controller leads the quorum, or the brokers do not reach the one that does ({error})")
