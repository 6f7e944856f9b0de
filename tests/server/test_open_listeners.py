"""Listeners come and go while a node runs."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import pytest

from falkirk.node.config.node_config import Listener
from falkirk.protocol.endpoint import Endpoint
from falkirk.server.listening import bind
from falkirk.server.open_listeners import OpenListeners

if TYPE_CHECKING:
    from falkirk.node.effects import Fact


class Facts:
    def __init__(self) -> None:
        self.events: list[str] = []

    def write(self, fact: Fact) -> None:
        self.events.append(fact.event)


def test_a_listener_that_goes_at_once_is_not_open() -> None:
    facts = Facts()

    async def story() -> None:
        listeners = OpenListeners(lambda _: asyncio.Protocol(), backlog=50, send_buffer_bytes=-1, log=facts)
        listeners.open(a_listener(port))
        listeners.close("OWN")
        await asyncio.sleep(0.05)
        # Its port is free again.
        listeners.open(a_listener(port))
        await asyncio.sleep(0.05)
        listeners.close_all()

    (free,) = bind([a_listener(0)])
    port = free.listener.endpoint.port
    free.socket.close()
    asyncio.run(story())
    assert facts.events == ["listener-opened", "listener-closed", "listener-opened"]


@pytest.mark.parametrize("host", ["a..b", "a" * 64])
def test_a_listener_on_a_host_that_is_no_name_is_told_and_not_opened(host: str) -> None:
    facts = Facts()
    OpenListeners(lambda _: asyncio.Protocol(), backlog=50, send_buffer_bytes=-1, log=facts).open(
        a_listener(9092, host)
    )
    assert facts.events == ["listener-not-opened"]


def send_buffer_of_a_connection(send_buffer_bytes: int) -> int:
    """Return the size of the kernel's buffer, as it counts."""
    sizes: asyncio.Queue[int] = asyncio.Queue()

    class Accepted(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted = transport.get_extra_info("socket")
            sizes.put_nowait(accepted.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF))

    async def story() -> int:
        listeners = OpenListeners(lambda _: Accepted(), backlog=50, send_buffer_bytes=send_buffer_bytes, log=Facts())
        (bound,) = bind([a_listener(0)])
        await listeners.serve([bound])
        _, writer = await asyncio.open_connection(*bound.socket.getsockname())
        size = await sizes.get()
        writer.close()
        listeners.close_all()
        return size

    return asyncio.run(story())


def test_accepted_connections_have_the_configured_send_buffer_or_that_of_the_system() -> None:
    # Linux counts twice what is asked for.
    assert send_buffer_of_a_connection(50_000) == 100_000
    assert send_buffer_of_a_connection(-1) > 100_000


def a_listener(port: int, host: str = "127.0.0.1") -> Listener:
    endpoint = Endpoint(host, port)
    return Listener(
        name="OWN", security_protocol="PLAINTEXT", endpoint=endpoint, advertised=endpoint, is_controller=False
    )
