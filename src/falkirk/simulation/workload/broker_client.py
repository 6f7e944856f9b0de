"""A client with one connection to each of several brokers, which finds partition leaders by Metadata requests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.node.effects import Close, Connect, Fact, Send
from falkirk.node.events import BytesReceived, ConnectionLost, ConnectionOpened
from falkirk.protocol.connection import Connection, ResponseReceived, Role, request_bytes
from falkirk.protocol.frame import frame
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    MetadataRequest,
    MetadataResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from falkirk.node.effects import Effect
    from falkirk.node.events import Event
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage

    Answered: TypeAlias = Callable[[WireMessage | None], None]
    """Takes the answer to a request; None: nobody knows what became of it."""

REQUEST_TIMEOUT_MS: Final = 3000
_REFRESH_MS: Final = 100
_METADATA_AGE_MS_MAX: Final = 2000
# The oldest versions used here: they have batches of magic 2, offsets by timestamp, topic ids, and finalized features.
_LOWEST: Final[Mapping[int, int]] = {0: 3, 1: 4, 2: 1, 3: 10, 8: 2, 9: 1, 18: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPlace:
    """The leader and replicas of a partition, from a broker's response."""

    topic_id: bytes
    leader_id: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(slots=True)
class _Link:
    """A connection to a broker: requests that wait for it to open, and requests without a response, oldest first."""

    connection_id: int
    connection: Connection
    deadline_ms: int
    ranges: dict[int, tuple[int, int]] | None = None
    waiting: "list[tuple[WireMessage, Answered | None]]" = field(default_factory=list)
    requested: "deque[tuple[Answered, int]]" = field(default_factory=deque)


class BrokerClient(ABC):
    """Base class; a subclass implements `act`, which is called in every step, and sends its requests there."""

    def __init__(self, name: str, brokers: Mapping[int, Endpoint], chance: Chance, *, is_current: bool = False) -> None:
        """`is_current`: it speaks the newest versions; else perhaps older ones, as older clients do."""
        self.name = name
        self.chance = chance
        self.brokers = brokers
        self.now_ms = 0
        self.places: dict[tuple[str, int], PartitionPlace] = {}
        # True once only the work needed to finish is left, so that a run can end.
        self.is_over = False
        # The highest versions that it speaks, by API.
        self.version_limits: Mapping[int, int] = {}
        self._links: dict[int, _Link] = {}
        self._next_connection_id = 1
        self._effects: list[Effect] = []
        self._versions_behind = 0 if is_current else chance.choice((0, 0, 0, 1, 3, 8))
        self._refresh_at_ms = 0
        self._is_refreshing = False

    # --- For subclasses

    @abstractmethod
    def act(self) -> None:
        """Send the requests that are due."""

    @property
    @abstractmethod
    def due_ms(self) -> int | None:
        """When `act` has something to do; None: only on an event."""

    def note(self, text: str) -> None:
        """Add a line to the timeline."""
        self._effects.append(Fact("info", text))

    def ask(self, broker_id: int, request: WireMessage, done: Answered | None) -> None:
        """Send a request to a broker; `done` is None if the request has no response."""
        link = self._links.get(broker_id)
        if link is None:
            link = self._connect(broker_id)
        if link.ranges is None:
            link.waiting.append((request, done))
        else:
            self._send(broker_id, link, request, done)

    def connect(self, broker_id: int) -> bool:
        """Return whether a broker's versions are known; if not, request them."""
        link = self._links.get(broker_id)
        if link is None:
            link = self._connect(broker_id)
        return link.ranges is not None

    def version(self, broker_id: int, key: int) -> int | None:
        """Return the version of requests of an API to a broker; None if not known yet."""
        link = self._links.get(broker_id)
        return None if link is None or link.ranges is None else self._usable(link.ranges, key)

    def refresh(self) -> None:
        """Schedule a Metadata request: the known leaders are out of date."""
        self._refresh_at_ms = min(self._refresh_at_ms, self.now_ms + _REFRESH_MS)

    # --- Program

    def step(self, events: Sequence[Event], now_ms: int) -> Sequence[Effect]:
        """Process events, and send the requests that are due."""
        self._effects = []
        self.now_ms = now_ms
        for event in events:
            self._handle(event)
        for broker_id, link in list(self._links.items()):
            if now_ms >= _deadline(link):
                self._lose(broker_id, link)
        self._keep_fresh()
        self.act()
        return self._effects

    @property
    def next_wakeup_ms(self) -> int | None:
        """When a timeout or a request is due."""
        times = [_deadline(link) for link in self._links.values() if link.ranges is None or link.requested]
        if not self._is_refreshing:
            times.append(self._refresh_at_ms)
        if self.due_ms is not None:
            times.append(self.due_ms)
        return min(times, default=None)

    # --- Inside

    def _handle(self, event: Event) -> None:
        match event:
            case ConnectionOpened(connection_id):
                for link in self._links.values():
                    if link.connection_id == connection_id:
                        _, data = link.connection.send_request(ApiVersionsRequest(), 0)
                        self._effects.append(Send(connection_id, data))
            case BytesReceived(connection_id, data):
                for broker_id, link in list(self._links.items()):
                    if link.connection_id == connection_id:
                        self._receive(broker_id, link, data)
            case ConnectionLost(connection_id, _):
                for broker_id, link in list(self._links.items()):
                    if link.connection_id == connection_id:
                        self._lose(broker_id, link)
            case _:
                pass  # a client is not asked to stop

    def _connect(self, broker_id: int) -> _Link:
        connection = Connection(role=Role.CLIENT, client_id=self.name)
        link = _Link(self._next_connection_id, connection, self.now_ms + REQUEST_TIMEOUT_MS)
        self._next_connection_id += 2
        self._links[broker_id] = link
        self._effects.append(Connect(link.connection_id, self.brokers[broker_id], "PLAINTEXT"))
        return link

    def _send(self, broker_id: int, link: _Link, request: WireMessage, done: Answered | None) -> None:
        key = request.SCHEMA.info.key
        assert key is not None
        assert link.ranges is not None
        version = self._usable(link.ranges, key)
        if version is None:
            self.note(f"broker {broker_id} does not serve {type(request).__name__}")
            self._lose(broker_id, link)
            if done is not None:
                done(None)
        elif done is None:
            data = request_bytes(request, version, correlation_id=-1, client_id=self.name)
            self._effects.append(Send(link.connection_id, frame(data)))
        else:
            _, data = link.connection.send_request(request, version)
            link.requested.append((done, self.now_ms + REQUEST_TIMEOUT_MS))
            self._effects.append(Send(link.connection_id, data))

    def _usable(self, ranges: Mapping[int, tuple[int, int]], key: int) -> int | None:
        lowest, highest = ranges.get(key, (0, -1))
        if highest < lowest:
            return None
        highest = min(highest, self.version_limits.get(key, highest))
        return max(lowest, _LOWEST.get(key, 0), highest - self._versions_behind)

    def _receive(self, broker_id: int, link: _Link, data: bytes) -> None:
        for received in link.connection.receive_data(data):
            assert isinstance(received, ResponseReceived)
            response = received.message()
            if isinstance(response, ApiVersionsResponse) and link.ranges is None:
                link.ranges = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
                waiting, link.waiting = link.waiting, []
                for request, done in waiting:
                    self.ask(broker_id, request, done)
            else:
                done, _ = link.requested.popleft()
                done(response)

    def _lose(self, broker_id: int, link: _Link) -> None:
        """Drop a connection; the outcome of its open requests is unknown."""
        if self._links.get(broker_id) is not link:
            return
        del self._links[broker_id]
        self._effects.append(Close(link.connection_id))
        self.refresh()
        for done, _ in link.requested:
            done(None)
        for _, never_sent in link.waiting:
            if never_sent is not None:
                never_sent(None)

    def _keep_fresh(self) -> None:
        if self._is_refreshing or self.now_ms < self._refresh_at_ms:
            return
        self._is_refreshing = True
        self._refresh_at_ms = self.now_ms + _METADATA_AGE_MS_MAX
        broker_id = self.chance.choice(sorted(self.brokers))
        self.ask(broker_id, MetadataRequest(topics=None, allow_auto_topic_creation=False), self._refreshed)

    def _refreshed(self, response: WireMessage | None) -> None:
        self._is_refreshing = False
        if response is None:
            self.refresh()
            return
        assert isinstance(response, MetadataResponse)
        known = self.places
        self.places = {}
        for topic in response.topics:
            for partition in topic.partitions:
                assert topic.name is not None, "names are asked for"
                key = topic.name, partition.partition_index
                place = PartitionPlace(
                    topic_id=topic.topic_id,
                    leader_id=partition.leader_id,
                    leader_epoch=partition.leader_epoch,
                    replicas=partition.replica_nodes,
                    isr=partition.isr_nodes,
                )
                before = known.get(key)
                # A broker that is behind reports outdated leaders.
                is_older = before is not None and _is_older(place, before)
                self.places[key] = before if before is not None and is_older else place


def _is_older(place: PartitionPlace, known: PartitionPlace) -> bool:
    return place.topic_id == known.topic_id and 0 <= place.leader_epoch < known.leader_epoch


def _deadline(link: _Link) -> int:
    if link.ranges is None:
        return link.deadline_ms
    return link.requested[0][1] if link.requested else 1 << 62
