"""A cluster of ours on this machine, from its start to its end: each node a process, or all of them in this one.

Nodes are never restarted. A node that ends unexpectedly is reported; the others go on.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import ClientConfig
from falkirk.client.errors import ClientError
from falkirk.server.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.client.feature_metadata import FeatureMetadata
    from falkirk.node.effects import Stop
    from falkirk.server.cluster_layout import ClusterLayout, NodeLayout

START_TIMEOUT_S: Final = 120
_POLL_S: Final = 0.1
_CLIENT: Final = ClientConfig(request_timeout_ms=5_000)


class RunningNode(Protocol):
    """A node that was started."""

    ended: asyncio.Task[Stop]

    def request_shutdown(self) -> None:
        """Ask it to shut down cleanly."""
        ...

    def end_now(self) -> None:
        """End it as it is."""
        ...


class Launcher(Protocol):
    """Starts nodes."""

    async def start(self, node: NodeLayout) -> RunningNode:
        """Start one. Raises ServerError, ConfigError."""
        ...


class Audience(Protocol):
    """Receives the cluster's events."""

    def brokers_joined(self, count: int, total: int) -> None:
        """Receive the number of brokers in the cluster."""

    def ready(self, features: FeatureMetadata) -> None:
        """React when all brokers serve; `features`: as one of them reports them."""

    def node_ended(self, node_id: int, stop: Stop) -> None:
        """React to a node that ended unexpectedly."""

    def stopping(self) -> None:
        """React before the cluster stops."""


@dataclass(eq=False)
class LocalCluster:
    """Runs a layout whose directories are formatted."""

    layout: ClusterLayout
    launcher: Launcher
    audience: Audience
    _running: dict[int, RunningNode] = field(default_factory=dict, init=False)
    _must_stop: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _is_all_well: bool = field(default=True, init=False)

    def request_shutdown(self) -> None:
        """Shut down cleanly; on a second call end all nodes at once."""
        if self._must_stop.is_set():
            self._is_all_well = False
            for node in self._running.values():
                node.end_now()
        self._must_stop.set()

    async def run(self) -> bool:
        """Start all nodes, wait until they serve, then until a shutdown is requested or no node is left.

        Returns whether all of them ended cleanly. Raises ServerError if the cluster does not come up.
        """
        try:
            for node in self.layout.nodes:
                self._running[node.node_id] = await self.launcher.start(node)
            stopping = asyncio.create_task(self._must_stop.wait())
            try:
                features = await self._until_ready(stopping)
                if features is not None:
                    self.audience.ready(features)
                    await self._watch(stopping)
            finally:
                stopping.cancel()
        finally:
            await self._stop()
        return self._is_all_well

    # --- Starting

    async def _until_ready(self, stopping: asyncio.Task[bool]) -> FeatureMetadata | None:
        """Wait until every broker knows all brokers to be alive; None if the cluster is to stop before that."""
        ready = asyncio.create_task(self._all_brokers_joined())
        try:
            ends = [node.ended for node in self._running.values()]
            await asyncio.wait({ready, stopping, *ends}, timeout=START_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED)
            if stopping.done():
                return None
            for node_id, node in self._running.items():
                if node.ended.done():
                    raise ServerError(f"node {node_id} did not start: {_words(node.ended.result())}")
            if not ready.done():
                raise ServerError(f"the cluster did not come up within {START_TIMEOUT_S} s")
            return ready.result()
        finally:
            ready.cancel()

    async def _all_brokers_joined(self) -> FeatureMetadata:
        servers = self.layout.bootstrap_servers
        reported = -1
        async with AsyncExitStack() as admins:
            brokers = [await admins.enter_async_context(AsyncAdmin((server,), _CLIENT)) for server in servers]
            while True:
                # The broker that is furthest behind: after this, any broker answers correctly.
                joined = min([await _alive_brokers(broker) for broker in brokers])
                if joined != reported:
                    reported = joined
                    self.audience.brokers_joined(joined, len(servers))
                if joined == len(servers):
                    return await brokers[0].describe_features()
                await asyncio.sleep(_POLL_S)

    # --- Running

    async def _watch(self, stopping: asyncio.Task[bool]) -> None:
        """Report nodes that end, until a shutdown is requested or none is left."""
        while self._running and not stopping.done():
            ends = {node.ended for node in self._running.values()}
            await asyncio.wait({stopping, *ends}, return_when=asyncio.FIRST_COMPLETED)
            for node_id in [node_id for node_id, node in self._running.items() if node.ended.done()]:
                stop = self._running.pop(node_id).ended.result()
                if not stopping.done():
                    self._is_all_well = False
                    self.audience.node_ended(node_id, stop)

    # --- Stopping

    async def _stop(self) -> None:
        """Stop brokers before the controllers that they need; combined nodes stop together."""
        if not self._running:
            return
        self.audience.stopping()
        controllers = {node.node_id for node in self.layout.controllers}
        if not self.layout.is_combined:
            for node_id in [node_id for node_id in self._running if node_id not in controllers]:
                await self._end([node_id])
        await self._end(list(self._running))

    async def _end(self, node_ids: Sequence[int]) -> None:
        nodes = [self._running[node_id] for node_id in node_ids]
        for node in nodes:
            node.request_shutdown()
        for stop in await asyncio.gather(*(node.ended for node in nodes)):
            self._is_all_well = self._is_all_well and stop.exit_code == 0
        for node_id in node_ids:
            del self._running[node_id]


async def _alive_brokers(broker: AsyncAdmin) -> int:
    """Return how many brokers a broker knows to be alive; 0 while it cannot be reached."""
    try:
        return len((await broker.describe_cluster()).nodes)
    except ClientError:
        return 0


def _words(stop: Stop) -> str:
    return stop.reason or f"it ended with status {stop.exit_code}"
