"""Connections to SASL listeners until their clients are authenticated, and again when sessions end.

Clients that are not authenticated get little: small frames, bounded memory for all of them together, and a timeout.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Final, assert_never

from falkirk.node.connections.authentication import Answered, Authentication, Expired, Passed, Phase, Refused, Token
from falkirk.node.effects import Fact, Send
from falkirk.protocol.connection import RequestReceived
from falkirk.protocol.errors import RemoteProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from falkirk.node.config.security_settings import SecuritySettings
    from falkirk.node.connections.authentication import Verdict
    from falkirk.node.connections.client_connection import ClientConnection
    from falkirk.node.connections.credentials import Credentials
    from falkirk.node.effects import Effect
    from falkirk.protocol.connection import UnservedRequestReceived, UnsupportedVersionReceived

    RequestEvent: TypeAlias = RequestReceived | UnsupportedVersionReceived | UnservedRequestReceived

# Differs from Kafka, which leaves a client that does not authenticate alone until it is idle.
AUTHENTICATION_TIMEOUT_MS: Final = 30_000
# Unfinished frames of all clients that are not authenticated.
UNAUTHENTICATED_BYTES_MAX: Final = 16 * 1024 * 1024


class SaslListeners:
    """Authenticates clients. `close` ends a connection: event name, reason, level of the fact.

    `frame_bytes_max`: the limit of frames once a client is authenticated; `wake` asks for a `tick`.
    """

    def __init__(
        self,
        settings: Callable[[], SecuritySettings],
        credentials: Credentials,
        *,
        frame_bytes_max: int,
        effects: Callable[[Effect], None],
        close: Callable[[ClientConnection, str, str, str], None],
        wake: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._credentials = credentials
        self._frame_bytes_max = frame_bytes_max
        self._effects = effects
        self._close = close
        self._wake = wake
        # By deadline: clients that are not authenticated, and refusals that are sent after a delay.
        self._waiting: OrderedDict[int, tuple[int, ClientConnection]] = OrderedDict()
        self._refused: deque[tuple[int, ClientConnection, bytes]] = deque()
        self._pending_bytes: dict[int, int] = {}
        self._pending_bytes_sum = 0

    def accept(self, client: ClientConnection, now_ms: int) -> None:
        """Require authentication on a connection if its listener has SASL."""
        security = self._settings().of_listener(client.listener.name)
        if security.mechanisms:
            client.authentication = Authentication(security, self._credentials)
            client.connection.limit_frames(security.max_receive_bytes)
            self._waiting[client.connection_id] = (now_ms + AUTHENTICATION_TIMEOUT_MS, client)

    def received(
        self, client: ClientConnection, authentication: Authentication, data: bytes, now_ms: int
    ) -> Iterator[RequestEvent]:
        """Yield the requests that may be handled; handle each before the next is read."""
        if authentication.has_failed:
            return
        try:
            for offset, frame in client.connection.receive_frames(data):
                event = None
                if authentication.phase is Phase.RAW_TOKEN:
                    verdict = authentication.receive_token(frame, now_ms)
                else:
                    event = client.connection.read_frame(frame, offset)
                    verdict = authentication.receive_request(event, now_ms)
                if self._act(client, authentication, event, verdict, now_ms) and event is not None:
                    yield event
                if client.is_closed or authentication.has_failed:
                    break
        except RemoteProtocolError as error:
            if authentication.is_open:
                raise
            self._refuse(client, Refused(f"Failing SASL authentication: {error}"), None, now_ms)
        self._limit(client)

    def lost(self, client: ClientConnection) -> None:
        """Forget a connection."""
        self._waiting.pop(client.connection_id, None)
        self._pending_bytes_sum -= self._pending_bytes.pop(client.connection_id, 0)

    def tick(self, now_ms: int) -> None:
        """Close connections whose failure was delayed until now, and those that have timed out."""
        while self._refused and self._refused[0][0] <= now_ms:
            _, client, answer = self._refused.popleft()
            self._end(client, answer)
        while self._waiting:
            deadline_ms, client = next(iter(self._waiting.values()))
            if deadline_ms > now_ms:
                break
            del self._waiting[client.connection_id]
            reason = f"it did not authenticate within {AUTHENTICATION_TIMEOUT_MS} ms"
            self._close(client, "authentication-timed-out", reason, "info")

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        times = [self._refused[0][0]] if self._refused else []
        if self._waiting:
            times.append(next(iter(self._waiting.values()))[0])
        return min(times, default=None)

    # --- Inside

    def _act(
        self,
        client: ClientConnection,
        authentication: Authentication,
        event: RequestEvent | None,
        verdict: Verdict,
        now_ms: int,
    ) -> bool:
        """Act on a verdict; return whether the request may be handled."""
        match verdict:
            case Passed():
                return True
            case Answered(message):
                assert isinstance(event, RequestReceived), "no other event can be answered"
                self._send(client, client.connection.send_response(event, message))
            case Token(data):
                self._send(client, client.connection.send_token(data))
            case Refused():
                self._refuse(client, verdict, event, now_ms)
                return False
            case Expired():
                self._close(client, "session-expired", f"the session of {client.principal} has ended", "info")
                return False
            case _:
                assert_never(verdict)
        if authentication.is_open:
            self._open(client, authentication)
        return False

    def _open(self, client: ClientConnection, authentication: Authentication) -> None:
        """Let an authenticated client send any request."""
        client.principal = authentication.principal
        client.connection.limit_frames(self._frame_bytes_max)
        if authentication.is_done:
            client.authentication = None
        self.lost(client)

    def _refuse(self, client: ClientConnection, refused: Refused, event: RequestEvent | None, now_ms: int) -> None:
        assert client.authentication is not None, "only such clients are refused"
        client.authentication.phase = Phase.FAILED
        self.lost(client)
        fields = {"client_host": client.client_host, "listener": client.listener.name, "reason": refused.reason}
        self._effects(Fact("info", "authentication-failed", fields))
        answer = b""
        if refused.message is not None:
            assert isinstance(event, RequestReceived), "no other event can be answered"
            answer = client.connection.send_response(event, refused.message)
        delay_ms = self._settings().failed_authentication_delay_ms
        if delay_ms <= 0:
            self._end(client, answer)
            return
        self._refused.append((now_ms + delay_ms, client, answer))
        self._wake()

    def _end(self, client: ClientConnection, answer: bytes) -> None:
        if not client.is_closed:
            self._send(client, answer)
            self._close(client, "connection-closed", "it is not authenticated", "debug")

    def _send(self, client: ClientConnection, data: bytes) -> None:
        if data:
            self._effects(Send(client.connection_id, data))

    def _limit(self, client: ClientConnection) -> None:
        """Close the connection with most unfinished bytes if all that are not authenticated have too many."""
        if client.connection_id not in self._waiting:
            return
        pending_bytes = client.connection.pending_bytes
        self._pending_bytes_sum += pending_bytes - self._pending_bytes.get(client.connection_id, 0)
        self._pending_bytes[client.connection_id] = pending_bytes
        if self._pending_bytes_sum <= UNAUTHENTICATED_BYTES_MAX:
            return
        most = max(self._pending_bytes, key=self._pending_bytes.__getitem__)
        reason = f"clients that are not authenticated have sent {UNAUTHENTICATED_BYTES_MAX} bytes of unfinished frames"
        self._close(self._waiting[most][1], "connection-flooded", reason, "info")
