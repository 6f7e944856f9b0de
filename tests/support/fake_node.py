"""A node on 127.0.0.1 with prepared responses; it serves the event loop of the test."""

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from falkirk.protocol.connection import (
    Connection,
    RequestReceived,
    Role,
    UnservedRequestReceived,
    UnsupportedVersionReceived,
)
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.messages import ApiVersionsResponse
from falkirk.protocol.messages.api_versions_response import ApiVersion
from falkirk.protocol.schema import WireMessage
from falkirk.versions.supported_range import SupportedRange

Answer = Callable[[RequestReceived], WireMessage | bytes | None]


def ranges(**texts: str) -> dict[int, SupportedRange]:
    """Parse `api18="0-4"`: API keys with their version ranges."""
    parsed = {int(name.removeprefix("api")): SupportedRange.parse(text) for name, text in texts.items()}
    return {key: versions for key, versions in parsed.items() if versions is not None}


def api_versions_response(api_ranges: Mapping[int, SupportedRange], **fields: object) -> ApiVersionsResponse:
    """Return an ApiVersions response."""
    keys = [ApiVersion(key, versions.lowest, versions.highest) for key, versions in api_ranges.items()]
    return ApiVersionsResponse(api_keys=keys, **fields)  # type: ignore[arg-type]


class FakeNode:
    """`answer` returns a message, raw bytes to send in place of a frame, or None for no response.

    ApiVersions is answered from `api_ranges` unless `answer` returns something for it. `tells_own_versions` False: as
    nodes before 2.4, it does not report its ApiVersions range when it refuses a version.
    """

    def __init__(
        self,
        api_ranges: Mapping[int, SupportedRange],
        answer: Answer = lambda _request: None,
        *,
        port: int = 0,
        tells_own_versions: bool = True,
    ) -> None:
        self.api_ranges = api_ranges
        self.answer = answer
        self.requests: list[tuple[int, int]] = []  # API key and version, also of those that were refused
        self.connections = 0
        self._port = port
        self._tells_own_versions = tells_own_versions
        self._arrived = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def endpoint(self) -> Endpoint:
        assert self._server is not None
        return Endpoint("127.0.0.1", self._server.sockets[0].getsockname()[1])

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.drop_connections()
        await self._server.wait_closed()

    async def requests_came(self, count: int) -> None:
        """Wait until this many requests have arrived."""
        while len(self.requests) < count:
            self._arrived.clear()
            await self._arrived.wait()

    def drop_connections(self) -> None:
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        connection = Connection(role=Role.SERVER, supported=self.api_ranges)
        try:
            while data := await reader.read(65536):
                for event in connection.receive_data(data):
                    writer.write(self._answer(connection, event))
        except OSError:
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    def _answer(self, connection: Connection, event: object) -> bytes:
        assert not isinstance(event, UnservedRequestReceived), event
        assert isinstance(event, RequestReceived | UnsupportedVersionReceived)
        self.requests.append((event.api_key, event.api_version))
        self._arrived.set()
        if isinstance(event, UnsupportedVersionReceived):
            own = {18: self.api_ranges[18]} if self._tells_own_versions else {}
            return connection.send_response(event, api_versions_response(own, error_code=35))
        answer = self.answer(event)
        if answer is None and event.api_key == 18:
            answer = api_versions_response(self.api_ranges)
        if isinstance(answer, bytes):
            return answer
        return b"" if answer is None else connection.send_response(event, answer)
