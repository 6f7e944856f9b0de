"""Brokers on ZooKeeper with real sockets and our driver; the ZooKeeper is in memory, or a real one."""

from __future__ import annotations

import asyncio
import io
import random
import threading
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from zookeeper_server import kazoo_client
from zookeeper_world import write_by_hand

from falkirk.metadata.zookeeper.features_znode import decode_features, encode_features
from falkirk.metadata.zookeeper.finalized_features import FeatureState
from falkirk.node.effects import Stop
from falkirk.server.fact_log import FactLog, LogFormat, LogLevel
from falkirk.server.serve_zookeeper import opened_on_zookeeper
from falkirk.simulation.zookeeper.world.ensemble import Ensemble
from falkirk.versions.release import Release
from falkirk.zookeeper_node.config.properties import read_zookeeper_properties
from falkirk.zookeeper_node.config.zookeeper_node_config import FEATURES_PATH
from falkirk.zookeeper_node.node import ZooKeeperNode
from falkirk.zookeeper_node.session.exchange import (
    AskZooKeeper,
    CloseSession,
    OpenSession,
    SessionChanged,
    SessionState,
    ZnodeChanged,
    ZooKeeperAnswered,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from falkirk.metadata.zookeeper.finalized_features import FinalizedRange, Supported
    from falkirk.server.node_driver import NodeDriver
    from falkirk.server.opened_node import OpenedNode
    from falkirk.server.zookeeper_session import ZooKeeperSession
    from falkirk.zookeeper_node.config.zookeeper_node_config import ZooKeeperNodeConfig
    from falkirk.zookeeper_node.session.exchange import ZooKeeperEffect, ZooKeeperEvent

_SESSION_TIMEOUT_MS = 18_000


class Kip584Brokers:
    """Brokers 1 and 2 of a release. `/features` is written until its version is `epoch`."""

    def __init__(
        self,
        supported: Supported,
        finalized: Mapping[str, FinalizedRange],
        *,
        epoch: int = 1,
        release: str = "3.9",
        zookeeper: ValuesOfZooKeeper | RealZooKeeper | None = None,
    ) -> None:
        self._zookeeper = ValuesOfZooKeeper() if zookeeper is None else zookeeper
        self.said = io.StringIO()
        self._release = Release.parse(release)
        self._supported = ",".join(f"{name}:{levels}" for name, levels in supported.items())
        self._loop: asyncio.AbstractEventLoop | None = None
        self._drivers: list[NodeDriver] = []
        self._endpoints: dict[int, str] = {}
        for _ in range(epoch + 1):
            state = FeatureState(is_enabled=True, features=finalized)
            self._zookeeper.write(FEATURES_PATH, encode_features(state, kip_778=False))

    @property
    def servers(self) -> str:
        """The addresses, as for --bootstrap-server."""
        return ",".join(endpoint for _, endpoint in sorted(self._endpoints.items()))

    @property
    def levels(self) -> dict[str, int]:
        """Return the finalized max levels in ZooKeeper."""
        features = decode_features(self._zookeeper.read(FEATURES_PATH), FEATURES_PATH).features
        return {name: levels.max_level for name, levels in features.items()}

    @contextmanager
    def running(self) -> Iterator[Kip584Brokers]:
        """Serve in a thread."""
        serving: Future[None] = Future()
        thread = threading.Thread(target=self._run, args=(serving,))
        thread.start()
        try:
            serving.result(30)
            yield self
        finally:
            assert self._loop is not None
            for driver in self._drivers:
                self._loop.call_soon_threadsafe(driver.stop, Stop(0))
            thread.join()

    def _run(self, serving: Future[None]) -> None:
        try:
            asyncio.run(self._serve(lambda: serving.set_result(None)))
            assert serving.done(), self.said.getvalue()
        except Exception as error:
            if serving.done():
                raise
            serving.set_exception(error)

    async def _serve(self, when_all_serve: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()

        def serves(config: ZooKeeperNodeConfig) -> None:
            self._endpoints[config.node_id] = str(config.listeners[0].endpoint)
            if len(self._endpoints) == 2:
                when_all_serve()

        with ExitStack() as opened:
            nodes = [opened.enter_context(self._opened(node_id)) for node_id in (1, 2)]
            await asyncio.gather(*(node.run(serves, self._drivers.append) for node in nodes))

    @contextmanager
    def _opened(self, node_id: int) -> Iterator[OpenedNode[ZooKeeperNodeConfig]]:
        properties = read_zookeeper_properties(
            {
                "broker.id": str(node_id),
                "zookeeper.connect": self._zookeeper.connect,
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "falkirk.supported.features": self._supported,
            },
            self._release,
            hostname="127.0.0.1",
        )
        log = FactLog(self.said, LogFormat.TEXT, LogLevel.INFO)
        make_node = partial(ZooKeeperNode, random=random.Random(node_id))
        with opened_on_zookeeper(properties, lambda config, now_ms: make_node(config, now_ms=now_ms), log) as node:
            yield self._zookeeper.put_below(node)


class ValuesOfZooKeeper:
    """An in-memory ZooKeeper that never fails."""

    connect = "zookeeper:2181"

    def __init__(self) -> None:
        self.ensemble = Ensemble()

    def write(self, path: str, data: bytes) -> None:
        write_by_hand(self.ensemble, path, data)

    def read(self, path: str) -> bytes:
        znode = self.ensemble.znode(path)
        assert znode is not None
        return znode.data

    def put_below(self, node: OpenedNode[ZooKeeperNodeConfig]) -> OpenedNode[ZooKeeperNodeConfig]:
        def open_session(tell: Callable[[ZooKeeperEvent], None]) -> ZooKeeperSession:
            return cast("ZooKeeperSession", _SessionOfValues(self.ensemble, tell))

        return replace(node, open_zookeeper=open_session)


class RealZooKeeper:
    """A running ZooKeeper; `connect`: with the chroot of the test."""

    def __init__(self, connect: str) -> None:
        self.connect = connect

    def write(self, path: str, data: bytes) -> None:
        with kazoo_client(self.connect) as client:
            if client.exists(path) is None:
                client.create(path, data)
            else:
                client.set(path, data)

    def read(self, path: str) -> bytes:
        with kazoo_client(self.connect) as client:
            return client.get(path)[0]

    def put_below(self, node: OpenedNode[ZooKeeperNodeConfig]) -> OpenedNode[ZooKeeperNodeConfig]:
        return node


class _SessionOfValues:
    """Has the interface of ZooKeeperSession."""

    def __init__(self, ensemble: Ensemble, tell: Callable[[ZooKeeperEvent], None]) -> None:
        self._ensemble = ensemble
        self._tell = tell
        self._session_id = 0

    def execute(self, effect: ZooKeeperEffect) -> None:
        match effect:
            case OpenSession():
                self._session_id = self._ensemble.open_session(_SESSION_TIMEOUT_MS, 0, self._notify)
                self._tell(SessionChanged(SessionState.CONNECTED, self._session_id))
            case AskZooKeeper(request_id, operation):
                self._tell(ZooKeeperAnswered(request_id, self._ensemble.ask(self._session_id, operation)))
            case CloseSession():
                self._ensemble.end_session(self._session_id)

    async def close(self) -> None:
        self._ensemble.end_session(self._session_id)

    def _notify(self, path: str) -> None:
        self._tell(ZnodeChanged(path))
