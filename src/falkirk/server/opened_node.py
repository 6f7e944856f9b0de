"""A node that is ready to run, of any kind: driven on a loop until it stops, with its signal handlers."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from falkirk.node.config.node_config import NodeConfig
from falkirk.node.config.server_properties import read_server_properties
from falkirk.node.effects import Fact, Reconfigured, Stop
from falkirk.server import process
from falkirk.server.connection_limits import ConnectionLimits, LimitSettings
from falkirk.server.errors import ServerError
from falkirk.server.feature_update_facts import FeatureUpdateFacts
from falkirk.server.garbage_collector import GarbageCollector, held_by
from falkirk.server.listener_tls import ListenerTls
from falkirk.server.metrics_listener import serve_metrics
from falkirk.server.node_driver import DrivenNode, NodeDriver
from falkirk.server.open_listeners import OpenListeners
from falkirk.server.step_meter import StepMeter
from falkirk.zookeeper_node.config.zookeeper_node_config import ZooKeeperNodeConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from falkirk.node.measurements import Measurements
    from falkirk.server.clock import Clock
    from falkirk.server.fact_log import FactLog
    from falkirk.server.node_sockets import NodeSockets
    from falkirk.server.request_log import RequestLog
    from falkirk.server.zookeeper_session import ZooKeeperSession
    from falkirk.slices import Slices
    from falkirk.versions.configs.definition import Value
    from falkirk.zookeeper_node.session.exchange import ZooKeeperEffect, ZooKeeperEvent

C = TypeVar("C", NodeConfig, ZooKeeperNodeConfig)


class MeasuredNode(DrivenNode, Protocol):
    """A node that can be measured."""

    def measure_slices(self) -> Slices[Measurements]:
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
        listeners = OpenListeners(
            driver.accept,
            backlog=_number(self.values["socket.listen.backlog.size"]),
            send_buffer_bytes=_number(self.values["socket.send.buffer.bytes"]),
            log=self.log,
        )
        driver.when_reconfigured = partial(self._reconfigure, driver, listeners)
        if self.open_zookeeper is not None:
            zookeeper = self.open_zookeeper(driver.tell)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(driver.fail_with)
        when_driven(driver)
        metrics: asyncio.AbstractServer | None = None
        try:
            if self.sockets.metrics is not None and updates is not None:
                metrics = await serve_metrics(self.sockets.metrics, self.node.measure_slices, updates, meter)
            await listeners.serve(self.sockets.listeners)
            return await driver.run()
        except Exception as error:  # noqa: BLE001 - the outermost place: what nobody expected ends the node, and is told
            self.log.write_bug(error)
            return Stop(1, f"{type(error).__name__}: {error}")
        finally:
            listeners.close_all()
            if metrics is not None:
                metrics.close()
            if zookeeper is not None:
                await zookeeper.close()

    def _driver(
        self,
        when_serving: Callable[[C], None],
        updates: FeatureUpdateFacts | None,
        ask_zookeeper: Callable[[ZooKeeperEffect], None],
        meter: StepMeter,
    ) -> NodeDriver:
        return NodeDriver(
            self.node,
            clock=self.clock,
            log=self.log,
            meter=meter,
            garbage=GarbageCollector(partial(held_by, self.node)),
            limits=ConnectionLimits(self._limits(self.values, self.config.properties, self._names)),
            max_idle_ms=self.config.connections_max_idle_ms,
            connect_timeout_ms=_number(self.values["socket.connection.setup.timeout.ms"]),
            when_started=partial(self._started, when_serving),
            request_log=self.request_log,
            updates=updates,
            tls=self.tls,
            controller_listeners=self._controllers,
            zookeeper=ask_zookeeper,
        )

    @property
    def _names(self) -> list[str]:
        return [one.listener.name for one in self.sockets.listeners]

    @property
    def _controllers(self) -> frozenset[str]:
        return frozenset(one.listener.name for one in self.sockets.listeners if one.listener.is_controller)

    def _limits(
        self, values: Mapping[str, Value], properties: Mapping[str, str], listeners: Iterable[str]
    ) -> LimitSettings:
        inter_broker = _inter_broker_listener(self.config)
        return LimitSettings.of(values, properties, listeners, controllers=self._controllers, inter_broker=inter_broker)

    def _reconfigure(self, driver: NodeDriver, listeners: OpenListeners, change: Reconfigured) -> None:
        """Apply limits of connections, TLS contexts, and listeners that come and go."""
        assert isinstance(self.config, NodeConfig), "others have no dynamic configs"
        properties = read_server_properties(change.properties, self.config.release, hostname="localhost")
        config = properties.config
        driver.admission.change(
            self._limits(properties.values, change.properties, [one.name for one in config.listeners])
        )
        for name in change.closed:
            listeners.close(name)
            driver.close_listener(name)
        try:
            met = (config.controller_listener_names[0], config.inter_broker_listener_name)
            driver.change_tls(ListenerTls.of(properties, met=met))
        except ServerError as error:
            # Without its certificate a listener must not be open.
            self.log.write(Fact("error", "broker-configs-not-applied", {"reason": str(error)}))
            return
        for listener in config.listeners:
            if listener.name in change.opened:
                listeners.open(listener)

    def _started(self, when_serving: Callable[[C], None]) -> None:
        self.log.write(Fact("info", f"[{self.name}] Kafka Server started"))
        when_serving(self.config)


def _inter_broker_listener(config: NodeConfig | ZooKeeperNodeConfig) -> str | None:
    return config.inter_broker_listener_name if isinstance(config, NodeConfig) else None


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value


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
