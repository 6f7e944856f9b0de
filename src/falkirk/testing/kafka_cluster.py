"""A Kafka cluster in this process, for tests: nodes of any release, rolls, TLS and SASL, nodes that die, cut links.

All nodes share one thread with an event loop of its own; the caller's thread stays free. Calls return when what they
ask for is done, and raise ClusterError if it is not within a minute.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.server_properties import read_server_properties
from falkirk.node.node import Node
from falkirk.server.cluster_layout import (
    HOST,
    PROPERTIES,
    NodeLayout,
    new_layout,
    node_home,
    with_ports,
    write_cluster,
)
from falkirk.server.fact_log import FactLog, LogFormat, LogLevel
from falkirk.server.local_nodes import LOG_FILE, NodeTask
from falkirk.server.serve import opened
from falkirk.storage.posix_disk import PosixDisk
from falkirk.storage.properties_file import parse_properties
from falkirk.testing.errors import ClusterError
from falkirk.testing.node_network import NodeLoop, NodeNetwork, running_node
from falkirk.testing.security import secured
from falkirk.versions.release import Release, all_releases

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from types import TracebackType

    from falkirk.node.config.node_config import NodeConfig

_TIMEOUT_S: Final = 60
_AGES: Final = {release: age for age, release in enumerate(all_releases())}
_POLL_S: Final = 0.01
# Nodes of one process need not wait for each other as those of a network do; topics of coordinators are small, so that
# the first group and the first transaction do not wait for fifty partitions.
_QUICK: Final = {
    "controller.quorum.election.timeout.ms": "150",
    "controller.quorum.election.backoff.max.ms": "100",
    "controller.quorum.fetch.timeout.ms": "1000",
    "broker.heartbeat.interval.ms": "300",
    "broker.session.timeout.ms": "3000",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
}


@dataclass(eq=False)
class _Running:
    """A node that runs: its task, the node itself, and what it holds open."""

    task: NodeTask
    node: Node
    held: ExitStack


class KafkaCluster:
    """A cluster of `nodes` nodes, each broker and controller. A `with` block starts it, and stops it at its end.

    `release`: that of all nodes, or one for each. `security`: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, of
    clients and between brokers. `properties` are added to every node's server.properties.
    """

    def __init__(
        self,
        *,
        release: str | Sequence[str] = "4.3",
        nodes: int = 1,
        security: str = "PLAINTEXT",
        properties: Mapping[str, str] | None = None,
    ) -> None:
        releases = [release] * nodes if isinstance(release, str) else list(release)
        if not isinstance(release, str) and nodes not in {1, len(releases)}:
            raise ClusterError(f"{len(releases)} releases for {nodes} nodes")
        self.directory = Path(tempfile.mkdtemp(prefix="falkirk-test-"))
        self.security, secured_properties = secured(security, self.directory)
        oldest = min((Release.parse(name) for name in releases), key=_AGES.__getitem__)
        layout = new_layout(oldest, brokers=len(releases), controllers=None, random=random.SystemRandom())
        self._layout = with_ports(layout, None)
        self._properties = _QUICK | secured_properties | dict(properties or {})
        self.releases = dict(enumerate(releases, start=1))
        self._network = NodeNetwork()
        self._running: dict[int, _Running] = {}
        self._loop = NodeLoop(self._network)
        self._thread = threading.Thread(target=self._run_loop, name="falkirk-test-cluster", daemon=True)

    @property
    def bootstrap_servers(self) -> str:
        """Where clients connect."""
        return self.servers_of(*self.releases)

    def servers_of(self, *node_ids: int) -> str:
        """Return where clients connect to these nodes."""
        return ",".join(f"{HOST}:{self._node(node_id).broker_port}" for node_id in node_ids)

    @property
    def cluster_id(self) -> str:
        """The cluster's id."""
        return self._layout.cluster_id

    def __enter__(self) -> Self:
        try:
            self._thread.start()
            now_ms = time.time_ns() // 1_000_000
            write_cluster(self.directory, self._layout, self._properties, random=random.SystemRandom(), now_ms=now_ms)
            self._call(self._start_all())
            self.wait_until_in_sync()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all nodes at once, and remove their directories."""
        if self._thread.is_alive():
            self._call(self._end_all())
            self._call(_end_accepting())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    # --- Nodes

    def log(self, node_id: int) -> str:
        """Return what a node has logged."""
        return (node_home(self.directory, self._node(node_id)) / LOG_FILE).read_text(encoding="utf-8")

    def kill(self, node_id: int) -> None:
        """End a node as it is, without a word to the others."""
        self._call(self._end(self._node(node_id), is_clean=False))

    def stop(self, node_id: int) -> None:
        """Shut a node down cleanly."""
        self._call(self._end(self._node(node_id), is_clean=True))

    def start(self, node_id: int, *, release: str | None = None) -> None:
        """Start a node that was killed or stopped, as it was or as another release, and wait until it is in sync."""
        if node_id in self._running:
            raise ClusterError(f"node {node_id} runs")
        if release is not None:
            self.releases[node_id] = release
        self._call(self._start(self._node(node_id)))
        self.wait_until_in_sync()

    def roll(self, release: str) -> None:
        """Restart one node after the other as a release. Levels stay; `falkirk features` moves them."""
        for node_id in self.releases:
            if node_id in self._running:
                self.stop(node_id)
            self.start(node_id, release=release)

    # --- Links

    def partition(self, side: int | Sequence[int], other_side: Sequence[int] | None = None) -> None:
        """Cut the nodes of one side off from those of the other, by default from all others; clients reach both."""
        nodes = [side] if isinstance(side, int) else list(side)
        others = other_side if other_side is not None else [each for each in self.releases if each not in nodes]
        self._call(_done(partial(self._network.cut, nodes, others)))

    def heal(self) -> None:
        """Let cut links work again."""
        self._call(_done(self._network.heal))

    # --- States

    def active_controller(self) -> int | None:
        """Return the active controller; None while there is none."""
        leading = (node_id for node_id, running in self._running.items() if running.node.is_active_controller)
        return next(leading, None)

    def wait_until_in_sync(self) -> None:
        """Wait until all running brokers serve, and the ISR of each partition has all replicas that run."""
        deadline = time.monotonic() + _TIMEOUT_S
        while not self._call(_done(self._are_in_sync)):
            self._check()
            if time.monotonic() > deadline:
                raise ClusterError(f"nodes {sorted(self._running)} were not in sync within {_TIMEOUT_S} s")
            time.sleep(_POLL_S)

    def _check(self) -> None:
        for node_id, running in self._running.items():
            if running.task.ended.done():
                raise ClusterError(f"node {node_id} has ended: {running.task.ended.result().reason}")

    def _are_in_sync(self) -> bool:
        for running in self._running.values():
            broker, image = running.node.broker, running.node.image
            if broker is None or broker.state is not BrokerState.RUNNING:
                return False
            for node_id in self._running:
                registered = image.cluster.brokers.get(node_id)
                if registered is None or registered.fenced:
                    return False
            for topic in image.topics:
                for partition in topic.partitions:
                    if any(each in self._running and each not in partition.isr for each in partition.replicas):
                        return False
        return True

    # --- On the loop

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _call(self, work: Coroutine[Any, Any, Any]) -> Any:  # Any: what the coroutine returns
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        return future.result(timeout=_TIMEOUT_S)

    async def _start_all(self) -> None:
        for node in self._layout.nodes:
            await self._start(node)

    async def _start(self, layout: NodeLayout) -> None:
        home = node_home(self.directory, layout)
        file = home / PROPERTIES
        given = parse_properties(file.read_bytes(), file=str(file)).as_dict()
        properties = read_server_properties(given, Release.parse(self.releases[layout.node_id]), hostname=HOST)
        made: list[Node] = []

        def make_node(config: NodeConfig, now_ms: int) -> Node:
            made.append(Node(config, PosixDisk(), random.SystemRandom(), now_ms))
            return made[0]

        held = ExitStack()
        log_file = held.enter_context((home / LOG_FILE).open("a", encoding="utf-8", buffering=1))
        try:
            node = held.enter_context(opened(properties, make_node, FactLog(log_file, LogFormat.TEXT, LogLevel.INFO)))
        except BaseException:
            held.close()
            raise
        ports = [port for port in (layout.broker_port, layout.controller_port) if port is not None]
        self._network.add_node(layout.node_id, ports)
        with running_node(layout.node_id):
            self._running[layout.node_id] = _Running(NodeTask(node), made[0], held)

    async def _end(self, layout: NodeLayout, *, is_clean: bool) -> None:
        running = self._running.pop(layout.node_id, None)
        if running is None:
            raise ClusterError(f"node {layout.node_id} does not run")
        # The task gets its driver with its first step.
        await asyncio.sleep(0)
        with running_node(layout.node_id):
            if is_clean:
                running.task.request_shutdown()
            else:
                running.task.end_now()
        await running.task.ended
        running.held.close()

    async def _end_all(self) -> None:
        for node in self._layout.nodes:
            if node.node_id in self._running:
                await self._end(node, is_clean=False)

    def _node(self, node_id: int) -> NodeLayout:
        for node in self._layout.nodes:
            if node.node_id == node_id:
                return node
        raise ClusterError(f"there is no node {node_id}; nodes are {sorted(self.releases)}")


async def _end_accepting() -> None:
    """Close connections that clients made while their node ended: asyncio has a task for each until it is set up."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    # What is closed is told so in the next round of the loop.
    await asyncio.sleep(0)


async def _done(call: Callable[[], Any]) -> Any:  # Any: what it returns
    return call()
