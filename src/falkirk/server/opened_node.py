"""A node that is ready to run, of any kind: driven on a loop until it stops, with its signal handlers."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from falkirk.node.config.node_config import NodeConfig
from falkirk.node.effects import Fact, Stop
from falkirk.server import process
from falkirk.server.connection_limits import ConnectionLimits
from falkirk.server.feature_update_facts import FeatureUpdateFacts
from falkirk.server.garbage_collector import GarbageCollector
from falkirk.server.metrics_listener import serve_metrics
from falkirk.server.node_driver import DrivenNode, NodeDriver
from falkirk.server.step_meter import StepMeter
from falkirk.zookeeper_node.config.zookeeper_node_config import ZooKeeperNodeConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.node.measurements import Measurements
    from falkirk.server.clock import Clock
    from falkirk.server.fact_log import FactLog
    from falkirk.server.listener_tls import ListenerTls
    from falkirk.server.node_sockets import NodeSockets
    from falkirk.server.request_log import RequestLog
    from falkirk.server.zookeeper_session import ZooKeeperSession
    from falkirk.versions.configs.definition import Value
    from falkirk.zookeeper_node.session.exchange import ZooKeeperEffect, ZooKeeperEvent

C = TypeVar("C", NodeConfig, ZooKeeperNodeConfig)


class MeasuredNode(DrivenNode, Protocol):
    """A node that can be measured."""

    def measure(self) -> Measurements:
        """Return its current measurements."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedNode(Generic[C]):
    """A node that is ready to run. `config` has the actual ports of listeners.

    `name`: as in Kafka's log. `open_zookeeper` gets the callback for ZooKeeper's events.
    """

    node: MeasuredNode
    name: str
    values: Mapping[str, Value]
    config: C
    sockets: NodeSockets
    clock: Clock
    log: FactLog
    request_log: RequestLog | None
    tls: ListenerTls
    open_zookeeper: Callable[[Callable[[ZooKeeperEvent], None]], ZooKeeperSession] | None = None

    def run_alone(self, when_serving: Callable[[C], None]) -> Stop:
        """Run it to its end on its own loop: the first signal shuts it down, a second one ends it."""
        return process.run(self.run(when_serving, partial(_stop_on_signals, self.log)))

    async def run(self, when_serving: Callable[[C], None], when_driven: Callable[[NodeDriver], None]) -> Stop:
        """Run it to its end; `when_driven` gets the driver, by which to stop it. It may share a loop with others."""
        updates = None if self.sockets.metrics is None else FeatureUpdateFacts()
        zookeeper: ZooKeeperSession | None = None

        def ask_zookeeper(effect: ZooKeeperEffect) -> None:
            assert zookeeper is not None
            zookeeper.execute(effect)

        meter = StepMeter()
        driver = self._driver(when_serving, updates, ask_zookeeper, meter)
        if self.open_zookeeper is not None:
            zookeeper = self.open_zookeeper(driver.tell)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(driver.fail_with)
        when_driven(driver)
        servers: list[asyncio.AbstractServer] = []
        try:
            if self.sockets.metrics is not None and updates is not None:
                servers.append(await serve_metrics(self.sockets.metrics, self.node.measure, updates, meter))
            for one in self.sockets.listeners:
                accept = partial(driver.accept, one.listener.name)
                servers.append(await loop.create_server(accept, sock=one.socket, backlog=self._backlog))
            return await driver.run()
        except Exception as error:  # noqa: BLE001 - the outermost place: what nobody expected ends the node, and is told
            self.log.write_bug(error)
            return Stop(1, f"{type(error).__name__}: {error}")
        finally:
            # Close all of them: uvloop's loop does not end while a server listens.
            for server in servers:
                server.close()
            if zookeeper is not None:
                await zookeeper.close()

    def _driver(
        self,
        when_serving: Callable[[C], None],
        updates: FeatureUpdateFacts | None,
        ask_zookeeper: Callable[[ZooKeeperEffect], None],
        meter: StepMeter,
    ) -> NodeDriver:
        connect_timeout_ms = self.values["socket.connection.setup.timeout.ms"]
        assert isinstance(connect_timeout_ms, int)
        return NodeDriver(
            self.node,
            clock=self.clock,
            log=self.log,
            meter=meter,
            garbage=GarbageCollector(),
            limits=ConnectionLimits.of(self.values),
            max_idle_ms=self.config.connections_max_idle_ms,
            connect_timeout_ms=connect_timeout_ms,
            when_started=partial(self._started, when_serving),
            request_log=self.request_log,
            updates=updates,
            tls=self.tls,
            controller_listeners=[one.listener.name for one in self.sockets.listeners if one.listener.is_controller],
            zookeeper=ask_zookeeper,
        )

    @property
    def _backlog(self) -> int:
        backlog = self.values["socket.listen.backlog.size"]
        assert isinstance(backlog, int)
        return backlog

    def _started(self, when_serving: Callable[[C], None]) -> None:
        self.log.write(Fact("info", f"[{self.name}] Kafka Server started"))
        when_serving(self.config)


def _stop_on_signals(log: FactLog, driver: NodeDriver) -> None:
    """Let the first signal ask the node to stop, and a second one end it."""
    loop = asyncio.get_running_loop()
    must_stop = False

    def on_signal(number: signal.Signals) -> None:
        nonlocal must_stop
        log.write(Fact("info", "shutdown requested", {"signal": number.name}))
        if must_stop:
            driver.stop(Stop(1, f"{number.name} for the second time: the node has not ended its work"))
        must_stop = True
        driver.request_shutdown()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
