"""Connections that others opened to the node, and the requests on them that are not answered yet.

Requests of one connection are answered in their order, however long each takes. What one connection may ask at once
is limited; what comes beyond that waits, in its bytes, and a client that goes on and on loses its connection.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.metadata.controller.request_context import ANONYMOUS, Principal, RequestContext
from falkirk.node.api_uses import ApiUses
from falkirk.node.effects import Close, Fact, Send
from falkirk.node.handlers.envelope import wrap
from falkirk.node.known_answers import KnownAnswers
from falkirk.node.sasl_listeners import SaslListeners
from falkirk.protocol import codec
from falkirk.protocol.connection import (
    Connection,
    RequestReceived,
    Role,
    UnservedRequestReceived,
    UnsupportedVersionReceived,
)
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.known_answer import KnownRequestsAnswered
from falkirk.protocol.messages import ApiVersionsRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.node.api_uses import ApiUse
    from falkirk.node.authentication import Authentication
    from falkirk.node.config import Listener
    from falkirk.node.credentials import Credentials
    from falkirk.node.effects import Effect
    from falkirk.node.security_settings import SecuritySettings
    from falkirk.protocol.connection import Event
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.supported_range import SupportedRange

# Kafka's own clients have 5 requests on their way; a load generator may have more.
OPEN_REQUESTS_MAX: Final = 100
# What may wait behind them. One frame more than this may come: nobody can know before.
HELD_BYTES_MAX: Final = 4 * 1024 * 1024


@dataclass(slots=True, eq=False)
class ClientConnection:
    """One accepted connection. `held`: requests that wait until earlier ones are answered."""

    connection_id: int
    listener: Listener
    client_host: str
    connection: Connection
    ranges: Mapping[int, SupportedRange]
    principal: Principal = ANONYMOUS
    # Looks at what comes first; None: nothing has to be looked at (any more).
    authentication: Authentication | None = None
    software_name: str = ""
    software_version: str = ""
    # What the listener offered when the client asked for it; None: it has not asked.
    negotiated: Mapping[int, SupportedRange] | None = None
    last_active_ms: int = 0
    held: deque[RequestReceived | UnsupportedVersionReceived] = field(default_factory=deque)
    held_bytes: int = 0
    is_closed: bool = False
    # What came before the node serves clients.
    early: bytearray = field(default_factory=bytearray)
    # Requests of one connection are mostly of one kind.
    last_context: RequestContext | None = None
    last_use: ApiUse | None = None

    def take_versions_request(self, request: ApiVersionsRequest) -> None:
        """Note what the client says it is, and what it is told."""
        self.software_name = request.client_software_name
        self.software_version = request.client_software_version
        self.negotiated = self.ranges


# Made for each request: a Struct costs a third of a dataclass.
class OpenRequest(msgspec.Struct, eq=False):
    """A request that is not answered yet. `outer`: the envelope that it came in.

    `message` is None for an ApiVersions of a version that nobody here knows.
    """

    client: ClientConnection
    request: RequestReceived | UnsupportedVersionReceived
    context: RequestContext
    message: WireMessage | None
    outer: OpenRequest | None = None
    opened_ms: int = 0


@dataclass(slots=True)
class ConnectionCounters:
    """What is told to operators; counts since the node started."""

    accepted: int = 0
    requests: int = 0
    # Closed because of what the peer sent: bytes that do not parse, APIs that are not served, too much at once.
    closed_for_garbage: int = 0
    closed_for_unserved_apis: int = 0
    closed_for_flooding: int = 0
    closed_for_idleness: int = 0
    closed_for_other_versions: int = 0


class ClientConnections:
    """All accepted connections.

    Requests go to `handle`, one by one; `gone` is told of every connection that ends, from whichever side. What is to
    be done goes to `effects` at once. `answered`, if there is one, is told of every request and its answer; none is
    answered unread then. `security` and `credentials`: whom to let in; `wake` asks for a `tick` at the end of the step.
    `is_serving`: whether clients of the broker role are answered from the beginning, or only from `begin_serving` on.
    """

    def __init__(
        self,
        *,
        effects: Callable[[Effect], None],
        handle: Callable[[OpenRequest], None],
        gone: Callable[[int], None],
        frame_bytes_max: int,
        idle_ms_max: int,
        answered: Callable[[OpenRequest, bytes], None] | None = None,
        security: SecuritySettings,
        credentials: Credentials,
        wake: Callable[[], None],
        is_serving: bool = True,
    ) -> None:
        self.counters = ConnectionCounters()
        self.api_uses = ApiUses()
        # APIs that are not begun for now: what waits for commits already is as much as may.
        self.held_apis: frozenset[int] = frozenset()
        self._effects = effects
        self._handle = handle
        self._gone = gone
        self._frame_bytes_max = frame_bytes_max
        self._idle_ms_max = idle_ms_max
        self._answered = answered
        self._is_serving = is_serving
        # By number; the one that was silent longest comes first.
        self._clients: OrderedDict[int, ClientConnection] = OrderedDict()
        self._holding: dict[int, ClientConnection] = {}
        self._known_answers = KnownAnswers()
        self._sasl = SaslListeners(
            security,
            credentials,
            frame_bytes_max=frame_bytes_max,
            effects=effects,
            close=self._close,
            wake=wake,
        )

    def __len__(self) -> int:
        """Count the connections."""
        return len(self._clients)

    def by_software(self) -> Counter[tuple[str, str, str]]:
        """Count the connections by listener, name and version of the client's software."""
        clients = self._clients.values()
        return Counter((client.listener.name, client.software_name, client.software_version) for client in clients)

    def accept(
        self,
        connection_id: int,
        listener: Listener,
        client_host: str,
        ranges: Mapping[int, SupportedRange],
        now_ms: int,
        *,
        principal: Principal = ANONYMOUS,
    ) -> None:
        """Begin to serve a connection; `ranges` is what its listener offers, `principal` who it is without SASL."""
        connection = Connection(
            role=Role.SERVER,
            supported=ranges,
            frame_bytes_max=self._frame_bytes_max,
            known_answers=None if self._answered else self._known_answers.of_listener(listener.name),
        )
        client = self._clients[connection_id] = ClientConnection(
            connection_id, listener, client_host, connection, ranges, principal=principal, last_active_ms=now_ms
        )
        self._sasl.accept(client, now_ms)
        self.counters.accepted += 1

    def received(self, connection_id: int, data: bytes, now_ms: int) -> None:
        """Take in bytes, and handle what they complete."""
        client = self._clients.get(connection_id)
        if client is None:
            return
        client.last_active_ms = now_ms
        self._clients.move_to_end(connection_id)
        if not self._is_serving and not client.listener.is_controller:
            self._keep_early(client, data)
            return
        try:
            if client.authentication is None:
                for event in client.connection.receive_data(data):
                    self._take(client, event)
            else:
                for event in self._sasl.received(client, client.authentication, data, now_ms):
                    self._take(client, event)
                    # At once: an answer to what comes next must not overtake this one's.
                    self._advance(client)
        except RemoteProtocolError as error:
            self._close_for_garbage(client, error)
            return
        if client.held:
            self._advance(client)
            self._close_if_flooding(client)

    def begin_serving(self, now_ms: int) -> None:
        """Answer clients of the broker role from now on, those first who have asked already."""
        self._is_serving = True
        for client in list(self._clients.values()):
            if client.early:
                data, client.early = bytes(client.early), bytearray()
                self.received(client.connection_id, data, now_ms)

    def missing_bytes(self, connection_id: int) -> int:
        """Say how much the request that has begun on a connection lacks at least; 0 between requests."""
        client = self._clients.get(connection_id)
        return 0 if client is None else client.connection.missing_bytes

    def lost(self, connection_id: int) -> None:
        """Forget a connection that is gone."""
        client = self._clients.pop(connection_id, None)
        if client is not None:
            client.is_closed = True
            self._holding.pop(connection_id, None)
            self._sasl.lost(client)
            self._gone(connection_id)

    def change_ranges(self, ranges: Mapping[int, SupportedRange], *, close_others: bool) -> None:
        """Serve other versions from now on, on all listeners of the broker role.

        `close_others`: clients that were told others before lose their connection, so that they negotiate anew: what
        ApiVersions tells is good for one connection (KIP-35). Who never asked stays.
        """
        self.forget_answers()
        for client in list(self._clients.values()):
            if client.listener.is_controller:
                continue
            client.ranges = client.connection.supported = ranges
            if close_others and client.negotiated is not None and client.negotiated != ranges:
                self.counters.closed_for_other_versions += 1
                self._close(client, "versions-changed", "it was told other versions than are served now")

    def resume(self) -> None:
        """Go on with what was held back, as far as may be."""
        for client in list(self._holding.values()):
            self._advance(client)

    def tick(self, now_ms: int) -> None:
        """Close what was silent for too long and waits for nothing, and who did not authenticate."""
        self._sasl.tick(now_ms)
        for client in list(self._clients.values()):
            if now_ms - client.last_active_ms < self._idle_ms_max:
                break
            if client.connection.open_requests:
                client.last_active_ms = now_ms
                self._clients.move_to_end(client.connection_id)
            else:
                self.counters.closed_for_idleness += 1
                self._close(client, "connection-idle", "nothing was asked", level="debug")

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `tick` may have something to do."""
        first = next(iter(self._clients.values()), None)
        if first is None:
            return None
        idle_ms, sasl_ms = first.last_active_ms + self._idle_ms_max, self._sasl.next_wakeup_ms
        return idle_ms if sasl_ms is None else min(idle_ms, sasl_ms)

    def close(self) -> None:
        """Close all connections."""
        for connection_id in list(self._clients):
            self._effects(Close(connection_id))
            self.lost(connection_id)

    # --- Answers

    def answer(self, request: OpenRequest, message: WireMessage) -> None:
        """Answer a request. Raises LocalProtocolError, and nothing was sent, if the version cannot hold the message."""
        self.answer_body(request, codec.encode(message, request.request.response_version))

    def answer_body(self, request: OpenRequest, body: bytes) -> None:
        """Answer a request with a body that is encoded already."""
        if self._answered is not None:
            self._answered(request, body)
        if request.outer is not None:
            assert isinstance(request.request, RequestReceived), "envelopes hold nothing else"
            self.answer(request.outer, wrap(request.request, body))
            return
        client = request.client
        if client.is_closed:
            return
        data = client.connection.send_body(request.request, body)
        if data:
            self._effects(Send(client.connection_id, data))
        if client.held:
            self._holding[client.connection_id] = client

    def answer_in_pieces(self, request: OpenRequest, message: WireMessage) -> None:
        """Answer a request; what is large in the message is sent as it is, not copied. Raises as `answer`.

        With TLS it is copied: encryption looks into it after the step, and a page of a file that was cut off meanwhile
        ends the process.
        """
        pieces = codec.encode_pieces(message, request.request.response_version)
        client = request.client
        is_encrypted = client.listener.security_protocol.endswith("SSL")
        if len(pieces) == 1 or is_encrypted or request.outer is not None:
            self.answer_body(request, b"".join(pieces))
            return
        if self._answered is not None:
            self._answered(request, b"".join(pieces))
        if client.is_closed:
            return
        for data in client.connection.send_pieces(request.request, pieces):
            self._effects(Send(client.connection_id, data))
        if client.held:
            self._holding[client.connection_id] = client

    def pass_over(self, request: OpenRequest) -> None:
        """Let a request go without an answer."""
        client = request.client
        assert isinstance(request.request, RequestReceived), "the other kind is always answered"
        if self._answered is not None:
            self._answered(request, b"")
        if client.is_closed:
            return
        data = client.connection.send_nothing(request.request)
        if data:
            self._effects(Send(client.connection_id, data))
        if client.held:
            self._holding[client.connection_id] = client

    def answer_from_now_on(self, request: OpenRequest, body: bytes) -> None:
        """Answer a request, and those with the same bytes that come to such a listener before `forget_answers`."""
        asked = request.request
        if request.outer is None and isinstance(asked, RequestReceived) and request.message is not None:
            self._known_answers.keep(request.client.listener.name, asked, request.message, body)
        self.answer_body(request, body)

    def forget_answers(self, api_key: int | None = None) -> None:
        """Read all requests anew, or those of one API: what answers rest on has changed."""
        self._known_answers.forget(api_key)

    def close_client(self, client: ClientConnection, event: str, reason: str, *, level: str = "error") -> None:
        """Close a connection that nothing can be answered on."""
        if not client.is_closed:
            self._close(client, event, reason, level=level)

    # --- Inside

    def _take(self, client: ClientConnection, event: Event) -> None:
        if isinstance(event, KnownRequestsAnswered):
            self.counters.requests += event.count
            if isinstance(event.request, ApiVersionsRequest):
                client.take_versions_request(event.request)
            api_key = event.request.SCHEMA.info.key
            assert api_key is not None, "requests have one"
            use = self.api_uses.of(api_key, event.api_version, client.software_name, client.software_version)
            use.requests += event.count
            self._effects(Send(client.connection_id, event.data))
        elif isinstance(event, (RequestReceived, UnsupportedVersionReceived)):
            client.held.append(event)
            client.held_bytes += _size(event)
        elif isinstance(event, UnservedRequestReceived):
            self._advance(client)
            self._close_for_unserved_api(client, event)

    def _advance(self, client: ClientConnection) -> None:
        """Handle what is held back, as far as may be."""
        while client.held and not client.is_closed:
            opened = client.connection.open_requests - len(client.held)
            if opened >= OPEN_REQUESTS_MAX or client.held[0].api_key in self.held_apis:
                self._holding[client.connection_id] = client
                return
            event = client.held.popleft()
            client.held_bytes -= _size(event)
            try:
                request = self._open(client, event)
            except RemoteProtocolError as error:
                self._close_for_garbage(client, error)
                return
            self.counters.requests += 1
            self._handle(request)
        self._holding.pop(client.connection_id, None)

    def _open(self, client: ClientConnection, event: RequestReceived | UnsupportedVersionReceived) -> OpenRequest:
        message = event.message() if isinstance(event, RequestReceived) else None
        context = client.last_context
        if (
            context is None
            or context.api_key != event.api_key
            or context.api_version != event.api_version
            or context.client_id != event.client_id
            or context.principal is not client.principal
            or context.software_name is not client.software_name
            or context.software_version is not client.software_version
        ):
            context = client.last_context = self._context(client, event)
            client.last_use = None
        use = client.last_use
        if use is None:
            use = client.last_use = self._use(client, event, message)
        use.requests += 1
        return OpenRequest(client, event, context, message, opened_ms=client.last_active_ms)

    def _use(
        self,
        client: ClientConnection,
        event: RequestReceived | UnsupportedVersionReceived,
        message: WireMessage | None,
    ) -> ApiUse:
        """Give where a request is counted; the very one that tells the software is one of it."""
        name, version = client.software_name, client.software_version
        if isinstance(message, ApiVersionsRequest):
            name, version = message.client_software_name, message.client_software_version
        return self.api_uses.of(event.api_key, event.api_version, name, version)

    def _context(self, client: ClientConnection, event: RequestReceived | UnsupportedVersionReceived) -> RequestContext:
        return RequestContext(
            api_key=event.api_key,
            api_version=event.api_version,
            client_id=event.client_id,
            principal=client.principal,
            client_host=client.client_host,
            listener=client.listener.name,
            security_protocol=client.listener.security_protocol,
            software_name=client.software_name,
            software_version=client.software_version,
        )

    def _keep_early(self, client: ClientConnection, data: bytes) -> None:
        client.early += data
        if len(client.early) > HELD_BYTES_MAX:
            self.counters.closed_for_flooding += 1
            self._close(client, "connection-flooded", f"{len(client.early)} bytes came before the broker serves")

    def _close_if_flooding(self, client: ClientConnection) -> None:
        if client.held_bytes > HELD_BYTES_MAX and len(client.held) > 1:
            self.counters.closed_for_flooding += 1
            reason = f"{client.held_bytes} bytes of requests wait behind {client.connection.open_requests} open ones"
            self._close(client, "connection-flooded", reason)

    def _close_for_garbage(self, client: ClientConnection, error: RemoteProtocolError) -> None:
        self.counters.closed_for_garbage += 1
        self._close(client, "invalid-request", str(error))

    def _close_for_unserved_api(self, client: ClientConnection, event: UnservedRequestReceived) -> None:
        self.counters.closed_for_unserved_apis += 1
        self._close(client, "unserved-request", f"API key {event.api_key} version {event.api_version} is not served")

    def _close(self, client: ClientConnection, event: str, reason: str, level: str = "info") -> None:
        if client.is_closed:
            return
        self.lost(client.connection_id)
        self._effects(Close(client.connection_id))
        fields = {"client_host": client.client_host, "listener": client.listener.name, "reason": reason}
        self._effects(Fact(level, event, fields))


def _size(event: RequestReceived | UnsupportedVersionReceived) -> int:
    return len(event.frame) if isinstance(event, RequestReceived) else 0
