"""Accepted connections and the open requests on them.

Requests of one connection are answered in order, however long each takes. How many may be open at once is limited;
requests beyond the limit wait as bytes, and a client that sends more than fits there loses its connection.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any, Final

from mypy_extensions import mypyc_attr

from falkirk.metadata.requests.request_context import ANONYMOUS, Principal
from falkirk.node.connections.api_uses import ApiUses
from falkirk.node.connections.client_connection import SLICED_REQUEST_BYTES, ClientConnection, OpenRequest, size_of
from falkirk.node.connections.client_usage import FRAME_WINDOW_BYTES, FRAME_WINDOW_MS, ClientUsage, UnfinishedFrames
from falkirk.node.connections.connection_counters import ConnectionCounters
from falkirk.node.connections.envelopes import envelope_response
from falkirk.node.connections.holds import Holds
from falkirk.node.connections.known_answers import KnownAnswers
from falkirk.node.connections.sasl_listeners import SaslListeners
from falkirk.node.effects import Close, Fact, Send
from falkirk.protocol import codec
from falkirk.protocol.connection import (
    Connection,
    RequestReceived,
    Role,
    UnservedRequestReceived,
    UnsupportedVersionReceived,
)
from falkirk.protocol.errors import RemoteProtocolError, TooManyElementsError
from falkirk.protocol.known_answer import KnownRequestsAnswered
from falkirk.protocol.messages import ApiVersionsRequest
from falkirk.timers import Timers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from falkirk.node.config.node_config import Listener
    from falkirk.node.config.security_settings import SecuritySettings
    from falkirk.node.connections.api_uses import ApiUse
    from falkirk.node.connections.credentials import Credentials
    from falkirk.node.effects import Effect
    from falkirk.node.sliced_work import SlicedWorks, Slices
    from falkirk.protocol.connection import Event
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.supported_range import SupportedRange

# Kafka's own clients have 5 requests in flight; a load generator may have more.
OPEN_REQUESTS_MAX: Final = 100
# How many of the largest frames all connections of one address may have under way, and open.
_ADDRESS_FRAMES_MAX: Final = 2
# Requests held behind them. One frame more may come: its size is known only then.
HELD_BYTES_MAX: Final = 4 * 1024 * 1024


@mypyc_attr(allow_interpreted_subclasses=True)
class ClientConnections:
    """All accepted connections.

    `handle` gets each request; `on_closed` the id of each connection that ends, from either side; effects go to
    `effects` at once. `on_answered`, if set, gets each request with its response; known answers are not used then.
    `elements_max`: how many elements a request may have in all arrays together, by API key.
    `security` and `credentials` decide who may connect; `wake` asks for a `tick` at the end of the step. `works`:
    decodes large requests over many steps; None: at once.
    """

    def __init__(
        self,
        *,
        effects: Callable[[Effect], None],
        handle: Callable[[OpenRequest], None],
        on_closed: Callable[[int], None],
        frame_bytes_max: int,
        elements_max: Mapping[int, int],
        idle_ms_max: int,
        on_answered: Callable[[OpenRequest, bytes], None] | None = None,
        security: Callable[[], SecuritySettings],
        credentials: Credentials,
        wake: Callable[[], None],
        works: SlicedWorks | None = None,
    ) -> None:
        self.counters = ConnectionCounters()
        self.api_uses = ApiUses()
        self.holds = Holds()
        self._effects = effects
        self._handle = handle
        self._on_closed = on_closed
        self._frame_bytes_max = frame_bytes_max
        self._elements_max = elements_max
        self._idle_ms_max = idle_ms_max
        self._on_answered = on_answered
        # By connection id, least recently active first.
        self._clients: OrderedDict[int, ClientConnection] = OrderedDict()
        self._holding: dict[int, ClientConnection] = {}
        # Those with bytes that are not read yet.
        self._early: dict[int, ClientConnection] = {}
        self._usage = ClientUsage()
        self._unfinished = UnfinishedFrames()
        self._address_bytes_max = _ADDRESS_FRAMES_MAX * frame_bytes_max
        self._known_answers = KnownAnswers()
        self._wake = wake
        self._works = works
        # When those whose quota is used up go on.
        self._throttled: Timers[int, ClientConnection] = Timers()
        self._sasl = SaslListeners(
            security,
            credentials,
            frame_bytes_max=frame_bytes_max,
            effects=effects,
            close=self._close,
            wake=wake,
        )

    def __len__(self) -> int:
        return len(self._clients)

    def by_software(self) -> Counter[tuple[str, str, str]]:
        """Return how many connections there are by (listener, software name, software version)."""
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
        """Serve a connection; `ranges` is what its listener offers, `principal` who the client is without SASL."""
        connection = Connection(
            role=Role.SERVER,
            supported=ranges,
            frame_bytes_max=self._frame_bytes_max,
            known_answers=None if self._on_answered else self._known_answers.of_listener(listener.name),
        )
        client = self._clients[connection_id] = ClientConnection(
            connection_id,
            listener,
            client_host,
            connection,
            ranges,
            usage=self._usage.accept(client_host),
            principal=principal,
            last_active_ms=now_ms,
        )
        self._sasl.accept(client, now_ms)
        self.counters.accepted += 1

    def received(self, connection_id: int, data: bytes, now_ms: int) -> None:
        """Handle the requests that these bytes complete."""
        client = self._clients.get(connection_id)
        if client is None:
            return
        client.last_active_ms = now_ms
        self._clients.move_to_end(connection_id)
        if self.holds.holds_bytes and not client.listener.is_controller:
            self._keep_early(client, data)
            return
        has_ended_one = False
        try:
            if client.authentication is None:
                for event in client.connection.receive_data(data):
                    has_ended_one = True
                    self._receive(client, event)
            else:
                for event in self._sasl.received(client, client.authentication, data, now_ms):
                    has_ended_one = True
                    self._receive(client, event)
                    # At once: the response to the next frame must not overtake this one's.
                    self._advance(client)
        except RemoteProtocolError as error:
            self._close_for_invalid_request(client, error)
            return
        if client.held:
            self._advance(client)
            self._close_if_flooding(client)
        keeps = client.connection.pending_bytes or client.held or client.buffered_bytes
        if (keeps or connection_id in self._unfinished) and not client.is_closed:
            self._unfinished.received(connection_id, client.connection, now_ms, has_ended_one=has_ended_one)
            self._count_buffered(client)

    def missing_bytes(self, connection_id: int) -> int:
        """Return how many bytes the request that has begun on a connection lacks at least; 0 between requests."""
        client = self._clients.get(connection_id)
        return 0 if client is None else client.connection.missing_bytes

    def lost(self, connection_id: int) -> None:
        """Remove a connection that is closed."""
        client = self._clients.pop(connection_id, None)
        if client is not None:
            client.is_closed = True
            self._usage.lost(client.client_host, buffered_bytes=client.buffered_bytes, open_bytes=client.open_bytes)
            self._unfinished.lost(connection_id)
            self._holding.pop(connection_id, None)
            self._early.pop(connection_id, None)
            self._throttled.cancel(connection_id)
            self._sasl.lost(client)
            self._on_closed(connection_id)

    def throttle(self, client: ClientConnection, until_ms: int) -> None:
        """Hold the requests of a client whose quota is used up (KIP-219); it may have more of them under way."""
        if not client.is_closed and until_ms > client.throttled_until_ms:
            client.throttled_until_ms = until_ms
            self.counters.throttled += 1
            self._throttled.schedule(client.connection_id, until_ms, client)
            self._wake()

    def change_ranges(self, ranges: Mapping[int, SupportedRange], *, close_others: bool) -> None:
        """Offer other versions from now on, on all listeners of the broker role.

        `close_others`: close connections of clients that know other ones, so that they negotiate again: a
        client may use the versions of ApiVersions for the whole connection (KIP-35). Clients that never asked stay
        connected.
        """
        self.forget_answers()
        for client in list(self._clients.values()):
            if client.listener.is_controller:
                continue
            client.ranges = client.connection.supported = ranges
            if close_others and client.negotiated is not None and client.negotiated != ranges:
                self.counters.closed_for_other_versions += 1
                self._close(client, "versions-changed", "it was offered other versions than are served now")

    def resume(self, now_ms: int) -> None:
        """Handle requests that were held back, as far as holds and limits allow."""
        if self._early and not self.holds.holds_bytes:
            early, self._early = self._early, {}
            for client in early.values():
                data, client.early = bytes(client.early), bytearray()
                self.received(client.connection_id, data, now_ms)
        for client in list(self._holding.values()):
            self._advance(client)

    def tick(self, now_ms: int) -> None:
        """Close idle connections, and those whose clients did not authenticate, or send a request, in time."""
        self._sasl.tick(now_ms)
        while (throttled := self._throttled.pop_due(now_ms)) is not None:
            throttled.throttled_until_ms = 0
        while (slow := self._unfinished.pop_too_slow(now_ms)) is not None:
            self.counters.closed_for_slowness += 1
            reason = f"less than {FRAME_WINDOW_BYTES} bytes of an unfinished request came in {FRAME_WINDOW_MS} ms"
            self._close(self._clients[slow], "request-too-slow", reason)
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
        """When the next `tick` is due; None if nothing is scheduled."""
        first = next(iter(self._clients.values()), None)
        if first is None:
            return None
        idle_ms = first.last_active_ms + self._idle_ms_max
        times = (idle_ms, self._sasl.next_wakeup_ms, self._unfinished.next_end_ms, self._throttled.next_due_ms)
        return min(time for time in times if time is not None)

    def close(self) -> None:
        """Close all connections."""
        for connection_id in list(self._clients):
            self._effects(Close(connection_id))
            self.lost(connection_id)

    # --- Answers

    def answer(self, request: OpenRequest, message: WireMessage, *, is_in_pieces: bool = False) -> None:
        """Send a response. Raises LocalProtocolError, having sent nothing, if the version cannot hold the message.

        With `is_in_pieces` its large fields of bytes are not copied, nor is the whole response to a large request. With
        TLS they are: it reads them after the step, and a page of a file that was truncated meanwhile ends the process.
        """
        version = request.request.response_version
        if is_in_pieces or request.is_large:
            self.answer_encoded(request, codec.encode_pieces(message, version))
        else:
            self.answer_body(request, codec.encode(message, version))

    def answer_encoded(self, request: OpenRequest, pieces: Sequence[bytes]) -> None:
        """Send an encoded response; its pieces are joined where they cannot be sent one by one."""
        if len(pieces) == 1 or request.outer or request.client.listener.security_protocol.endswith("SSL"):
            self.answer_body(request, b"".join(pieces))
        else:
            self.answer_pieces(request, pieces)

    def answer_body(self, request: OpenRequest, body: bytes) -> None:
        """Send a response whose body is encoded already."""
        if self._on_answered is not None:
            self._on_answered(request, body)
        if request.outer is not None:
            assert isinstance(request.request, RequestReceived), "envelopes hold nothing else"
            self.answer(request.outer, envelope_response(request.request, body))
            return
        client = request.client
        if client.is_closed:
            return
        self._complete(client, request, (client.connection.send_body(request.request, body),))

    def answer_pieces(self, request: OpenRequest, pieces: Sequence[bytes]) -> None:
        """Send a response whose body is encoded already, in pieces that are not joined."""
        client = request.client
        if self._on_answered is not None:
            self._on_answered(request, b"".join(pieces))
        if client.is_closed:
            return
        self._complete(client, request, client.connection.send_pieces(request.request, pieces))

    def complete_without_response(self, request: OpenRequest) -> None:
        """Complete a request that gets no response."""
        client = request.client
        assert isinstance(request.request, RequestReceived), "the other kind is always on_answered"
        if self._on_answered is not None:
            self._on_answered(request, b"")
        if client.is_closed:
            return
        self._complete(client, request, (client.connection.send_nothing(request.request),))

    def _complete(self, client: ClientConnection, request: OpenRequest, sent: Sequence[Any]) -> None:
        # Any: bytes, or views of large fields.
        for data in sent:
            if data:
                self._effects(Send(client.connection_id, data))
        self._end(client, request)

    def answer_and_remember(self, request: OpenRequest, body: bytes) -> None:
        """Send a response, and reuse it for the same bytes on such a listener until `forget_answers`."""
        requested = request.request
        if request.outer is None and isinstance(requested, RequestReceived) and request.message is not None:
            self._known_answers.keep(request.client.listener.name, requested, request.message, body)
        self.answer_body(request, body)

    def forget_answers(self, api_key: int | None = None) -> None:
        """Drop remembered responses, of one API or of all: what they depend on has changed."""
        self._known_answers.forget(api_key)

    def close_client(self, client: ClientConnection, event: str, reason: str, *, level: str = "error") -> None:
        """Close a connection on which no response is possible."""
        if not client.is_closed:
            self._close(client, event, reason, level=level)

    # --- Inside

    def _end(self, client: ClientConnection, request: OpenRequest) -> None:
        """Uncount a request that is answered, and have those that wait behind it handled."""
        size, before = size_of(request.request), client.usage.open_bytes
        client.open_bytes -= size
        client.usage.open_bytes -= size
        # Another step may be far off, and those of its address may wait, too.
        if client.connection_id in self._holding or before > self._address_bytes_max >= client.usage.open_bytes:
            self._wake()

    def _count_buffered(self, client: ClientConnection) -> None:
        """Count what the connection keeps now; close it if all of its address keep too much."""
        if client.is_closed:
            return
        buffered = client.connection.pending_bytes + client.held_bytes + len(client.early)
        usage = client.usage
        usage.buffered_bytes += buffered - client.buffered_bytes
        client.buffered_bytes = buffered
        if usage.buffered_bytes > self._address_bytes_max:
            self.counters.closed_for_flooding += 1
            reason = f"the connections of its address keep {usage.buffered_bytes} bytes of requests waiting"
            self._close(client, "connection-flooded", reason)

    def _receive(self, client: ClientConnection, event: Event) -> None:
        if isinstance(event, KnownRequestsAnswered):
            self.counters.requests += event.count
            if isinstance(event.request, ApiVersionsRequest):
                client.record_versions_request(event.request)
            api_key = event.request.SCHEMA.info.key
            assert api_key is not None, "requests have one"
            use = self.api_uses.of(api_key, event.api_version, client.software_name, client.software_version)
            use.requests += event.count
            self._effects(Send(client.connection_id, event.data))
        elif isinstance(event, (RequestReceived, UnsupportedVersionReceived)):
            client.held.append(event)
            client.held_bytes += size_of(event)
        elif isinstance(event, UnservedRequestReceived):
            self._advance(client)
            self._close_for_unserved_api(client, event)

    def _advance(self, client: ClientConnection) -> None:
        """Handle held requests, as far as the limits allow."""
        self._holding.pop(client.connection_id, None)
        while client.held and not client.is_closed:
            opened = client.connection.open_requests - len(client.held)
            if (
                opened >= OPEN_REQUESTS_MAX
                or client.is_paused
                or client.held[0].api_key in self.holds.api_keys
                or client.usage.open_bytes > self._address_bytes_max
            ):
                self._holding[client.connection_id] = client
                break
            event = client.held.popleft()
            size = size_of(event)
            client.held_bytes -= size
            client.open_bytes += size
            client.usage.open_bytes += size
            if size >= SLICED_REQUEST_BYTES and self._works is not None and isinstance(event, RequestReceived):
                client.is_reading = True
                self._works.begin("large request", self._read(client, event))
                continue
            try:
                message = event.message(self._elements_max[event.api_key])
            except RemoteProtocolError as error:
                self._close_for_invalid_request(client, error)
                return
            self._handle(self._open(client, event, message))
        if client.buffered_bytes:
            self._count_buffered(client)

    def _read(self, client: ClientConnection, event: RequestReceived) -> Slices:
        """Decode a large request over many steps, and handle it; later ones of the connection wait meanwhile."""
        reading = event.message_in_slices(self._elements_max[event.api_key])
        while True:
            try:
                next(reading)
            except StopIteration as end:
                client.is_reading = False
                self._wake()
                request = self._open(client, event, end.value)
                request.is_sliced = True
                self._handle(request)
                return
            except RemoteProtocolError as error:
                self._close_for_invalid_request(client, error)
                return
            yield
            if client.is_closed:
                return

    def _open(
        self,
        client: ClientConnection,
        event: RequestReceived | UnsupportedVersionReceived,
        message: WireMessage | None,
    ) -> OpenRequest:
        context = client.context_of(event)
        use = client.last_use
        if use is None:
            use = client.last_use = self._use(client, event, message)
        use.requests += 1
        self.counters.requests += 1
        return OpenRequest(client, event, context, message, opened_ms=client.last_active_ms)

    def _use(
        self,
        client: ClientConnection,
        event: RequestReceived | UnsupportedVersionReceived,
        message: WireMessage | None,
    ) -> ApiUse:
        """Return the counter of a request. The request that names the software counts for that software."""
        name, version = client.software_name, client.software_version
        if isinstance(message, ApiVersionsRequest):
            name, version = message.client_software_name, message.client_software_version
        return self.api_uses.of(event.api_key, event.api_version, name, version)

    def _keep_early(self, client: ClientConnection, data: bytes) -> None:
        client.early += data
        self._early[client.connection_id] = client
        if len(client.early) > HELD_BYTES_MAX:
            self.counters.closed_for_flooding += 1
            self._close(client, "connection-flooded", f"{len(client.early)} bytes came while {self.holds.reason()}")
        self._count_buffered(client)

    def _close_if_flooding(self, client: ClientConnection) -> None:
        # What was under way when a client was paused is bounded with all that its address holds.
        is_over = client.held_bytes > HELD_BYTES_MAX and len(client.held) > 1
        if is_over and not client.is_paused and not client.is_closed:
            self.counters.closed_for_flooding += 1
            reason = f"{client.held_bytes} bytes of requests wait behind {client.connection.open_requests} open ones"
            held_for = self.holds.reason(client.held[0].api_key)
            self._close(client, "connection-flooded", f"{reason} while {held_for}" if held_for else reason)

    def _close_for_invalid_request(self, client: ClientConnection, error: RemoteProtocolError) -> None:
        self.counters.closed_for_garbage += 1
        event = "request-too-costly" if isinstance(error, TooManyElementsError) else "invalid-request"
        self._close(client, event, str(error))

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
