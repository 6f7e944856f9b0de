"""One node from its configuration to its end: sockets, locks, the node, signals."""

from __future__ import annotations

import asyncio
import signal
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from falkirk.node.effects import Fact, Stop
from falkirk.node.errors import StartupError
from falkirk.server import event_loop, listening
from falkirk.server.clock import Clock
from falkirk.server.connection_limits import ConnectionLimits
from falkirk.server.errors import ServerError
from falkirk.server.feature_update_facts import FeatureUpdateFacts
from falkirk.server.listener_tls import ListenerTls
from falkirk.server.log_dir_locks import LogDirLocks
from falkirk.server.metrics_listener import bind_metrics, serve_metrics, shown_address
from falkirk.server.node_driver import DrivenNode, NodeDriver
from falkirk.server.startup_checks import check_is_served, security_settings
from falkirk.storage.meta_properties import FILE_NAME
from falkirk.storage.posix_disk import PosixDisk

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator, Sequence

    from falkirk.node.config import NodeConfig
    from falkirk.node.measurements import Measurements
    from falkirk.node.server_properties import ServerProperties
    from falkirk.server.fact_log import FactLog
    from falkirk.server.listening import ListeningSocket
    from falkirk.server.request_log import RequestLog


class MeasuredNode(DrivenNode, Protocol):
    """What is served: it can be watched."""

    def measure(self) -> Measurements:
        """Give what it is at this moment, in numbers."""
        ...


class MakeNode(Protocol):
    """Opens a node's directories. Raises StartupError if they are not as they must be."""

    def __call__(self, config: NodeConfig, now_ms: int) -> MeasuredNode:
        """Make the node."""
        ...


def serve(
    properties: ServerProperties,
    make_node: MakeNode,
    log: FactLog,
    when_serving: Callable[[NodeConfig], None] = lambda _: None,
    *,
    request_log: RequestLog | None = None,
) -> Stop:
    """Run a node until it stops, by itself or at a signal.

    `when_serving` is told the configuration, with the ports that listeners got; of a broker once it is unfenced.
    Raises ServerError if it cannot start: then its directories are as they were.
    """
    with opened(properties, make_node, log, request_log=request_log) as node:
        return event_loop.run(node.run(when_serving, partial(_stop_on_signals, log)))


@contextmanager
def opened(
    properties: ServerProperties, make_node: MakeNode, log: FactLog, *, request_log: RequestLog | None = None
) -> Iterator[OpenedNode]:
    """Open a node: sockets, locks, directories. Raises ServerError: then its directories are as they were."""
    config = replace(properties.config, security=security_settings(properties))
    check_is_served(config)
    tls = ListenerTls.of(properties)
    sockets = listening.bind(config.listeners)
    locks = LogDirLocks()
    metrics: socket.socket | None = None
    try:
        if config.metrics_listener is not None:
            metrics = bind_metrics(config.metrics_listener)
        bound = replace(
            config,
            listeners=tuple(one.listener for one in sockets),
            metrics_listener=None if metrics is None else shown_address(metrics),
            has_request_facts=request_log is not None,
        )
        _lock(locks, bound)
        clock = Clock()
        try:
            node = make_node(bound, clock.now_ms())
        except BaseException as error:
            locks.release(remove_new=True)
            if isinstance(error, StartupError):
                raise ServerError(str(error)) from error
            raise
        yield OpenedNode(
            node=node,
            properties=properties,
            config=bound,
            sockets=sockets,
            metrics=metrics,
            clock=clock,
            log=log,
            request_log=request_log,
            tls=tls,
        )
    finally:
        locks.release()
        listening.close(sockets)
        if metrics is not None:
            metrics.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedNode:
    """A node that is ready to run. `config` has the ports that listeners got."""

    node: MeasuredNode
    properties: ServerProperties
    config: NodeConfig
    sockets: Sequence[ListeningSocket]
    metrics: socket.socket | None
    clock: Clock
    log: FactLog
    request_log: RequestLog | None
    tls: ListenerTls

    async def run(self, when_serving: Callable[[NodeConfig], None], when_driven: Callable[[NodeDriver], None]) -> Stop:
        """Run it to its end; `when_driven` is told who to ask to stop. It may share a loop with others."""
        connect_timeout_ms, backlog = (
            self.properties.values[key] for key in ("socket.connection.setup.timeout.ms", "socket.listen.backlog.size")
        )
        assert isinstance(connect_timeout_ms, int)
        assert isinstance(backlog, int)
        updates = None if self.metrics is None else FeatureUpdateFacts()
        driver = NodeDriver(
            self.node,
            clock=self.clock,
            log=self.log,
            limits=ConnectionLimits.of(self.properties.values),
            max_idle_ms=self.config.connections_max_idle_ms,
            connect_timeout_ms=connect_timeout_ms,
            when_started=partial(self._started, when_serving),
            request_log=self.request_log,
            updates=updates,
            tls=self.tls,
            controller_listeners=self.config.controller_listener_names,
        )
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(driver.fail_with)
        when_driven(driver)
        servers: list[asyncio.AbstractServer] = []
        try:
            if self.metrics is not None and updates is not None:
                servers.append(await serve_metrics(self.metrics, self.node.measure, updates))
            for one in self.sockets:
                accept = partial(driver.accept, one.listener.name)
                servers.append(await loop.create_server(accept, sock=one.socket, backlog=backlog))
            return await driver.run()
        except Exception as error:  # noqa: BLE001 - the outermost place: what nobody expected ends the node, and is told
            self.log.write_bug(error)
            return Stop(1, f"{type(error).__name__}: {error}")
        finally:
            # All of them: uvloop's loop does not end while one listens.
            for server in servers:
                server.close()

    def _started(self, when_serving: Callable[[NodeConfig], None]) -> None:
        self.log.write(Fact("info", f"[KafkaRaftServer nodeId={self.config.node_id}] Kafka Server started"))
        when_serving(self.config)


def _lock(locks: LogDirLocks, config: NodeConfig) -> None:
    """Lock the directories that are formatted: one that is not stays untouched, and the node will refuse it."""
    disk = PosixDisk()
    log_dirs = {*config.log_dirs, config.metadata_log_dir}
    locks.acquire(log_dir for log_dir in log_dirs if disk.exists(f"{log_dir}/{FILE_NAME}"))


def _stop_on_signals(log: FactLog, driver: NodeDriver) -> None:
    """Let the first signal ask the node to stop, and a second one end it."""
    loop = asyncio.get_running_loop()
    was_asked = False

    def on_signal(number: signal.Signals) -> None:
        nonlocal was_asked
        log.write(Fact("info", "asked to stop", {"signal": number.name}))
        if was_asked:
            driver.stop(Stop(1, f"{number.name} for the second time: the node has not ended its work"))
        was_asked = True
        driver.request_shutdown()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
