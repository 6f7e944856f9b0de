"""The listeners that a node has open: those that it starts with, and those that come and go while it runs."""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from typing import TYPE_CHECKING

from falkirk.node.effects import Fact
from falkirk.server import listening
from falkirk.server.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.node.config.node_config import Listener
    from falkirk.server.fact_log import FactLog
    from falkirk.server.listening import ListeningSocket
    from falkirk.server.peer import Peer


class OpenListeners:
    """`accept` makes the protocol of a connection that a listener accepts.

    `send_buffer_bytes` (socket.send.buffer.bytes): of such a connection in the kernel; -1 is the system's default.
    """

    def __init__(self, accept: Callable[[str], Peer], *, backlog: int, send_buffer_bytes: int, log: FactLog) -> None:
        self._accept = accept
        self._backlog = backlog
        self._send_buffer_bytes = send_buffer_bytes
        self._log = log
        self._servers: dict[str, asyncio.AbstractServer] = {}
        # Those that are bound, and do not accept connections yet.
        self._opening: dict[str, ListeningSocket] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, sockets: Sequence[ListeningSocket]) -> None:
        """Accept connections on bound sockets."""
        for one in sockets:
            self._servers[one.listener.name] = await self._serve(one)

    def open(self, listener: Listener) -> None:
        """Open a listener. One that cannot be bound is logged, as in Kafka, and not open."""
        try:
            (bound,) = listening.bind([listener])
        except ServerError as error:
            self._log.write(Fact("error", "listener-not-opened", {"listener": listener.name, "reason": str(error)}))
            return
        fields = {"listener": listener.name, "address": str(bound.listener.endpoint)}
        self._log.write(Fact("info", "listener-opened", fields))
        self._opening[listener.name] = bound
        task = asyncio.get_running_loop().create_task(self._serve_opened(bound))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self, name: str) -> None:
        """Accept no more connections on a listener."""
        server, opening = self._servers.pop(name, None), self._opening.pop(name, None)
        if server is not None:
            server.close()
        if server is not None or opening is not None:
            self._log.write(Fact("info", "listener-closed", {"listener": name}))

    def close_all(self) -> None:
        """Close all of them: uvloop's loop does not end while a server listens."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()
        self._opening.clear()

    async def _serve(self, bound: ListeningSocket) -> asyncio.AbstractServer:
        accept = partial(self._accept, bound.listener.name)
        if self._send_buffer_bytes > 0:
            # Accepted connections inherit it.
            bound.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer_bytes)
        return await asyncio.get_running_loop().create_server(accept, sock=bound.socket, backlog=self._backlog)

    async def _serve_opened(self, bound: ListeningSocket) -> None:
        """Accept connections on a listener, unless it is closed before."""
        name = bound.listener.name
        if self._opening.get(name) is not bound:
            bound.socket.close()
            return
        server = await self._serve(bound)
        if self._opening.get(name) is bound:
            del self._opening[name]
            self._servers[name] = server
        else:
            server.close()
