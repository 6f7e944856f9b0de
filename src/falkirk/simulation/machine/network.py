"""A network of TCP-like connections between hosts: bytes arrive in order or the connection breaks.

The fault model:
- Every write has its own delay, and may arrive in pieces.
- A connection may break at any write: bytes in flight are lost, and both ends are notified, at different times.
- A request may arrive a second time, later, on a connection of its own, as from a proxy that repeats it; so requests
  are duplicated and reordered. The response to the copy is dropped.
- A host may be cut off from another, in one direction or both: bytes wait; after a while the connection breaks.
- Connecting to a host that is down fails at once, to one that is cut off after a timeout.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from falkirk.node.events import BytesReceived, ConnectionAccepted, ConnectionLost, ConnectionOpened
from falkirk.simulation.machine.wire_watch import Conversation

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.events import Event
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.simulation.machine.clock import Clock
    from falkirk.simulation.machine.wire_watch import WireWatch

CONNECT_TIMEOUT_MS = 3000
STALLED_MS_MAX = 4000


@dataclass(slots=True, kw_only=True)
class NetworkConditions:
    """The network's current faults. Delays in ms, both ends included; the others are probabilities per write."""

    delay_ms_min: int = 1
    delay_ms_max: int = 4
    breaks: float = 0.0
    repeats: float = 0.0
    cuts_writes: float = 0.0


@dataclass(slots=True)
class _Direction:
    """The bytes in flight from one end to the other, in order."""

    source: str
    target: str
    target_id: int
    waiting: deque[tuple[int, bytes | None]] = field(default_factory=deque)  # (due, bytes); None: closed
    last_due_ms: int = 0
    stalled_since_ms: int | None = None
    is_pumping: bool = False


@dataclass(slots=True, eq=False)
class _Link:
    """A connection: `forward` goes to the host that accepted it. Responses on a ghost link are dropped."""

    forward: _Direction
    backward: _Direction
    listener: str
    is_open: bool = True
    is_ghost: bool = False
    conversation: Conversation = field(init=False)

    def __post_init__(self) -> None:
        self.conversation = Conversation(self.forward.source, (self.forward.target, self.listener))


class Network:
    """Connects hosts by name. `deliver(host, event)` hands a host the events of its connections."""

    def __init__(
        self,
        clock: Clock,
        chance: Chance,
        deliver: Callable[[str, Event], None],
        conditions: NetworkConditions,
    ) -> None:
        self.conditions = conditions
        self._clock = clock
        self._chance = chance
        self._deliver = deliver
        self._listening: dict[Endpoint, tuple[str, str]] = {}
        self._links: dict[tuple[str, int], _Link] = {}
        self._next_accepted = 2
        self._cut_off: dict[tuple[str, str], bool] = {}
        # How often a host went down: connection ids start over with each start.
        self._lives: dict[str, int] = {}
        self._addresses: dict[str, str] = {}
        # Observes all writes.
        self.watch: WireWatch | None = None
        self.counts = {"connections": 0, "writes": 0, "breaks": 0, "repeats": 0}

    # --- What hosts do

    def listen(self, host: str, listener: str, endpoint: Endpoint) -> None:
        """Accept connections to an endpoint from now on."""
        self._listening[endpoint] = (host, listener)

    def connect(self, host: str, connection_id: int, endpoint: Endpoint) -> None:
        """Open a connection; the host receives ConnectionOpened or ConnectionLost."""
        self._later(self._delay(), host, lambda: self._connect(host, connection_id, endpoint))

    def send(self, host: str, connection_id: int, data: bytes) -> None:
        """Write bytes; ignored if the connection is gone."""
        link = self._links.get((host, connection_id))
        if link is None or not link.is_open:
            return
        self.counts["writes"] += 1
        direction = self._outgoing(link, host, connection_id)
        if direction is link.backward and link.is_ghost:
            return
        if self.watch is not None:
            self.watch.sent(link.conversation, data, is_request=direction is link.forward)
        if self._chance.random() < self.conditions.breaks:
            self._break(link, "connection reset by the network")
            return
        if direction is link.forward and self._chance.random() < self.conditions.repeats:
            self._repeat(direction, data)
        for piece in self._pieces(data):
            self._enqueue(link, direction, piece)

    def close(self, host: str, connection_id: int) -> None:
        """Close a connection after all sent bytes; the other end receives ConnectionLost."""
        link = self._links.pop((host, connection_id), None)
        if link is not None and link.is_open:
            self._enqueue(link, self._outgoing(link, host, connection_id), None)

    def host_down(self, host: str) -> None:
        """Remove a host's connections and listeners; bytes it has sent may or may not arrive."""
        self._lives[host] = self._lives.get(host, 0) + 1
        self._listening = {endpoint: place for endpoint, place in self._listening.items() if place[0] != host}
        for (name, connection_id), link in list(self._links.items()):
            if name == host and link.is_open:
                if self._chance.random() < 0.5:
                    self.close(name, connection_id)
                else:
                    self._break(link, "connection reset by peer", silent=host)

    # --- Faults

    def cut_off(self, source: str, target: str) -> None:
        """Block all bytes from one host to another."""
        self._cut_off[source, target] = True

    def heal(self) -> None:
        """Remove all cuts."""
        self._cut_off.clear()

    @property
    def cuts(self) -> list[tuple[str, str]]:
        """The current cuts as pairs of hosts, source and target."""
        return list(self._cut_off)

    # --- Inside

    def _connect(self, host: str, connection_id: int, endpoint: Endpoint) -> None:
        place = self._listening.get(endpoint)
        if place is None:
            self._deliver(host, ConnectionLost(connection_id, f"connection to {endpoint} refused"))
            return
        target, listener = place
        if (host, target) in self._cut_off or (target, host) in self._cut_off:
            lost = ConnectionLost(connection_id, f"connection to {endpoint} timed out")
            self._later(CONNECT_TIMEOUT_MS, host, lambda: self._deliver(host, lost))
            return
        self._accept(host, connection_id, target, listener)
        self._later(self._delay(), host, lambda: self._opened(host, connection_id))

    def _opened(self, host: str, connection_id: int) -> None:
        link = self._links.get((host, connection_id))
        if link is not None and link.is_open:
            self._deliver(host, ConnectionOpened(connection_id))

    def _accept(self, host: str, connection_id: int, target: str, listener: str, *, is_ghost: bool = False) -> _Link:
        accepted_id = self._next_accepted
        self._next_accepted += 2
        self.counts["connections"] += 1
        link = _Link(
            _Direction(host, target, accepted_id), _Direction(target, host, connection_id), listener, is_ghost=is_ghost
        )
        if not is_ghost:
            self._links[host, connection_id] = link
        self._links[target, accepted_id] = link
        self._deliver(target, ConnectionAccepted(accepted_id, listener, self._address(host)))
        return link

    def _address(self, host: str) -> str:
        return self._addresses.setdefault(host, f"10.0.0.{len(self._addresses) + 1}")

    def _repeat(self, direction: _Direction, data: bytes) -> None:
        """Deliver the same bytes once more, later."""
        places = [place for place in self._listening.values() if place[0] == direction.target]
        if not places:
            return
        self.counts["repeats"] += 1

        def again() -> None:
            host, listener = places[0]
            if any(place == (host, listener) for place in self._listening.values()):
                link = self._accept(direction.source, -1, host, listener, is_ghost=True)
                self._enqueue(link, link.forward, data)
                self._enqueue(link, link.forward, None)

        self._clock.after(self._chance.randrange(1, 1500), again)

    def _enqueue(self, link: _Link, direction: _Direction, data: bytes | None) -> None:
        direction.last_due_ms = max(direction.last_due_ms, self._clock.now_ms + self._delay())
        direction.waiting.append((direction.last_due_ms, data))
        if not direction.is_pumping:
            direction.is_pumping = True
            self._clock.at(direction.last_due_ms, lambda: self._pump(link, direction))

    def _pump(self, link: _Link, direction: _Direction) -> None:
        direction.is_pumping = False
        if not link.is_open:
            return
        if (direction.source, direction.target) in self._cut_off:
            self._stall(link, direction)
            return
        direction.stalled_since_ms = None
        while direction.waiting and direction.waiting[0][0] <= self._clock.now_ms:
            _, data = direction.waiting.popleft()
            if self._links.get((direction.target, direction.target_id)) is not link:
                return
            if data is None:
                link.is_open = False
                del self._links[direction.target, direction.target_id]
                self._deliver(direction.target, ConnectionLost(direction.target_id, "closed by peer"))
                return
            self._deliver(direction.target, BytesReceived(direction.target_id, data))
        if direction.waiting:
            direction.is_pumping = True
            self._clock.at(direction.waiting[0][0], lambda: self._pump(link, direction))

    def _stall(self, link: _Link, direction: _Direction) -> None:
        if direction.stalled_since_ms is None:
            direction.stalled_since_ms = self._clock.now_ms
        if self._clock.now_ms - direction.stalled_since_ms > STALLED_MS_MAX:
            self._break(link, "connection timed out")
            return
        direction.is_pumping = True
        self._clock.after(100, lambda: self._pump(link, direction))

    def _break(self, link: _Link, reason: str, *, silent: str | None = None) -> None:
        self.counts["breaks"] += 1
        link.is_open = False
        for direction in (link.forward, link.backward):
            known = self._links.pop((direction.target, direction.target_id), None)
            if known is not None and direction.target != silent:
                lost = ConnectionLost(direction.target_id, reason)
                self._later(self._delay(), direction.target, partial(self._deliver, direction.target, lost))

    def _later(self, delay_ms: int, host: str, action: Callable[[], None]) -> None:
        """Run an action after a delay, unless the host went down in between."""
        life = self._lives.get(host, 0)

        def act() -> None:
            if self._lives.get(host, 0) == life:
                action()

        self._clock.after(delay_ms, act)

    def _outgoing(self, link: _Link, host: str, connection_id: int) -> _Direction:
        backward = link.backward
        return link.forward if (backward.target, backward.target_id) == (host, connection_id) else backward

    def _pieces(self, data: bytes) -> list[bytes]:
        if len(data) < 2 or self._chance.random() >= self.conditions.cuts_writes:
            return [data]
        cut = self._chance.randrange(1, len(data))
        return [data[:cut], data[cut:]]

    def _delay(self) -> int:
        return self._chance.randrange(self.conditions.delay_ms_min, self.conditions.delay_ms_max + 1)
