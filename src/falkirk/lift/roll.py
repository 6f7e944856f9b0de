"""The roll: each node is restarted with the older binaries, one by one, when all partitions are in sync.

What a node runs shows in the levels of metadata.version that it supports.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from falkirk.client.cluster_description import ClusterNode
from falkirk.client.errors import ClientError
from falkirk.client.node_configs import lacking_partitions
from falkirk.lift import hooks
from falkirk.lift.step import Step
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from falkirk.client.node_versions import NodeVersions
    from falkirk.lift.hooks import HookRunner
    from falkirk.lift.lifted_cluster import LiftedCluster
    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOnRelease:
    """A node; `highest_level`: the highest metadata.version that its binaries support, None if it does not answer."""

    node_id: int
    highest_level: int | None
    is_on_target: bool


class Roll:
    """The nodes of a cluster, and the release that each is to run: brokers first, then controllers."""

    def __init__(self, cluster: LiftedCluster, release: Release) -> None:
        self._cluster = cluster
        self._release = release
        originals = cluster.originals
        brokers = [(broker.node_id, broker.endpoint) for broker in originals.brokers]
        controllers = [(voter.node_id, voter.endpoint) for voter in originals.voters]
        self._brokers = dict(brokers)
        self._nodes = dict(brokers) | {each: at for each, at in controllers if each not in self._brokers}

    def steps(self, runner: HookRunner) -> tuple[Step, ...]:
        """Return a step for each node, which the hook `roll` restarts."""
        return tuple(
            Step(
                f"roll-{node_id}",
                f"node {node_id} restarts with Kafka {self._release.word}",
                partial(self._is_rolled, node_id),
                partial(self._roll, node_id, runner),
                is_after_lowering=True,
                hooks_s=runner.limit_s(hooks.ROLL),
            )
            for node_id in self._nodes
        )

    async def nodes(self) -> tuple[NodeOnRelease, ...]:
        """Return each node as it answers now."""
        return tuple([await self._node(node_id) for node_id in self._nodes])

    async def is_whole(self) -> bool:
        """Return whether all nodes have the log, all brokers serve, and all partitions are in sync."""
        view = await self._cluster.view()
        if view is None or not all(self._cluster.follows(view, node_id) for node_id in self._nodes):
            return False
        serving = {node.node_id for node in (await self._cluster.brokers.describe_cluster()).nodes}
        return self._brokers.keys() <= serving and not await lacking_partitions(await self._cluster.brokers.any_node())

    async def _node(self, node_id: int) -> NodeOnRelease:
        versions = await self._versions(node_id)
        levels = None if versions is None else versions.supported_features.get(METADATA_VERSION)
        highest = None if levels is None else levels.highest
        is_on_target = highest is not None and highest <= self._release.latest_metadata_version.level
        return NodeOnRelease(node_id=node_id, highest_level=highest, is_on_target=is_on_target)

    async def _versions(self, node_id: int) -> NodeVersions | None:
        if node_id not in self._brokers:
            return await self._cluster.quorum.versions_at(self._nodes[node_id])
        node = ClusterNode(node_id=node_id, endpoint=self._nodes[node_id])
        answer = (await self._cluster.brokers.api_versions([node]))[node_id]
        return None if isinstance(answer, ClientError) else answer

    async def _is_rolled(self, node_id: int) -> bool:
        return (await self._node(node_id)).is_on_target and await self.is_whole()

    async def _roll(self, node_id: int, runner: HookRunner) -> None:
        """Restart a node when the cluster can do without it; one that was restarted before is only waited for."""
        if (await self._node(node_id)).is_on_target:
            return
        await self._cluster.until(self.is_whole, "all nodes answer, and all partitions are in sync")
        await runner.run(hooks.ROLL, node_id, self._nodes[node_id])
