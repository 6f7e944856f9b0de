"""Connections to other nodes: one for each endpoint and purpose, as Kafka has them.

A request waits until its connection stands and versions are negotiated; that is done anew after every reconnect. One
request at a time is on its way on a connection, others queue up behind it. A request that is not answered in time
costs the connection, for what comes late on it could not be told apart.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.node.effects import Close, Connect, Fact, Send
from falkirk.protocol.connection import API_VERSIONS, Connection, ResponseReceived, Role
from falkirk.protocol.error_codes import ErrorCode, error_name
from falkirk.protocol.errors import RemoteProtocolError, UnsupportedVersionError
from falkirk.protocol.messages import ApiVersionsRequest, ApiVersionsResponse, FetchRequest
from falkirk.protocol.sasl.client_exchange import SaslClientExchange, SaslQuestion, SaslRefusal
from falkirk.raft.replication_follower import fit_fetch_request
from falkirk.versions.negotiation import highest_usable
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from falkirk.node.effects import Effect
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.sasl.client_exchange import SaslStep
    from falkirk.protocol.sasl.login import Login
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.release import Release

# reconnect.backoff.ms and reconnect.backoff.max.ms of the quorum's own client.
RECONNECT_BACKOFF_MS: Final = 50
RECONNECT_BACKOFF_MAX_MS: Final = 500
# What waits for one peer at most: more than that is a peer that is gone, and callers that do not give up.
QUEUED_REQUESTS_MAX: Final = 1000


@dataclass(frozen=True, slots=True)
class PeerFailure:
    """There will be no answer. `is_unsupported_version`: the peer has no version that can say what we want to."""

    reason: str
    is_unsupported_version: bool = False


@dataclass(slots=True, eq=False)
class _Request:
    message: WireMessage
    deadline_ms: int
    done: Callable[[WireMessage | PeerFailure], None]
    fit: Callable[[WireMessage, int], object] | None
    version_max: int | None


@dataclass(slots=True, eq=False)
class _Peer:
    """One endpoint and purpose. `ranges` None: not negotiated (yet)."""

    purpose: str
    endpoint: Endpoint
    listener: str
    queue: deque[_Request] = field(default_factory=deque)
    connection_id: int | None = None
    connection: Connection | None = None
    ranges: Mapping[int, SupportedRange] | None = None
    # What is asked at the beginning where the other side wants SASL, and again before the session ends.
    authentication: SaslClientExchange | None = None
    reauthenticate_at_ms: int | None = None
    in_flight: _Request | None = None
    failures: int = 0
    retry_at_ms: int = 0
    # When the connection must stand and be negotiated.
    setup_deadline_ms: int = 0
    last_used_ms: int = 0

    @property
    def is_ready(self) -> bool:
        """Say whether requests can be sent: versions are negotiated, and the node has said who it is."""
        return self.ranges is not None and self.authentication is None


class Peers:
    """All connections that the node opens. What is to be done goes to `effects` at once.

    `setup_timeout_ms`: within which a connection must stand and be negotiated; `idle_ms_max`: after which it is closed.
    `logins`: as whom to authenticate, by the name of the other side's listener.
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
        self._peers: dict[tuple[str, Endpoint], _Peer] = {}
        self._by_connection: dict[int, _Peer] = {}
        self._next_connection_id = 1

    # --- What the node asks for

    def send(
        self,
        purpose: str,
        endpoint: Endpoint,
        message: WireMessage,
        *,
        timeout_ms: int,
        now_ms: int,
        done: Callable[[WireMessage | PeerFailure], None],
        listener: str | None = None,
        fit: Callable[[WireMessage, int], object] | None = None,
        version_max: int | None = None,
    ) -> None:
        """Send a request in the highest version that both know; `done` is called once, now or later.

        `listener`: whose security settings the other side has; by default that of the controllers. `fit` is called
        once the version is known, to say the message as that wants it; `version_max`: no version above it.
        """
        peer = self._peer(purpose, endpoint, listener)
        if len(peer.queue) >= QUEUED_REQUESTS_MAX:
            done(PeerFailure(f"{QUEUED_REQUESTS_MAX} requests to {endpoint} are waiting already"))
            return
        peer.queue.append(_Request(message, now_ms + timeout_ms, done, fit, version_max))
        self._advance(peer, now_ms)

    def connect(self, purpose: str, endpoint: Endpoint, now_ms: int) -> None:
        """Open a connection if there is none, without a request; after a failure not at once."""
        peer = self._peer(purpose, endpoint)
        if peer.connection_id is None and now_ms >= peer.retry_at_ms:
            self._connect(peer, now_ms)

    def ranges(self, purpose: str, endpoint: Endpoint) -> Mapping[int, SupportedRange] | None:
        """Give the versions that a peer told on its present connection."""
        peer = self._peers.get((purpose, endpoint))
        return None if peer is None else peer.ranges

    def disconnect(self, purpose: str, endpoint: Endpoint, reason: str, now_ms: int) -> None:
        """Close a connection, so that the next request negotiates anew."""
        peer = self._peers.get((purpose, endpoint))
        if peer is not None and peer.connection_id is not None:
            self._drop(peer, reason, now_ms, is_failure=False)

    # --- What the driver tells

    def opened(self, connection_id: int, now_ms: int) -> None:
        """Begin to negotiate on a connection that stands now."""
        peer = self._by_connection.get(connection_id)
        if peer is not None:
            peer.connection = Connection(role=Role.CLIENT, client_id=str(self._node_id))
            peer.last_used_ms = now_ms
            self._ask_versions(peer, self._own[API_VERSIONS].highest)

    def received(self, connection_id: int, data: bytes, now_ms: int) -> None:
        """Take in bytes."""
        peer = self._by_connection.get(connection_id)
        if peer is None or peer.connection is None:
            return
        peer.last_used_ms = now_ms
        try:
            for event in peer.connection.receive_data(data):
                assert isinstance(event, ResponseReceived), "a client gets answers"
                self._take_response(peer, event, now_ms)
                if peer.connection_id != connection_id:
                    break
        except RemoteProtocolError as error:
            self._drop(peer, f"{peer.endpoint} sent what cannot be read: {error}", now_ms)

    def lost(self, connection_id: int, reason: str, now_ms: int) -> None:
        """Take note that a connection is gone, or could not be opened."""
        peer = self._by_connection.get(connection_id)
        if peer is not None:
            self._drop(peer, reason, now_ms, is_gone=True)

    def owns(self, connection_id: int) -> bool:
        """Say whether the node opened this connection."""
        return connection_id % 2 == 1

    def tick(self, now_ms: int) -> None:
        """Give up what takes too long, and connect anew where it is time to."""
        for peer in list(self._peers.values()):
            self._tick_peer(peer, now_ms)

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `tick` has something to do."""
        return min((time for peer in self._peers.values() for time in self._times(peer)), default=None)

    def close(self) -> None:
        """Close all connections; nobody is called any more."""
        for connection_id in self._by_connection:
            self._effects(Close(connection_id))
        self._peers.clear()
        self._by_connection.clear()

    # --- Inside

    def _peer(self, purpose: str, endpoint: Endpoint, listener: str | None = None) -> _Peer:
        peer = self._peers.get((purpose, endpoint))
        if peer is None:
            peer = self._peers[purpose, endpoint] = _Peer(purpose, endpoint, listener or self._listener)
        return peer

    def _times(self, peer: _Peer) -> Iterator[int]:
        if peer.connection_id is not None:
            if not peer.is_ready:
                yield peer.setup_deadline_ms
            elif peer.in_flight is None:
                yield peer.last_used_ms + self._idle_ms_max
        elif peer.queue:
            yield peer.retry_at_ms
        if peer.in_flight is not None:
            yield peer.in_flight.deadline_ms
        if peer.queue:
            yield min(request.deadline_ms for request in peer.queue)

    def _tick_peer(self, peer: _Peer, now_ms: int) -> None:
        late = [request for request in peer.queue if request.deadline_ms <= now_ms]
        for request in late:
            peer.queue.remove(request)
        if peer.in_flight is not None and peer.in_flight.deadline_ms <= now_ms:
            self._drop(peer, f"{peer.endpoint} did not answer in time", now_ms)
        elif peer.connection_id is not None and not peer.is_ready and peer.setup_deadline_ms <= now_ms:
            self._drop(peer, f"no connection to {peer.endpoint} in time", now_ms)
        elif self._is_idle(peer, now_ms):
            self._drop(peer, "idle", now_ms, is_failure=False)
        for request in late:
            request.done(PeerFailure(f"no connection to {peer.endpoint} in time"))
        self._advance(peer, now_ms)

    def _is_idle(self, peer: _Peer, now_ms: int) -> bool:
        return (
            peer.is_ready
            and peer.in_flight is None
            and not peer.queue
            and now_ms - peer.last_used_ms >= self._idle_ms_max
        )

    def _advance(self, peer: _Peer, now_ms: int) -> None:
        """Send the next request, or do what it takes to be able to."""
        while peer.queue and peer.in_flight is None:
            if peer.connection_id is None:
                if now_ms >= peer.retry_at_ms:
                    self._connect(peer, now_ms)
                return
            if peer.ranges is None or peer.authentication is not None:
                return
            if peer.reauthenticate_at_ms is not None and now_ms >= peer.reauthenticate_at_ms:
                self._authenticate(peer, peer.ranges, now_ms)
                return
            self._send_next(peer, peer.ranges, now_ms)

    def _connect(self, peer: _Peer, now_ms: int) -> None:
        peer.connection_id = self._next_connection_id
        self._next_connection_id += 2
        peer.setup_deadline_ms = now_ms + self._setup_timeout_ms
        self._by_connection[peer.connection_id] = peer
        self._effects(Connect(peer.connection_id, peer.endpoint, peer.listener))

    def _ask_versions(self, peer: _Peer, version: int) -> None:
        assert peer.connection is not None
        assert peer.connection_id is not None
        _, data = peer.connection.send_request(self._versions_request, version)
        self._effects(Send(peer.connection_id, data))

    def _send_next(self, peer: _Peer, ranges: Mapping[int, SupportedRange], now_ms: int) -> None:
        assert peer.connection is not None
        assert peer.connection_id is not None
        request = peer.queue.popleft()
        key = request.message.SCHEMA.info.key
        assert key is not None, "a request has a key"
        name = type(request.message).__name__
        # Whoever asks for versions asks in the node's name.
        message = self._versions_request if key == API_VERSIONS else request.message
        own = self._own.get(key)
        if own is not None and request.version_max is not None:
            own = own.intersection(SupportedRange(0, request.version_max))
        version = None if own is None else highest_usable(own, ranges.get(key))
        if version is None:
            reason = (
                f"{name} is known here in versions {own or 'none'}, to {peer.endpoint} in {ranges.get(key) or 'none'}"
            )
            request.done(PeerFailure(reason, is_unsupported_version=True))
            return
        if isinstance(message, FetchRequest):
            fit_fetch_request(message, version)
        if request.fit is not None:
            request.fit(message, version)
        try:
            _, data = peer.connection.send_request(message, version)
        except UnsupportedVersionError as error:
            reason = f"{name} v{version} to {peer.endpoint}: {error}"
            request.done(PeerFailure(reason, is_unsupported_version=True))
            return
        peer.in_flight = request
        peer.last_used_ms = now_ms
        self._effects(Send(peer.connection_id, data))

    def _take_response(self, peer: _Peer, event: ResponseReceived, now_ms: int) -> None:
        message = event.message()
        if peer.ranges is None:
            assert isinstance(message, ApiVersionsResponse), "nothing else was asked before"
            self._take_versions(peer, event, message, now_ms)
            return
        if peer.authentication is not None:
            self._go_on_authenticating(peer, peer.authentication.take(message), now_ms)
            return
        request, peer.in_flight = peer.in_flight, None
        assert request is not None, "the connection tells of no other answers"
        request.done(message)
        self._advance(peer, now_ms)

    def _take_versions(self, peer: _Peer, event: ResponseReceived, message: ApiVersionsResponse, now_ms: int) -> None:
        offered = {
            api.api_key: SupportedRange(api.min_version, api.max_version)
            for api in message.api_keys
            if api.min_version <= api.max_version
        }
        if message.error_code == ErrorCode.UNSUPPORTED_VERSION and event.api_version > 0:
            lower = highest_usable(self._own[API_VERSIONS], offered.get(API_VERSIONS))
            self._ask_versions(peer, 0 if lower is None or lower >= event.api_version else lower)
        elif message.error_code:
            self._drop(peer, f"{peer.endpoint} answers ApiVersions with {error_name(message.error_code)}", now_ms)
        else:
            peer.ranges = offered
            if peer.listener in self._logins:
                self._authenticate(peer, offered, now_ms)
            else:
                peer.failures = 0
                self._advance(peer, now_ms)

    def _authenticate(self, peer: _Peer, ranges: Mapping[int, SupportedRange], now_ms: int) -> None:
        """Say who the node is, on a new connection or again."""
        if peer.reauthenticate_at_ms is not None:
            peer.setup_deadline_ms = now_ms + self._setup_timeout_ms
        peer.authentication = SaslClientExchange(self._logins[peer.listener], ranges, self._random)
        self._go_on_authenticating(peer, peer.authentication.begin(), now_ms)

    def _go_on_authenticating(self, peer: _Peer, step: SaslStep, now_ms: int) -> None:
        assert peer.connection is not None
        assert peer.connection_id is not None
        if isinstance(step, SaslRefusal):
            self._drop(peer, f"Failed authentication with {peer.endpoint}: {step.reason}", now_ms)
            return
        if isinstance(step, SaslQuestion):
            _, data = peer.connection.send_request(step.message, step.version)
            self._effects(Send(peer.connection_id, data))
            return
        after_ms = step.reauthenticate_after_ms
        peer.authentication = None
        peer.reauthenticate_at_ms = None if after_ms is None else now_ms + after_ms
        peer.failures = 0
        self._advance(peer, now_ms)

    def _drop(self, peer: _Peer, reason: str, now_ms: int, *, is_gone: bool = False, is_failure: bool = True) -> None:
        """Forget a connection; what was on its way has failed, and all that waits for one that cannot be had."""
        assert peer.connection_id is not None
        failed = [peer.in_flight] if peer.in_flight is not None else []
        if not peer.is_ready:
            failed.extend(peer.queue)
            peer.queue.clear()
        del self._by_connection[peer.connection_id]
        if not is_gone:
            self._effects(Close(peer.connection_id))
        peer.connection_id = peer.connection = peer.ranges = peer.in_flight = None
        peer.authentication = peer.reauthenticate_at_ms = None
        if is_failure:
            backoff = RECONNECT_BACKOFF_MS << min(peer.failures, 10)
            peer.retry_at_ms = now_ms + min(backoff, RECONNECT_BACKOFF_MAX_MS)
            peer.failures += 1
            fields = {"endpoint": str(peer.endpoint), "purpose": peer.purpose, "reason": reason}
            # A peer that stays away is told of once.
            self._effects(Fact("info" if peer.failures == 1 else "debug", "peer-disconnected", fields))
        for request in failed:
            request.done(PeerFailure(reason))
