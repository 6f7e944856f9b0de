"""Serves metrics to Prometheus: HTTP as far as a scrape needs it. Everything else is refused."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from falkirk.protocol.endpoint import Endpoint, read_port
from falkirk.server.errors import ServerError
from falkirk.server.listening import bind_endpoint

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Mapping

    from falkirk.node.measurements import Measurements
    from falkirk.server.feature_update_facts import FeatureUpdateFacts
    from falkirk.server.step_meter import StepMeter
    from falkirk.slices import Slices

PATH: Final = "/metrics"
# A scrape has a few hundred bytes of headers and is answered at once; few clients scrape.
HEAD_BYTES_MAX: Final = 16 * 1024
SCRAPE_TIMEOUT_S: Final = 10.0
SCRAPES_MAX: Final = 16


def bind_metrics(listener: str) -> socket.socket:
    """Bind `host:port`; port 0 is any. Raises ServerError."""
    host, _, text = listener.rpartition(":")
    port = read_port(text)
    if not host or port is None:
        raise ServerError(f"falkirk.metrics.listener: {listener} is no host:port")
    return bind_endpoint(Endpoint(host.removeprefix("[").removesuffix("]"), port))


def shown_address(listening: socket.socket) -> str:
    """Return a socket's address as text."""
    host, port, *_ = listening.getsockname()
    return str(Endpoint(host, port))


async def serve_metrics(
    listening: socket.socket,
    measure_slices: Callable[[], Slices[Measurements]],
    updates: FeatureUpdateFacts,
    meter: StepMeter,
) -> asyncio.Server:
    """Answer scrapes on a bound socket, on this loop, which is the node's: its steps come between the slices."""
    # Imported late: a node without metrics starts without the library.
    from prometheus_client.exposition import choose_encoder  # noqa: PLC0415
    from prometheus_client.registry import CollectorRegistry  # noqa: PLC0415

    from falkirk.server.metrics import NodeMetrics  # noqa: PLC0415

    async def scrape(accepted: str) -> tuple[str, bytes]:
        # Not the registry of the process: several nodes may run in it.
        registry = CollectorRegistry(auto_describe=False)
        registry.register(NodeMetrics(await _measured(measure_slices()), updates, meter))
        encode, content_type = choose_encoder(accepted)
        return content_type, encode(registry)

    return await _Scrapes(scrape).start(listening)


async def _measured(slices: Slices[Measurements]) -> Measurements:
    while True:
        try:
            next(slices)
        except StopIteration as end:
            measured: Measurements = end.value
            return measured
        await asyncio.sleep(0)


class _Scrapes:
    """Answers with the result of `scrape` for an Accept header: content type and body."""

    def __init__(self, scrape: Callable[[str], Awaitable[tuple[str, bytes]]]) -> None:
        self._scrape = scrape
        # Connections, the oldest first.
        self._open: dict[asyncio.StreamWriter, None] = {}

    async def start(self, listening: socket.socket) -> asyncio.Server:
        """Begin to answer."""
        return await asyncio.start_server(self._answer, sock=listening, limit=HEAD_BYTES_MAX)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) == SCRAPES_MAX:
            # A scrape is short, so the oldest connection is not one.
            oldest = next(iter(self._open))
            del self._open[oldest]
            oldest.transport.abort()
        self._open[writer] = None
        try:
            # A faulty or silent scraper must not affect the node.
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(SCRAPE_TIMEOUT_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(await self._response(head.decode("latin-1")))
                    await writer.drain()
        finally:
            self._open.pop(writer, None)
            writer.close()

    async def _response(self, head: str) -> bytes:
        request, *lines = head.splitlines()
        method, _, rest = request.partition(" ")
        path = rest.partition(" ")[0].partition("?")[0]
        if method not in {"GET", "HEAD"}:
            return _http("405 Method Not Allowed", {"Allow": "GET, HEAD"}, b"")
        if path != PATH:
            return _http("404 Not Found", {}, f"The metrics are at {PATH}\n".encode())
        content_type, body = await self._scrape(_header(lines, "accept"))
        response = _http("200 OK", {"Content-Type": content_type}, body)
        return response[: len(response) - len(body)] if method == "HEAD" else response


def _header(lines: list[str], wanted: str) -> str:
    pairs = (line.partition(":") for line in lines)
    return next((value.strip() for name, _, value in pairs if name.strip().lower() == wanted), "")


def _http(status: str, headers: Mapping[str, str], body: bytes) -> bytes:
    every = {**headers, "Content-Length": str(len(body)), "Connection": "close"}
    lines = (f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in every.items()))
    return "\r\n".join((*lines, "", "")).encode() + body
