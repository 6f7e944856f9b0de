"""A driver with a listening socket and a stand-in for its node, for the duration of a test."""

import asyncio
import io
import ssl
from collections.abc import Awaitable, Callable, Sequence

from driven_node import DrivenNode

from falkirk.node.effects import Effect, Stop
from falkirk.node.events import Event
from falkirk.protocol.endpoint import Endpoint
from falkirk.server import process as event_loop
from falkirk.server.clock import Clock
from falkirk.server.connection_limits import ConnectionLimits, LimitSettings
from falkirk.server.fact_log import FactLog, LogFormat, LogLevel
from falkirk.server.garbage_collector import GarbageCollector, Held
from falkirk.server.listener_tls import ListenerTls
from falkirk.server.node_driver import NodeDriver
from falkirk.server.peer import Peer
from falkirk.server.step_meter import StepMeter
from falkirk.zookeeper_node.session.exchange import ZooKeeperEffect

HOUR_MS = 3_600_000
Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NoGarbage(GarbageCollector):
    """Is never due: what else the process of the tests does leaves garbage, too."""

    @property
    def is_due(self) -> bool:
        return False


class Driven:
    """A driver with a listening socket, running as a task."""

    def __init__(
        self,
        node: DrivenNode,
        *,
        meter: StepMeter | None = None,
        garbage: GarbageCollector | None = None,
        limits: ConnectionLimits[Peer] | None = None,
        max_idle_ms: int = HOUR_MS,
        connect_timeout_ms: int = 30_000,
        tls: ListenerTls | None = None,
        zookeeper: Callable[[ZooKeeperEffect], None] | None = None,
    ) -> None:
        self.node = node
        self.log = io.StringIO()
        self.times_started = 0
        self.driver = NodeDriver(
            node,
            clock=Clock(),
            log=FactLog(self.log, LogFormat.TEXT, LogLevel.DEBUG),
            meter=meter or StepMeter(),
            garbage=garbage or NoGarbage(Held),
            limits=limits or ConnectionLimits(LimitSettings()),
            max_idle_ms=max_idle_ms,
            connect_timeout_ms=connect_timeout_ms,
            when_started=self._take_start,
            tls=tls,
            controller_listeners=("CONTROLLER",),
            zookeeper=zookeeper,
        )

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self.driver.fail_with)
        self.server = await loop.create_server(lambda: self.driver.accept("CONTROLLER"), "127.0.0.1", 0)
        self.ended = asyncio.create_task(self.driver.run())

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(*self.server.sockets[0].getsockname())

    async def connect(self, context: ssl.SSLContext | None = None) -> Client:
        return await asyncio.open_connection(*self.endpoint, ssl=context)

    async def stop(self) -> Stop:
        self.driver.request_shutdown()
        return await self.ended

    def _take_start(self) -> None:
        self.times_started += 1


def driven(
    story: Callable[[Driven], Awaitable[None]],
    answer: Callable[[Event], Sequence[Effect] | None] = lambda _: None,
    **options: object,
) -> Driven:
    """Run a story with a driver, which is stopped at the end."""

    async def main() -> Driven:
        world = Driven(DrivenNode(answer), **options)
        await world.start()
        async with asyncio.timeout(60):
            try:
                await story(world)
                if not world.ended.done():
                    await world.stop()
            finally:
                world.server.close()
        return world

    return event_loop.run(main())
