"""One TCP connection to a node, until it breaks: requests out, responses back in order."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from falkirk.client.errors import ConnectionFailedError, RequestTimedOutError
from falkirk.protocol.connection import Connection, ResponseReceived, Role
from falkirk.protocol.errors import RemoteProtocolError

if TYPE_CHECKING:
    from falkirk.client.config import ClientConfig
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage

_READ_BYTES: Final = 64 * 1024
_CLOSE_S: Final = 1.0


class Channel:
    """Made by `open`. Requests may be in flight at the same time; responses come in their order."""

    def __init__(
        self, endpoint: Endpoint, config: ClientConfig, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.endpoint = endpoint
        self._config = config
        self._reader = reader
        self._writer = writer
        self._protocol = Connection(
            role=Role.CLIENT, frame_bytes_max=config.frame_bytes_max, client_id=config.client_id
        )
        self._slots = asyncio.Semaphore(config.max_in_flight_requests_per_connection)
        self._waiting: deque[asyncio.Future[ResponseReceived]] = deque()
        self._end: str | None = None
        self._task = asyncio.create_task(self._read(), name=f"read {endpoint}")

    @classmethod
    async def open(cls, endpoint: Endpoint, config: ClientConfig) -> Channel:
        """Connect. Raises ConnectionFailedError."""
        return cls(endpoint, config, *await _open_streams(endpoint, config))

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent, as far as this side knows."""
        return self._end is None

    async def request(self, message: WireMessage, version: int, *, timeout_ms: int | None = None) -> WireMessage:
        """Send a request and return the response. `timeout_ms`: None: request.timeout.ms.

        Raises ConnectionFailedError if the connection breaks or the response cannot be read, RequestTimedOutError if it
        does not come in time, LocalProtocolError for a message that the version cannot hold.
        """
        wait_ms = self._config.request_timeout_ms if timeout_ms is None else timeout_ms
        name = message.SCHEMA.info.name.removesuffix("Request")
        try:
            async with asyncio.timeout(wait_ms / 1000), self._slots:
                response = await self._exchange(message, version)
        except TimeoutError as error:
            reason = f"no answer to {name} within {wait_ms} ms"
            # Its answer, should it still come, would be in the way of those that follow.
            self._break(reason)
            raise RequestTimedOutError(self.endpoint, reason) from error
        try:
            return response.message()
        except RemoteProtocolError as protocol_error:
            reason = f"the answer to {name} cannot be read: {protocol_error}"
            self._break(reason)
            raise ConnectionFailedError(self.endpoint, reason) from protocol_error

    async def close(self) -> None:
        """Close the connection; requests in flight get ConnectionFailedError."""
        self._break("the connection was closed on our side")
        with suppress(asyncio.CancelledError):
            await self._task
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await self._writer.wait_closed()

    async def _exchange(self, message: WireMessage, version: int) -> ResponseReceived:
        if self._end is not None:
            raise ConnectionFailedError(self.endpoint, self._end)
        _, data = self._protocol.send_request(message, version)
        answered: asyncio.Future[ResponseReceived] = asyncio.get_running_loop().create_future()
        self._waiting.append(answered)
        self._writer.write(data)
        with suppress(OSError):  # the reader says why
            await self._writer.drain()
        return await answered

    async def _read(self) -> None:
        reason = "the node closed the connection"
        try:
            while data := await self._reader.read(_READ_BYTES):
                for event in self._protocol.receive_data(data):
                    assert isinstance(event, ResponseReceived)
                    answered = self._waiting.popleft()
                    if not answered.done():
                        answered.set_result(event)
        except RemoteProtocolError as error:
            reason = f"the node sent what cannot be read: {error}"
        except ssl.SSLError as ssl_error:
            reason = f"the node ended the connection over TLS: {_tls_reason(ssl_error)}"
        except OSError as os_error:
            reason = f"the connection broke: {os_error.strerror or os_error}"
        self._break(reason)

    def _break(self, reason: str) -> None:
        if self._end is not None:
            return
        self._end = reason
        self._writer.close()
        self._task.cancel()
        while self._waiting:
            answered = self._waiting.popleft()
            if not answered.done():
                answered.set_exception(ConnectionFailedError(self.endpoint, reason))


async def _open_streams(endpoint: Endpoint, config: ClientConfig) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a TCP connection, with TLS if it is configured. Raises ConnectionFailedError."""
    try:
        async with asyncio.timeout(config.socket_connection_setup_timeout_ms / 1000):
            return await asyncio.open_connection(endpoint.host, endpoint.port, ssl=config.tls)
    except TimeoutError as error:
        reason = f"no connection within {config.socket_connection_setup_timeout_ms} ms"
        raise ConnectionFailedError(endpoint, reason) from error
    except ssl.SSLError as ssl_error:
        raise ConnectionFailedError(endpoint, f"no connection over TLS: {_tls_reason(ssl_error)}") from ssl_error
    except (OSError, ValueError) as os_error:
        reason = getattr(os_error, "strerror", None) or str(os_error)
        raise ConnectionFailedError(endpoint, f"cannot connect: {reason}") from os_error


def _tls_reason(error: ssl.SSLError) -> str:
    """Word the error of OpenSSL."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not valid: {error.verify_message}"
    if error.reason == "WRONG_VERSION_NUMBER":
        return "the other side does not speak TLS"
    return (error.reason or str(error)).replace("_", " ").lower()
