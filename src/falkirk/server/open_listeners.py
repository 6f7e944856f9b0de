"""The listeners that a node has open: those that it starts with, and those that come and go while it runs."""

from __future__ import annotations

import asyncio
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
    """`accept` makes the protocol of a connection that a listener accepts."""

    def __init__(self, accept: Callable[[str], Peer], *, backlog: int, log: FactLog) -> None:
        self._accept = accept
        self._backlog = backlog
        self._log = log
        self._servers: dict[str, asyncio.AbstractServer] = {}
        self._opening: set[asyncio.Task[None]] = set()

    async def serve(self, sockets: Sequence[ListeningSocket]) -> None:
        """Accept connections on bound sockets."""
        loop = asyncio.get_running_loop()
        for one in sockets:
            accept = partial(self._accept, one.listener.name)
            self._servers[one.listener.name] = await loop.create_server(accept, sock=one.socket, backlog=self._backlog)

    def open(self, listener: Listener) -> None:
        """Open a listener. One that cannot be bound is logged, as in Kafka, and not open."""
        try:
            sockets = listening.bind([listener])
        except ServerError as error:
            self._log.write(Fact("error", "listener-not-opened", {"listener": listener.name, "reason": str(error)}))
            return
        fields = {"listener": listener.name, "address": str(sockets[0].listener.endpoint)}
        self._log.write(Fact("info", "listener-opened", fields))
        task = asyncio.get_running_loop().create_task(self.serve(sockets))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    def close(self, name: str) -> None:
        """Accept no more connections on a listener."""
        server = self._servers.pop(name, None)
        if server is not None:
            server.close()
            self._log.write(Fact("info", "listener-closed", {"listener": name}))

    def close_all(self) -> None:
        """Close all of them: uvloop's loop does not end while a server listens."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()
