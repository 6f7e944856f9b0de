"""Brokers of ours on a real ZooKeeper, all on a test's event loop: started, stopped and awaited without sleeping."""

from __future__ import annotations

import asyncio
import io
import random
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zookeeper_server import end_session, kazoo_client

from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import ClientConfig
from falkirk.client.feature_update import FeatureUpdate
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.server import process as event_loop
from falkirk.server.fact_log import FactLog, LogFormat, LogLevel
from falkirk.server.serve_zookeeper import opened_on_zookeeper
from falkirk.versions.release import Release
from falkirk.zookeeper_node.config.properties import read_zookeeper_properties
from falkirk.zookeeper_node.node import ZooKeeperNode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from falkirk.client.feature_metadata import FeatureMetadata
    from falkirk.node.effects import Stop
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.server.node_driver import NodeDriver
    from falkirk.server.zookeeper_session import ZooKeeperSession
    from falkirk.zookeeper_node.config.zookeeper_node_config import ZooKeeperNodeConfig
    from falkirk.zookeeper_node.session.exchange import ZooKeeperEvent

TIMEOUT_S = 60
DOWNGRADE = UpgradeType.SAFE_DOWNGRADE


class LiveNode:
    """One broker. `stop`: how it ended, once it has."""

    def __init__(self, cluster: LiveCluster, node_id: int, release: str, given: dict[str, str]) -> None:
        self.node_id = node_id
        self.log = io.StringIO()
        self.stop: Stop | None = None
        self.is_serving = False
        self._cluster = cluster
        self._release = release
        self._given = given
        self._driver: NodeDriver | None = None
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        properties = read_zookeeper_properties(self._given, Release.parse(self._release), hostname="127.0.0.1")
        log = FactLog(self.log, LogFormat.TEXT, LogLevel.DEBUG)
        with opened_on_zookeeper(properties, self._make, log) as opened:
            self.config = opened.config
            self.endpoint: Endpoint = self.config.listeners[0].endpoint

            def open_zookeeper(tell: Callable[[ZooKeeperEvent], None]) -> ZooKeeperSession:
                self.session = opened.open_zookeeper(tell)
                return self.session

            try:
                watched = replace(opened, open_zookeeper=open_zookeeper)
                self.stop = await watched.run(self._serves, self._receive_driver)
            finally:
                self._cluster.look()

    def _make(self, config: ZooKeeperNodeConfig, now_ms: int) -> ZooKeeperNode:
        self.node = _WatchedNode(self._cluster.look, config, now_ms)
        return self.node

    def _serves(self, _config: object) -> None:
        self.is_serving = True

    def _receive_driver(self, driver: NodeDriver) -> None:
        self._driver = driver

    async def end(self) -> Stop:
        """Ask it to stop, and wait."""
        assert self._driver is not None
        self._driver.request_shutdown()
        return await self.ended()

    async def ended(self) -> Stop:
        """Wait until it has ended."""
        await asyncio.wait_for(self.task, TIMEOUT_S)
        assert self.stop is not None
        return self.stop

    @property
    def epoch(self) -> int:
        """The epoch that it reports to clients."""
        return self.node.membership.finalized_features.epoch

    @property
    def levels(self) -> dict[str, tuple[int, int]]:
        """The finalized features that it reports: minimum and maximum level of each."""
        known = self.node.membership.finalized_features.levels
        return {name: (found.min_level, found.max_level) for name, found in known.items()}

    @property
    def client_id(self) -> tuple[int, bytes]:
        """Its session id and password, with which another client can end the session."""
        return self.session._current._client.client_id


class _WatchedNode(ZooKeeperNode):
    """Signals after each step."""

    def __init__(self, look: Callable[[], None], config: ZooKeeperNodeConfig, now_ms: int) -> None:
        super().__init__(config, random=random.SystemRandom(), now_ms=now_ms)
        self._look = look

    def step(self, events: Any, now_ms: int) -> Any:
        effects = super().step(events, now_ms)
        self._look()
        return effects


class LiveCluster:
    """Brokers on one ZooKeeper. `defaults` are properties of each."""

    def __init__(self, connect: str, **defaults: str) -> None:
        self.connect = connect
        # As whom clients ask.
        self.client = ClientConfig()
        self.nodes: dict[int, LiveNode] = {}
        self.times_started = 0
        self._defaults = defaults
        self._looked = asyncio.Event()

    def begin(
        self, node_id: int, *, release: str = "3.9", properties: Mapping[str, str] | None = None, **changed: str
    ) -> LiveNode:
        """Start a broker; one with its id must have ended. `changed`: property keys with _ for dots."""
        given = {
            "broker.id": str(node_id),
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "zookeeper.connect": self.connect,
            "zookeeper.session.timeout.ms": "6000",
        }
        given |= {name.replace("_", "."): value for name, value in (self._defaults | changed).items()}
        given |= properties or {}
        self.times_started += 1
        node = LiveNode(self, node_id, release, given)
        self.nodes[node_id] = node
        return node

    async def start(self, *node_ids: int, **changed: Any) -> None:
        """Start brokers; wait until they serve and know the finalized features, or that there are none."""
        for node_id in node_ids:
            self.begin(node_id, **changed)
        await self.until(lambda: self.has_joined(*node_ids))

    def has_joined(self, *node_ids: int) -> bool:
        """True if these serve, and each knows the others and the controller."""
        for node_id in node_ids:
            node = self.nodes[node_id]
            assert node.stop is None, node.stop
        return all(
            (node := self.nodes[node_id]).is_serving
            and set(node_ids) <= set(node.node.membership.brokers.brokers)
            and self.controller is not None
            # One that has lost the election knows no controller until it has read who won.
            and node.node.membership.role.controller_id == self.controller.node_id
            for node_id in node_ids
        )

    async def restart(self, node_id: int, **changed: Any) -> None:
        """Stop a broker in order and start it again."""
        assert (await self.nodes[node_id].end()).exit_code == 0
        await self.start(node_id, **changed)

    @property
    def controller(self) -> LiveNode | None:
        """The node that considers itself the controller."""
        active = (node for node in self.nodes.values() if node.stop is None and node.is_serving)
        return next((node for node in active if node.node.is_active_controller), None)

    def look(self) -> None:
        """Wake all waiters."""
        self._looked.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for a condition, which is checked after each step of a node."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                while not holds():
                    self._looked.clear()
                    await self._looked.wait()
        except TimeoutError:
            logs = "\n".join(f"--- node {node.node_id}\n{node.log.getvalue()}" for node in self.nodes.values())
            raise AssertionError(f"it did not come:\n{logs}") from None

    async def until_epoch(self, epoch: int) -> None:
        """Wait until all running nodes report this epoch or a later one."""
        await self.until(lambda: all(node.epoch >= epoch for node in self.nodes.values() if node.stop is None))

    # --- What clients and strangers do

    async def update(self, timeout_ms: int = 30_000, /, **levels: int) -> dict[str, tuple[int, str] | None]:
        """Send updates through any broker; a negative level is a downgrade to it, 0 a deletion."""
        updates = {
            name: FeatureUpdate(abs(level), UpgradeType.UPGRADE if level > 0 else DOWNGRADE)
            for name, level in levels.items()
        }
        async with AsyncAdmin([self._any().endpoint], self.client) as admin:
            result = await admin.update_features(updates, timeout_ms=timeout_ms)
        return {
            name: None if failure is None else (failure.error_code, failure.message or "")
            for name, failure in result.values.items()
        }

    async def reported_by(self, node_id: int) -> FeatureMetadata:
        """Read the features that one broker reports (ApiVersions)."""
        async with AsyncAdmin([self.nodes[node_id].endpoint], self.client) as admin:
            return await admin.describe_features()

    def _any(self) -> LiveNode:
        return next(node for node in self.nodes.values() if node.stop is None and node.is_serving)

    async def by_hand(self, change: Callable[[Any], Any]) -> Any:
        """Do something with a separate ZooKeeper client, below the chroot."""

        def work() -> Any:
            with kazoo_client(self.connect) as client:
                return change(client)

        return await asyncio.to_thread(work)

    async def expire(self, node: LiveNode) -> None:
        """End a broker's session as if it had expired."""
        await asyncio.to_thread(end_session, self.connect, *node.client_id)


@asynccontextmanager
async def live_cluster(connect: str, **defaults: str) -> AsyncIterator[LiveCluster]:
    """Yield a cluster; all of its brokers end with the block."""
    cluster = LiveCluster(connect, **defaults)
    try:
        yield cluster
    finally:
        for node in cluster.nodes.values():
            if not node.task.done() and node._driver is not None:
                node._driver.request_shutdown()
        await asyncio.wait_for(asyncio.gather(*(node.task for node in cluster.nodes.values())), TIMEOUT_S)


def run(story: Callable[[], Awaitable[None]]) -> None:
    """Run a story on an event loop like that of `falkirk serve`."""
    event_loop.run(story())
