"""One node from its configuration to its end: sockets, locks, the node, signals."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from falkirk.node.effects import Fact, Stop
from falkirk.node.errors import StartupError
from falkirk.server import event_loop, listening
from falkirk.server.clock import Clock
from falkirk.server.connection_limits import ConnectionLimits
from falkirk.server.errors import ServerError
from falkirk.server.log_dir_locks import LogDirLocks
from falkirk.server.node_driver import NodeDriver
from falkirk.server.startup_checks import check_is_served
from falkirk.storage.meta_properties import FILE_NAME
from falkirk.storage.posix_disk import PosixDisk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.node.config import NodeConfig
    from falkirk.node.server_properties import ServerProperties
    from falkirk.server.fact_log import FactLog
    from falkirk.server.listening import ListeningSocket
    from falkirk.server.node_driver import DrivenNode
    from falkirk.server.request_log import RequestLog


class MakeNode(Protocol):
    """Opens a node's directories. Raises StartupError if they are not as they must be."""

    def __call__(self, config: NodeConfig, now_ms: int) -> DrivenNode:
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
    """Run a node until it stops. `when_serving` is told the configuration, with the ports that listeners got.

    Raises ServerError if it cannot start: then its directories are as they were.
    """
    config = properties.config
    check_is_served(config)
    sockets = listening.bind(config.listeners)
    locks = LogDirLocks()
    try:
        bound = replace(
            config,
            listeners=tuple(one.listener for one in sockets),
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
        return event_loop.run(
            _drive(
                node,
                properties,
                config=bound,
                sockets=sockets,
                clock=clock,
                log=log,
                when_serving=when_serving,
                request_log=request_log,
            )
        )
    finally:
        locks.release()
        listening.close(sockets)


def _lock(locks: LogDirLocks, config: NodeConfig) -> None:
    """Lock the directories that are formatted: one that is not stays untouched, and the node will refuse it."""
    disk = PosixDisk()
    log_dirs = {*config.log_dirs, config.metadata_log_dir}
    locks.acquire(log_dir for log_dir in log_dirs if disk.exists(f"{log_dir}/{FILE_NAME}"))


async def _drive(
    node: DrivenNode,
    properties: ServerProperties,
    *,
    config: NodeConfig,
    sockets: Sequence[ListeningSocket],
    clock: Clock,
    log: FactLog,
    when_serving: Callable[[NodeConfig], None],
    request_log: RequestLog | None,
) -> Stop:
    connect_timeout_ms, backlog = (
        properties.values[key] for key in ("socket.connection.setup.timeout.ms", "socket.listen.backlog.size")
    )
    assert isinstance(connect_timeout_ms, int)
    assert isinstance(backlog, int)
    driver = NodeDriver(
        node,
        clock=clock,
        log=log,
        limits=ConnectionLimits.of(properties.values),
        max_idle_ms=config.connections_max_idle_ms,
        connect_timeout_ms=connect_timeout_ms,
        request_log=request_log,
    )
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(driver.fail_with)
    _stop_on_signals(loop, driver, log)
    servers = []
    try:
        for one in sockets:
            accept = partial(driver.accept, one.listener.name)
            servers.append(await loop.create_server(accept, sock=one.socket, backlog=backlog))
        log.write(Fact("info", f"[KafkaRaftServer nodeId={config.node_id}] Kafka Server started"))
        when_serving(config)
        return await driver.run()
    except Exception as error:  # noqa: BLE001 - the outermost place: what nobody expected ends the node, and is told
        log.write_bug(error)
        return Stop(1, f"{type(error).__name__}: {error}")
    finally:
        # All of them: uvloop's loop does not end while one listens.
        for server in servers:
            server.close()


def _stop_on_signals(loop: asyncio.AbstractEventLoop, driver: NodeDriver, log: FactLog) -> None:
    """Let the first signal ask the node to stop, and a second one end it."""
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
