"""Listeners come and go while a node runs."""

from __future__ import annotations

import asyncio
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
        listeners = OpenListeners(lambda _: asyncio.Protocol(), backlog=50, log=facts)
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
    OpenListeners(lambda _: asyncio.Protocol(), backlog=50, log=facts).open(a_listener(9092, host))
    assert facts.events == ["listener-not-opened"]


def a_listener(port: int, host: str = "127.0.0.1") -> Listener:
    endpoint = Endpoint(host, port)
    return Listener(
        name="OWN", security_protocol="PLAINTEXT", endpoint=endpoint, advertised=endpoint, is_controller=False
    )
