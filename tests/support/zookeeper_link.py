"""A connection to ZooKeeper that a test can cut at a write: before the server receives it, or before its response."""

from __future__ import annotations

import asyncio
import struct
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

_MULTI = 14


class Link:
    """Forwards every request and response."""

    def __init__(self, server: str) -> None:
        self._host, _, port = server.partition(":")
        self._port = int(port)
        self._cut: tuple[bytes, bool, Callable[[], None]] | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.address = ""

    def cut(self, path: str, *, is_done: bool, then: Callable[[], None] = lambda: None) -> None:
        """Cut the connection at the next Multi that names `path`, after `then`; `is_done`: it is still executed."""
        self._cut = (path.encode(), is_done, then)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        connection = asyncio.current_task()
        assert connection is not None
        self._connections.add(connection)
        writers = [writer]
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            server_reader, server_writer = await asyncio.open_connection(self._host, self._port)
            writers.append(server_writer)
            await self._forward(reader, writer, server_reader, server_writer)
        for one in writers:
            one.close()
            # Cancelled while it waits, it closes the other end all the same.
            with suppress(OSError, asyncio.CancelledError):
                await one.wait_closed()
        self._connections.discard(connection)

    async def _forward(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        server_reader: asyncio.StreamReader,
        server_writer: asyncio.StreamWriter,
    ) -> None:
        """Forward until either end is gone or the connection is to be cut."""
        cut_at: list[bytes] = []

        async def ask() -> None:
            while True:
                request = await _read_frame(reader)
                if self._cut is not None and _is_multi(request) and self._cut[0] in request:
                    if not self._cut[1]:
                        return
                    cut_at.append(_xid(request))
                server_writer.write(request)

        async def answer() -> None:
            while True:
                frame = await _read_frame(server_reader)
                if _xid(frame) in cut_at:
                    return
                writer.write(frame)

        await _until_one_ends(ask(), answer())
        if self._cut is not None:
            self._cut, (_, _, then) = None, self._cut
            then()

    async def close(self) -> None:
        """Close what remains open."""
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections)


@asynccontextmanager
async def zookeeper_link(server: str) -> AsyncIterator[Link]:
    """Yield a link to a server; connect to `link.address` instead."""
    link = Link(server)
    listening = await asyncio.start_server(link.serve, "127.0.0.1", 0)
    link.address = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield link
    finally:
        listening.close()
        await link.close()


async def _until_one_ends(*works: Awaitable[None]) -> None:
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(4)
    return head + await reader.readexactly(struct.unpack(">i", head)[0])


def _xid(frame: bytes) -> bytes:
    return frame[4:8]


def _is_multi(frame: bytes) -> bool:
    # Length, xid, operation.
    return len(frame) >= 12 and struct.unpack_from(">i", frame, 8)[0] == _MULTI
