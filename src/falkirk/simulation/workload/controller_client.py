"""A client of the active controller, which it finds by trying; one request at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from falkirk.node.effects import Close, Connect, Fact, Send, Stop
from falkirk.node.events import BytesReceived, ConnectionLost, ConnectionOpened, ShutdownRequested
from falkirk.protocol.connection import Connection, ResponseReceived, Role
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ApiVersionsRequest, ApiVersionsResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.node.effects import Effect
    from falkirk.node.events import Event
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage

NOT_ACTIVE: Final = frozenset((ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_LEADER_OR_FOLLOWER))
"""Errors after which the next controller is tried."""
_REQUEST_TIMEOUT_MS: Final = 3000
_RETRY_MS: Final = 100


class ControllerClient(ABC):
    """Finds the active controller by trying one after the other; a broker works too, as it forwards requests.

    Base class; a subclass implements `next_request` and `answered`.
    """

    def __init__(self, controllers: Sequence[Endpoint], chance: Chance, *, client_id: str) -> None:
        self.chance = chance
        self._client_id = client_id
        self._controllers = controllers
        self._at = chance.randrange(0, len(controllers))
        self._next_connection_id = 1
        self._connection_id: int | None = None
        self._connection: Connection | None = None
        self._ranges: dict[int, tuple[int, int]] | None = None
        self._deadline_ms: int | None = None
        self._retry_at_ms = 0
        self.must_stop = False
        self._effects: list[Effect] = []

    # --- For subclasses

    @abstractmethod
    def next_request(self, now_ms: int) -> WireMessage | None:
        """Return the next request; None if none is due."""

    @abstractmethod
    def answered(self, response: WireMessage, now_ms: int) -> bool:
        """Handle a response; return whether it came from the active controller (if not, another one is tried)."""

    @property
    @abstractmethod
    def next_due_ms(self) -> int | None:
        """When `next_request` may return a request."""

    def note(self, text: str) -> None:
        """Add a line to the timeline."""
        self._effects.append(Fact("info", text))

    def stop(self) -> None:
        """Stop the program with exit code 0."""
        self._effects.append(Stop(0))

    # --- Program

    def step(self, events: Sequence[Event], now_ms: int) -> Sequence[Effect]:
        """Process events, and send the request that is due."""
        self._effects = []
        for event in events:
            match event:
                case ConnectionOpened(connection_id) if connection_id == self._connection_id:
                    self._send(ApiVersionsRequest(), 0, now_ms)
                case BytesReceived(connection_id, data) if connection_id == self._connection_id:
                    self._receive(data, now_ms)
                case ConnectionLost(connection_id, _) if connection_id == self._connection_id:
                    self._give_up(now_ms)
                case ShutdownRequested():
                    self.must_stop = True
                case _:
                    pass  # of a connection that was given up
        if self._deadline_ms is not None and now_ms >= self._deadline_ms:
            self._give_up(now_ms)
        self._ask(now_ms)
        return self._effects

    @property
    def next_wakeup_ms(self) -> int | None:
        """When a timeout or a request is due."""
        if self._deadline_ms is not None:
            return self._deadline_ms
        due_ms = self.next_due_ms
        return None if due_ms is None else max(due_ms, self._retry_at_ms)

    def _ask(self, now_ms: int) -> None:
        if self._deadline_ms is not None or now_ms < self._retry_at_ms:
            return
        if self._connection is None:
            if self.next_due_ms is not None and now_ms >= self.next_due_ms:
                self._connect(now_ms)
            return
        request = self.next_request(now_ms)
        if request is None:
            return
        key = request.SCHEMA.info.key
        versions = request.SCHEMA.info.versions
        assert key is not None
        assert self._ranges is not None, "versions are known before anything is asked"
        lowest, highest = self._ranges.get(key, (0, -1))
        usable = [version for version in versions if lowest <= version <= highest]
        if not usable:
            self._give_up(now_ms)
            return
        self._send(request, max(usable), now_ms)

    def _connect(self, now_ms: int) -> None:
        self._connection_id = self._next_connection_id
        self._next_connection_id += 2
        self._connection = Connection(role=Role.CLIENT, client_id=self._client_id)
        self._deadline_ms = now_ms + _REQUEST_TIMEOUT_MS
        self._effects.append(Connect(self._connection_id, self._controllers[self._at], "CONTROLLER"))

    def _send(self, request: WireMessage, version: int, now_ms: int) -> None:
        assert self._connection is not None
        assert self._connection_id is not None
        _, data = self._connection.send_request(request, version)
        self._deadline_ms = now_ms + _REQUEST_TIMEOUT_MS
        self._effects.append(Send(self._connection_id, data))

    def _receive(self, data: bytes, now_ms: int) -> None:
        assert self._connection is not None
        for received in self._connection.receive_data(data):
            assert isinstance(received, ResponseReceived)
            response = received.message()
            self._deadline_ms = None
            if isinstance(response, ApiVersionsResponse):
                self._ranges = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
            elif not self.answered(response, now_ms):
                self._give_up(now_ms)
                return

    def _give_up(self, now_ms: int) -> None:
        """Drop the connection, and try the next controller after a while."""
        if self._connection_id is not None:
            self._effects.append(Close(self._connection_id))
        self._connection_id = self._connection = self._ranges = self._deadline_ms = None
        self._at = (self._at + 1) % len(self._controllers)
        self._retry_at_ms = now_ms + _RETRY_MS
