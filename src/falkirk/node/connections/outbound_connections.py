"""Connections to other nodes: one for each endpoint and purpose, as in Kafka.

A request waits until its connection is open and versions are negotiated, which happens again after each reconnect. One
request at a time is in flight on a connection, others queue behind it. A request that times out costs the connection: a
late response could not be told from the next one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, assert_never

from falkirk.node.effects import Close, Connect, Fact, Send
from falkirk.protocol.connection import API_VERSIONS, Connection, ResponseReceived, Role
from falkirk.protocol.endpoint import Endpoint  # noqa: TC001
from falkirk.protocol.error_codes import error_name
from falkirk.protocol.errors import RemoteProtocolError, UnsupportedVersionError
from falkirk.protocol.messages import ApiVersionsRequest, FetchRequest
from falkirk.protocol.sasl.client_exchange import NextRequest, SaslRefusal
from falkirk.protocol.schema import WireMessage  # noqa: TC001
from falkirk.raft.replication_follower import fit_fetch_request
from falkirk.versions.client_handshake import ClientHandshake, ConnectionReady, VersionsRefusal
from falkirk.versions.negotiation import highest_usable
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from falkirk.node.effects import Effect
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.sasl.login import Login
    from falkirk.versions.client_handshake import HandshakeStep
    from falkirk.versions.release import Release

# reconnect.backoff.ms and reconnect.backoff.max.ms of the quorum's own client.
RECONNECT_BACKOFF_MS: Final = 50
RECONNECT_BACKOFF_MAX_MS: Final = 500
# Requests that may queue for one remote.
QUEUED_REQUESTS_MAX: Final = 1000


@dataclass(frozen=True, slots=True)
class RequestFailure:
    """Why a request gets no response. `is_unsupported_version`: the other side has no version that can express it."""

    reason: str
    is_unsupported_version: bool = False


@dataclass(slots=True, eq=False)
class _Request:
    message: WireMessage
    deadline_ms: int
    done: "Callable[[WireMessage | RequestFailure], None]"
    fit: "Callable[[WireMessage, int], object] | None"
    version_max: int | None
    # It is put off until then; None once that has come.
    put_off_until_ms: int | None = None


@dataclass(slots=True, eq=False)
class _Remote:
    """One endpoint and purpose. `ranges` None: versions are not negotiated."""

    purpose: str
    endpoint: Endpoint
    listener: str
    queue: deque[_Request] = field(default_factory=deque)
    connection_id: int | None = None
    connection: Connection | None = None
    ranges: "Mapping[int, SupportedRange] | None" = None
    # Runs before the first request, and again before the session of a login ends.
    handshake: ClientHandshake | None = None
    is_shaking_hands: bool = False
    reauthenticate_at_ms: int | None = None
    in_flight: _Request | None = None
    failures: int = 0
    retry_at_ms: int = 0
    # When the connection must be open and negotiated.
    setup_deadline_ms: int = 0
    last_used_ms: int = 0

    @property
    def is_ready(self) -> bool:
        """True if requests can be sent: versions are negotiated and the node is authenticated."""
        return self.ranges is not None and not self.is_shaking_hands


class OutboundConnections:
    """All connections that the node opens. Effects go to `effects` at once.

    `setup_timeout_ms`: until a connection must be open and negotiated; `idle_ms_max`: after which it is closed.
    `logins`: how to authenticate, by the name of the other side's listener.
    """

    def __init__(
        self,
        release: Release,
        *,
        node_id: int,
        listener: str,
        effects: Callable[[Effect], None],
        setup_timeout_ms: int,
        idle_ms_max: int,
        logins: Mapping[str, Login],
        random: Chance,
    ) -> None:
        self._own = {key: api.stable_versions for key, api in release.apis.items() if api.stable_versions is not None}
        self._versions_request = ApiVersionsRequest(
            client_software_name="falkirk", client_software_version=release.name
        )
        self._node_id = node_id
        self._listener = listener
        self._effects = effects
        self._setup_timeout_ms = setup_timeout_ms
        self._idle_ms_max = idle_ms_max
        self._logins = logins
        self._random = random
        self._remotes: dict[tuple[str, Endpoint], _Remote] = {}
        self._by_connection: dict[int, _Remote] = {}
        self._next_connection_id = 1

    # --- Requests of the node

    def send(
        self,
        purpose: str,
        endpoint: Endpoint,
        message: WireMessage,
        *,
        timeout_ms: int,
        now_ms: int,
        done: Callable[[WireMessage | RequestFailure], None],
        listener: str | None = None,
        fit: Callable[[WireMessage, int], object] | None = None,
        version_max: int | None = None,
        delay_ms: int = 0,
    ) -> None:
        """Send a request in the highest version that both sides know; `done` is called once, now or later.

        `listener`: whose security settings the other side has; by default that of the controllers. `fit` is called with
        the message and its version before it is encoded, to adapt it; `version_max`: no version above it. `delay_ms`:
        how long it is put off, and what queues behind it with it.
        """
        remote = self._remote(purpose, endpoint, listener)
        if len(remote.queue) >= QUEUED_REQUESTS_MAX:
            done(RequestFailure(f"{QUEUED_REQUESTS_MAX} requests to {endpoint} are waiting already"))
            return
        put_off_until_ms = now_ms + delay_ms if delay_ms else None
        remote.queue.append(_Request(message, now_ms + timeout_ms, done, fit, version_max, put_off_until_ms))
        self._advance(remote, now_ms)

    def connect(self, purpose: str, endpoint: Endpoint, now_ms: int) -> None:
        """Open a connection if there is none, without a request; not before the backoff of a failure is over."""
        remote = self._remote(purpose, endpoint)
        if remote.connection_id is None and now_ms >= remote.retry_at_ms:
            self._connect(remote, now_ms)

    def ranges(self, purpose: str, endpoint: Endpoint) -> Mapping[int, SupportedRange] | None:
        """Return the versions that the other side offered; None while it is not connected."""
        remote = self._remotes.get((purpose, endpoint))
        return None if remote is None else remote.ranges

    def disconnect(self, purpose: str, endpoint: Endpoint, reason: str, now_ms: int) -> None:
        """Close a connection, so that the next request negotiates again."""
        remote = self._remotes.get((purpose, endpoint))
        if remote is not None and remote.connection_id is not None:
            self._drop(remote, reason, now_ms, is_failure=False)

    # --- Events of the driver

    def opened(self, connection_id: int, now_ms: int) -> None:
        """Begin to negotiate on a connection that is open now."""
        remote = self._by_connection.get(connection_id)
        if remote is not None:
            remote.connection = Connection(role=Role.CLIENT, client_id=str(self._node_id))
            remote.last_used_ms = now_ms
            remote.handshake = ClientHandshake(
                self._versions_request,
                self._own[API_VERSIONS],
                login=self._logins.get(remote.listener),
                random=self._random,
            )
            self._shake_hands(remote, remote.handshake.begin(), now_ms)

    def received(self, connection_id: int, data: bytes, now_ms: int) -> None:
        """Handle the responses that these bytes complete."""
        remote = self._by_connection.get(connection_id)
        if remote is None or remote.connection is None:
            return
        remote.last_used_ms = now_ms
        try:
            for event in remote.connection.receive_data(data):
                assert isinstance(event, ResponseReceived), "a client gets answers"
                self._receive_response(remote, event, now_ms)
                if remote.connection_id != connection_id:
                    break
        except RemoteProtocolError as error:
            self._drop(remote, f"{remote.endpoint} sent what cannot be read: {error}", now_ms)

    def lost(self, connection_id: int, reason: str, now_ms: int) -> None:
        """Remove a connection that was closed, or could not be opened."""
        remote = self._by_connection.get(connection_id)
        if remote is not None:
            self._drop(remote, reason, now_ms, is_gone=True)

    def owns(self, connection_id: int) -> bool:
        """Return whether the node opened this connection."""
        return connection_id % 2 == 1

    def tick(self, now_ms: int) -> None:
        """Fail what has timed out, and reconnect where the backoff is over."""
        for remote in list(self._remotes.values()):
            self._tick_remote(remote, now_ms)

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        return min((time for remote in self._remotes.values() for time in self._times(remote)), default=None)

    def close(self) -> None:
        """Close all connections; no `done` is called any more."""
        for connection_id in self._by_connection:
            self._effects(Close(connection_id))
        self._remotes.clear()
        self._by_connection.clear()

    # --- Inside

    def _remote(self, purpose: str, endpoint: Endpoint, listener: str | None = None) -> _Remote:
        remote = self._remotes.get((purpose, endpoint))
        if remote is None:
            remote = self._remotes[purpose, endpoint] = _Remote(purpose, endpoint, listener or self._listener)
        return remote

    def _times(self, remote: _Remote) -> Iterator[int]:
        put_off_until_ms = remote.queue[0].put_off_until_ms if remote.queue else None
        if put_off_until_ms is not None:
            yield put_off_until_ms
        if remote.connection_id is not None:
            if not remote.is_ready:
                yield remote.setup_deadline_ms
            elif remote.in_flight is None and not remote.queue:
                yield remote.last_used_ms + self._idle_ms_max
        elif remote.queue and put_off_until_ms is None:
            yield remote.retry_at_ms
        if remote.in_flight is not None:
            yield remote.in_flight.deadline_ms
        if remote.queue:
            yield min(request.deadline_ms for request in remote.queue)

    def _tick_remote(self, remote: _Remote, now_ms: int) -> None:
        late = [request for request in remote.queue if request.deadline_ms <= now_ms]
        for request in late:
            remote.queue.remove(request)
        if remote.in_flight is not None and remote.in_flight.deadline_ms <= now_ms:
            self._drop(remote, f"{remote.endpoint} did not answer in time", now_ms)
        elif remote.connection_id is not None and not remote.is_ready and remote.setup_deadline_ms <= now_ms:
            self._drop(remote, f"no connection to {remote.endpoint} in time", now_ms)
        elif self._is_idle(remote, now_ms):
            self._drop(remote, "idle", now_ms, is_failure=False)
        for request in late:
            request.done(RequestFailure(f"no connection to {remote.endpoint} in time"))
        self._advance(remote, now_ms)

    def _is_idle(self, remote: _Remote, now_ms: int) -> bool:
        return (
            remote.is_ready
            and remote.in_flight is None
            and not remote.queue
            and now_ms - remote.last_used_ms >= self._idle_ms_max
        )

    def _advance(self, remote: _Remote, now_ms: int) -> None:
        """Send the next request, or connect, or re-authenticate, which it needs first."""
        while remote.queue and remote.in_flight is None:
            put_off_until_ms = remote.queue[0].put_off_until_ms
            if put_off_until_ms is not None and now_ms < put_off_until_ms:
                return
            remote.queue[0].put_off_until_ms = None
            if remote.connection_id is None:
                if now_ms >= remote.retry_at_ms:
                    self._connect(remote, now_ms)
                return
            if remote.ranges is None or remote.is_shaking_hands:
                return
            if remote.reauthenticate_at_ms is not None and now_ms >= remote.reauthenticate_at_ms:
                assert remote.handshake is not None, "the connection stands"
                remote.setup_deadline_ms = now_ms + self._setup_timeout_ms
                self._shake_hands(remote, remote.handshake.reauthenticate(), now_ms)
                return
            self._send_next(remote, remote.ranges, now_ms)

    def _connect(self, remote: _Remote, now_ms: int) -> None:
        remote.connection_id = self._next_connection_id
        self._next_connection_id += 2
        remote.setup_deadline_ms = now_ms + self._setup_timeout_ms
        self._by_connection[remote.connection_id] = remote
        self._effects(Connect(remote.connection_id, remote.endpoint, remote.listener))

    def _send_next(self, remote: _Remote, ranges: Mapping[int, SupportedRange], now_ms: int) -> None:
        assert remote.connection is not None
        assert remote.connection_id is not None
        request = remote.queue.popleft()
        key = request.message.SCHEMA.info.key
        assert key is not None, "a request has a key"
        name = type(request.message).__name__
        # ApiVersions always carries the node's own software name.
        message = self._versions_request if key == API_VERSIONS else request.message
        own = self._own.get(key)
        if own is not None and request.version_max is not None:
            own = own.intersection(SupportedRange(0, request.version_max))
        version = None if own is None else highest_usable(own, ranges.get(key))
        if version is None:
            theirs = ranges.get(key) or "none"
            reason = f"{name} is known here in versions {own or 'none'}, to {remote.endpoint} in {theirs}"
            request.done(RequestFailure(reason, is_unsupported_version=True))
            return
        if isinstance(message, FetchRequest):
            fit_fetch_request(message, version)
        if request.fit is not None:
            request.fit(message, version)
        try:
            _, data = remote.connection.send_request(message, version)
        except UnsupportedVersionError as error:
            reason = f"{name} v{version} to {remote.endpoint}: {error}"
            request.done(RequestFailure(reason, is_unsupported_version=True))
            return
        remote.in_flight = request
        remote.last_used_ms = now_ms
        self._effects(Send(remote.connection_id, data))

    def _receive_response(self, remote: _Remote, event: ResponseReceived, now_ms: int) -> None:
        message = event.message()
        if remote.is_shaking_hands:
            assert remote.handshake is not None, "it has begun"
            step = remote.handshake.receive(message)
            remote.ranges = remote.handshake.offered
            self._shake_hands(remote, step, now_ms)
            return
        request, remote.in_flight = remote.in_flight, None
        assert request is not None, "the connection returns no other responses"
        request.done(message)
        self._advance(remote, now_ms)

    def _shake_hands(self, remote: _Remote, step: HandshakeStep, now_ms: int) -> None:
        """Act on a step of the handshake: versions and SASL, on a new connection or before a session ends."""
        assert remote.connection is not None
        assert remote.connection_id is not None
        remote.is_shaking_hands = True
        match step:
            case NextRequest(message, version):
                _, data = remote.connection.send_request(message, version)
                self._effects(Send(remote.connection_id, data))
            case VersionsRefusal(error_code):
                self._drop(remote, f"{remote.endpoint} answers ApiVersions with {error_name(error_code)}", now_ms)
            case SaslRefusal(reason):
                self._drop(remote, f"Failed authentication with {remote.endpoint}: {reason}", now_ms)
            case ConnectionReady(after_ms):
                remote.is_shaking_hands = False
                remote.reauthenticate_at_ms = None if after_ms is None else now_ms + after_ms
                remote.failures = 0
                self._advance(remote, now_ms)
            case _:
                assert_never(step)

    def _drop(
        self, remote: _Remote, reason: str, now_ms: int, *, is_gone: bool = False, is_failure: bool = True
    ) -> None:
        """Remove a connection; fail the request in flight, and the queue if the connection was never ready."""
        assert remote.connection_id is not None
        failed = [remote.in_flight] if remote.in_flight is not None else []
        if not remote.is_ready:
            failed.extend(remote.queue)
            remote.queue.clear()
        del self._by_connection[remote.connection_id]
        if not is_gone:
            self._effects(Close(remote.connection_id))
        remote.connection_id = remote.connection = remote.ranges = remote.in_flight = None
        remote.handshake = remote.reauthenticate_at_ms = None
        remote.is_shaking_hands = False
        if is_failure:
            backoff = RECONNECT_BACKOFF_MS << min(remote.failures, 10)
            remote.retry_at_ms = now_ms + min(backoff, RECONNECT_BACKOFF_MAX_MS)
            remote.failures += 1
            fields = {"endpoint": str(remote.endpoint), "purpose": remote.purpose, "reason": reason}
            # A remote that stays away is logged once.
            self._effects(Fact("info" if remote.failures == 1 else "debug", "peer-disconnected", fields))
        for request in failed:
            request.done(RequestFailure(reason))
