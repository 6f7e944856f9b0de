"""The link between a node and the simulated ZooKeeper: client, connection and server in one.

The fault model:
- Requests and responses are delayed and stay in order, as on one connection. A watch notification may arrive later than
  responses that were sent after it, because clients such as kazoo have a queue of their own for notifications.
- A connection may break at any time. The server still applies the first few of the requests in flight. All open
  requests fail with CONNECTION_LOSS and all watches are lost, as with kazoo. The session survives.
- Requests wait while there is no connection.
- A node may be partitioned from ZooKeeper. Its client notices after two thirds of the session timeout. The session
  expires after the whole timeout, and the client learns that when it reconnects.
- A server may expire a session that is alive. Watches may be lost silently.
- The server of a node may be partitioned from the ensemble: it refuses writes and serves stale reads.
- The server of a new session may lag behind the ensemble for a while, at most until the client's first write.
- A node's process may die. Its requests in flight may still be applied, and its session lasts until it expires.

No request of an earlier connection is applied after the client has reconnected, and none after the session's end.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar, assert_never

from falkirk.simulation.zookeeper.world.ensemble import BY_HAND
from falkirk.zookeeper_node.session.exchange import (
    AskZooKeeper,
    CloseSession,
    OpenSession,
    SessionChanged,
    SessionState,
    ZnodeChanged,
    ZooKeeperAnswered,
)
from falkirk.zookeeper_node.session.operations import Failed, GetChildren, GetData, KeeperError

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.protocol.chance import Chance
    from falkirk.simulation.machine.clock import Clock
    from falkirk.simulation.zookeeper.world.ensemble import Ensemble
    from falkirk.simulation.zookeeper.world.marks import ZooKeeperMarks
    from falkirk.zookeeper_node.session.exchange import ZooKeeperEffect, ZooKeeperEvent
    from falkirk.zookeeper_node.session.operations import Answer, Operation

# Reconnect interval of a client that is partitioned from ZooKeeper.
_RETRY_MS: Final = 50
# Requests in flight on a broken connection are applied within this time; the client reconnects after it.
_AFTERMATH_MS: Final = 30
_LAG_MS_MAX: Final = 1200
T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class LinkConditions:
    """The current faults of all links. Delays in ms one way; probabilities per answer or notification."""

    delay_ms_max: int = 4
    breaks: float = 0.0
    late_notifications: float = 0.0
    late_ms_max: int = 0
    # The state of servers that lag behind; None if all are up to date.
    lagging: "Ensemble | None" = None


@dataclass(slots=True, eq=False)
class _Request:
    request_id: int
    operation: "Operation"
    is_sent: bool = False

    @property
    def is_write(self) -> bool:
        return not isinstance(self.operation, (GetData, GetChildren))


@dataclass(slots=True, eq=False)
class _Pipe(Generic[T]):
    """One direction of a connection: delivers in order, each item when its delay is over."""

    clock: "Clock"
    is_blocked: "Callable[[], bool]"
    receive: "Callable[[T], None]"
    waiting: deque[tuple[int, T]] = field(default_factory=deque)
    last_due_ms: int = 0
    is_closed: bool = False

    def put(self, delay_ms: int, item: T) -> None:
        self.last_due_ms = max(self.last_due_ms, self.clock.now_ms + delay_ms)
        self.waiting.append((self.last_due_ms, item))
        self.clock.at(self.last_due_ms, self._pump)

    def _pump(self) -> None:
        while not self.is_closed and self.waiting and self.waiting[0][0] <= self.clock.now_ms:
            if self.is_blocked():
                self.clock.after(_RETRY_MS, self._pump)
                return
            self.receive(self.waiting.popleft()[1])


class SessionLink:
    """The link of one process, with one session at a time. `deliver` receives the session's events."""

    def __init__(
        self,
        *,
        clock: Clock,
        chance: Chance,
        ensemble: Ensemble,
        conditions: LinkConditions,
        timeout_ms: int,
        deliver: Callable[[ZooKeeperEvent], None],
        marks: ZooKeeperMarks,
        opened: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.session_id = 0
        # Since when events have reached the session without a fault; None during one.
        self.heard_since_ms: int | None = None
        self.is_cut_off = False
        self._clock = clock
        self._chance = chance
        self._ensemble = ensemble
        self._conditions = conditions
        self._timeout_ms = timeout_ms
        self._tell = deliver
        self._marks = marks
        # Called with the id of each new session.
        self._opened = opened
        self._is_alive = True
        self._frozen_until_ms = 0
        # The state of a partitioned server, while this client is connected to one.
        self._stale: Ensemble | None = None
        # The state of the lagging server of a new session, and the watches that it must fire once it catches up.
        self._lagging: Ensemble | None = None
        self._watched: dict[GetData | GetChildren, None] = {}
        self._wants_session = False
        self._connections = 0
        self._out: _Pipe[_Request] | None = None
        self._in: _Pipe[ZooKeeperEvent] | None = None
        self._open: deque[_Request] = deque()
        self._last_heard_ms = 0

    # --- What the node does

    def execute(self, effect: ZooKeeperEffect) -> None:
        """Execute an effect of the node."""
        match effect:
            case OpenSession():
                assert not self._wants_session, "one session at a time"
                self._wants_session = True
                self._clock.after(self._delay(), self._connect)
            case CloseSession():
                self._close()
            case AskZooKeeper(request_id, operation):
                assert self._wants_session, "requests need a session"
                request = _Request(request_id, operation)
                self._open.append(request)
                self._send(request)
            case _:
                assert_never(effect)

    # --- What happens to it

    @property
    def is_connected(self) -> bool:
        """True if the client believes it is connected."""
        return self._out is not None

    def die(self) -> None:
        """End with the process. Requests in flight may still be executed."""
        self._is_alive = False
        if self._out is not None:
            self._drop_connection()

    def freeze(self, for_ms: int) -> None:
        """Pause, together with the process."""
        self._frozen_until_ms = max(self._frozen_until_ms, self._clock.now_ms + for_ms)
        if self.heard_since_ms is not None:
            self.heard_since_ms = self._frozen_until_ms

    def break_connection(self) -> None:
        """Break the connection, and notify the client."""
        if self._out is None or not self._is_alive:
            return
        written = self._drop_connection()
        lost, self._open = self._open, deque()
        for request in lost:
            if request.is_write:
                self._marks.add("write lost after its effect" if request in written else "write lost")
            self._tell(ZooKeeperAnswered(request.request_id, Failed(KeeperError.CONNECTION_LOSS)))
        self._tell(SessionChanged(SessionState.SUSPENDED, self.session_id))
        self._clock.after(_AFTERMATH_MS + self._delay(), self._connect)

    def cut_off(self) -> None:
        """Block all traffic until `heal`."""
        self.is_cut_off = True
        self.heard_since_ms = None

    def heal(self) -> None:
        """Unblock traffic; what waited continues if neither side has given up."""
        self.is_cut_off = False
        if self._out is not None and self._stale is None:
            # What it is told while it is frozen it reads when it thaws.
            self.heard_since_ms = max(self._clock.now_ms, self._frozen_until_ms)

    def strand(self) -> None:
        """Cut the node's server off from the others: it accepts no writes."""
        if self._stale is None:
            self._stale = self._ensemble.as_it_stands()
            self.break_connection()

    def unstrand(self) -> None:
        """Reconnect the node's server with the others."""
        if self._stale is not None:
            self._stale = None
            self.break_connection()

    def expire(self) -> bool:
        """Expire the session at the servers; return whether there was one. The client is notified soon."""
        if not self.session_id or not self._ensemble.is_open(self.session_id):
            return False
        self._ensemble.end_session(self.session_id)
        self._clock.after(self._delay(), self.break_connection)
        return True

    def lose_watches(self) -> bool:
        """Lose the watches silently; return whether there were any."""
        return bool(self.session_id) and self._ensemble.forget_watches(self.session_id)

    # --- Connecting

    def _connect(self) -> None:
        if not self._is_alive or self._out is not None or not self._wants_session:
            return
        if self.is_cut_off or self._is_frozen():
            self._clock.after(_RETRY_MS, self._connect)
            return
        now_ms = self._clock.now_ms
        state = SessionState.CONNECTED
        if self._stale is not None:
            state = SessionState.READ_ONLY
            self._marks.add("read-only")
        elif not self.session_id:
            notify = partial(self._notified, self._connections + 1)
            self.session_id = self._ensemble.open_session(self._timeout_ms, now_ms, notify)
            self._opened(self.session_id)
            self._begin_behind()
        elif not self._ensemble.hear_from(self.session_id, now_ms):
            self._expired()
            return
        self._connections += 1
        self._last_heard_ms = now_ms
        self.heard_since_ms = max(now_ms, self._frozen_until_ms) if self._stale is None else None
        connection = self._connections
        self._out = _Pipe(self._clock, self._is_blocked, partial(self._arrive, connection))
        self._in = _Pipe(self._clock, self._is_blocked, partial(self._hear, connection))
        self._in.put(self._delay(), SessionChanged(state, self.session_id))
        for request in self._open:
            self._send(request)
        self._clock.after(self._timeout_ms // 3, partial(self._ping, connection))

    def _begin_behind(self) -> None:
        """Place the new session on a lagging server, at random."""
        self._watched.clear()
        self._lagging = None
        if self._conditions.lagging is not None and self._chance.random() < 0.8:
            self._lagging = self._conditions.lagging
            self._marks.add("server lags behind")
            self._clock.after(self._chance.randrange(1, _LAG_MS_MAX), partial(self._catch_up, self.session_id))

    def _catch_up(self, session_id: int) -> None:
        """Bring the server up to date, and fire the watches of what changed meanwhile."""
        if self._lagging is None or session_id != self.session_id:
            return
        lagging, self._lagging = self._lagging, None
        watched, self._watched = self._watched, {}
        for operation in watched:
            before = lagging.ask(BY_HAND, replace(operation, watch=False))
            after = self._ensemble.ask(session_id, operation)
            if before != after:
                self._notified(self._connections, operation.path)

    def _expired(self) -> None:
        self.session_id = 0
        self._wants_session = False
        self._marks.add("session expired")
        lost, self._open = self._open, deque()
        for request in lost:
            self._tell(ZooKeeperAnswered(request.request_id, Failed(KeeperError.SESSION_EXPIRED)))
        self._tell(SessionChanged(SessionState.EXPIRED))

    def _ping(self, connection: int) -> None:
        """Keep the session alive, and detect servers that do not respond."""
        if connection != self._connections or self._out is None or not self._is_alive:
            return
        now_ms = self._clock.now_ms
        if self._is_blocked():
            if now_ms - self._last_heard_ms >= self._timeout_ms * 2 // 3 and not self._is_frozen():
                self.break_connection()
                return
        else:
            self._last_heard_ms = now_ms
            if self._stale is None and not self._ensemble.hear_from(self.session_id, now_ms):
                self.break_connection()
                return
        self._clock.after(self._timeout_ms // 6, partial(self._ping, connection))

    def _close(self) -> None:
        """End the session after earlier requests. A client that is cut off cannot, and leaves it to expire."""
        self._wants_session = False
        if self._out is not None and self._stale is None and not self._is_blocked():
            for request in [request for request in self._open if request.is_sent]:
                self._carry_out(request.operation)
            self._ensemble.end_session(self.session_id)
        self._open.clear()
        self._disconnect()
        self.session_id = 0

    def _drop_connection(self) -> list[_Request]:
        """Drop the connection; return the requests in flight that are still executed."""
        assert self._out is not None
        on_the_way = [request for _, request in self._out.waiting]
        arrived = [request for request in self._open if request.is_sent and request not in on_the_way]
        reach = 0 if self.is_cut_off else self._chance.randrange(0, len(on_the_way) + 1)
        session_id = self.session_id
        if reach and self._stale is None:
            self._clock.after(
                self._chance.randrange(0, _AFTERMATH_MS), partial(self._late, session_id, on_the_way[:reach])
            )
        self._disconnect()
        self._ensemble.forget_watches(session_id)
        self._watched.clear()
        return arrived + on_the_way[:reach]

    def _disconnect(self) -> None:
        for pipe in (self._out, self._in):
            if pipe is not None:
                pipe.is_closed = True
        self._out = self._in = None
        self.heard_since_ms = None

    def _late(self, session_id: int, requests: list[_Request]) -> None:
        for request in requests:
            if request.is_write:
                self._marks.add("write carried out after its connection")
                self._ensemble.ask(session_id, request.operation)

    # --- Asking and answering

    def _send(self, request: _Request) -> None:
        if self._out is None:
            return
        if self._conditions.breaks and self._chance.random() < self._conditions.breaks:
            self._clock.after(self._chance.randrange(0, 3 * self._delay() + 1), self.break_connection)
        request.is_sent = True
        self._out.put(self._delay(), request)

    def _arrive(self, connection: int, request: _Request) -> None:
        if connection != self._connections or self._in is None:
            return
        if not self._ensemble.is_open(self.session_id) and self._stale is None:
            self.break_connection()
            return
        answer = self._carry_out(request.operation)
        if self._in is not None:
            self._in.put(self._delay(), ZooKeeperAnswered(request.request_id, answer))

    def _carry_out(self, operation: Operation) -> Answer:
        if self._stale is None:
            self._ensemble.hear_from(self.session_id, self._clock.now_ms)
            if self._lagging is not None and isinstance(operation, (GetData, GetChildren)):
                answer = self._lagging.ask(BY_HAND, replace(operation, watch=False))
                if operation.watch and (isinstance(operation, GetData) or not isinstance(answer, Failed)):
                    self._watched[operation] = None
                return answer
            self._catch_up(self.session_id)
            return self._ensemble.ask(self.session_id, operation)
        match operation:
            case GetData(path):
                return self._stale.ask(BY_HAND, GetData(path))
            case GetChildren(path):
                return self._stale.ask(BY_HAND, GetChildren(path))
            case _:
                return Failed(KeeperError.READ_ONLY)

    def _notified(self, opened: int, path: str) -> None:
        """Deliver a watch notification; `opened`: the connection on which the session was opened."""
        assert opened <= self._connections
        if self._in is None:
            return
        if self._chance.random() < self._conditions.late_notifications:
            self._marks.add("notification late")
            late_ms = self._chance.randrange(1, self._conditions.late_ms_max)
            connection = self._connections
            self._clock.after(late_ms, lambda: self._hear(connection, ZnodeChanged(path)))
        else:
            self._in.put(self._delay(), ZnodeChanged(path))

    def _hear(self, connection: int, event: ZooKeeperEvent) -> None:
        if connection != self._connections or self._in is None or not self._is_alive:
            return
        self._last_heard_ms = self._clock.now_ms
        if isinstance(event, ZooKeeperAnswered):
            answered = self._open.popleft()
            assert answered.request_id == event.request_id, "responses come in the order of requests"
        self._tell(event)

    def _is_frozen(self) -> bool:
        return self._clock.now_ms < self._frozen_until_ms

    def _is_blocked(self) -> bool:
        return self.is_cut_off or self._is_frozen()

    def _delay(self) -> int:
        return self._chance.randrange(1, self._conditions.delay_ms_max + 1)
