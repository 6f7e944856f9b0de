"""Runs one node: the events of a round of the loop are one step of it, and its effects are executed in order.

Everything happens on the loop's thread. The node does its disk work inside its step: while it syncs, events accumulate,
and become one step, and one sync, the next time. If there are too many they become several steps, and their senders are
not read from until then; the node's own connections, and requests to controllers, are served in any case.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, assert_never

from falkirk.node.effects import Close, Connect, Fact, Reconfigured, Send, Started, Stop
from falkirk.node.events import (
    BytesReceived,
    ConnectionAccepted,
    ConnectionLost,
    ConnectionOpened,
    Event,
    ShutdownRequested,
)
from falkirk.server.admission import Admission
from falkirk.server.event_lane import EventLane
from falkirk.server.idle_connections import IdleConnections
from falkirk.server.listener_tls import ListenerTls
from falkirk.server.peer import Peer
from falkirk.zookeeper_node.session.exchange import AskZooKeeper, CloseSession, OpenSession

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from falkirk.node.events import ConnectionEvent
    from falkirk.server.clock import Clock
    from falkirk.server.connection_limits import ConnectionLimits
    from falkirk.server.fact_log import FactLog
    from falkirk.server.feature_update_facts import FeatureUpdateFacts
    from falkirk.server.garbage_collector import GarbageCollector
    from falkirk.server.request_log import RequestLog
    from falkirk.server.step_meter import StepMeter
    from falkirk.zookeeper_node.session.exchange import ZooKeeperEffect, ZooKeeperEvent

    _OtherEffect: TypeAlias = Close | Connect | Reconfigured | Started | Stop

# How many received bytes one step processes, for controller listeners and for all others each. It adapts to the time
# that a step takes: a few hundred bytes may be some small requests, or a batch that uncompresses to many MiB.
STEP_BYTES_MAX: Final = 128 * 1024
_FIRST_STEP_BYTES: Final = 16 * 1024
_STEP_BYTES_MIN: Final = 1024
_LONG_STEP_MS: Final = 100
_SHORT_STEP_MS: Final = 20
# Ample for a handshake of two or three round trips.
HANDSHAKE_TIMEOUT_S = 30.0
_SLOW_HANDSHAKE: Final = "TLS: no handshake in time"
_IDLE: Final = "nothing came or went for connections.max.idle.ms"
_LINGER_S: Final = 1.0


class DrivenNode(Protocol):
    """The node to run: `falkirk.node.node.Node`, one on ZooKeeper, or a stand-in."""

    # Any: a node on ZooKeeper has events and effects of its own beside those of `falkirk.node`.
    def step(self, events: Sequence[Any], now_ms: int) -> Sequence[Any]:
        """Process events and return effects."""
        ...

    @property
    def next_wakeup_ms(self) -> int | None:
        """When to step without an event; None: never."""
        ...

    def missing_bytes(self, connection_id: int) -> int:
        """Return the minimum that the current request of a connection lacks; 0 between requests."""
        ...

    @property
    def work_done(self) -> Mapping[str, object]:
        """What the last step did, as fields of a fact."""
        ...


class NodeDriver:
    """Drives a node until it stops.

    `when_started` is called when it serves. `controller_listeners`: those of the controller role. `zookeeper` executes
    effects of a node on ZooKeeper; its events come back through `tell`. `meter` measures all steps, and the collections
    of `garbage` as such.
    """

    def __init__(
        self,
        node: DrivenNode,
        *,
        clock: Clock,
        log: FactLog,
        limits: ConnectionLimits[Peer],
        meter: StepMeter,
        garbage: GarbageCollector,
        max_idle_ms: int,
        connect_timeout_ms: int,
        when_started: Callable[[], None] = lambda: None,
        request_log: RequestLog | None = None,
        updates: FeatureUpdateFacts | None = None,
        tls: ListenerTls | None = None,
        controller_listeners: Collection[str] = (),
        zookeeper: Callable[[ZooKeeperEffect], None] | None = None,
    ) -> None:
        self._node = node
        self._clock = clock
        self._log = log
        self._meter = meter
        self._garbage = garbage
        self._when_started = when_started
        # Set where a node can change its listeners and limits.
        self.when_reconfigured: Callable[[Reconfigured], None] = lambda _: None
        self._request_log = request_log
        self._updates = updates
        self._tls = ListenerTls() if tls is None else tls
        self._loop = asyncio.get_running_loop()
        self._stopped: asyncio.Future[Stop] = self._loop.create_future()
        # Events of connections that the node has opened, and events that belong to no connection.
        self._events: list[Event | ZooKeeperEvent] = []
        self._controller_listeners = controller_listeners
        self._zookeeper = zookeeper
        self._lanes = tuple(EventLane(_FIRST_STEP_BYTES, node.missing_bytes) for _ in range(2))
        # Connections that are paused until the node has processed what they sent.
        self._held: set[int] = set()
        self._is_step_due = False
        self._wakeup: asyncio.TimerHandle | None = None
        self._wakeup_ms: int | None = None
        self._idle: IdleConnections[Peer] = IdleConnections(max_idle_ms)
        self.admission = Admission(limits, self._idle, clock=clock, log=log, admitted=self._admitted)
        self._connect_timeout_s = connect_timeout_ms / 1000
        self._idle_check: asyncio.TimerHandle | None = None
        # Connections that the node knows, by id, without those that it has closed.
        self._peers: dict[int, Peer] = {}
        # All open connections, including those that are being closed.
        self._standing: set[Peer] = set()
        self._none_standing = asyncio.Event()
        self._connecting: dict[int, asyncio.Task[None]] = {}
        # Outbound connections during their handshake, by id; and handshakes that must go on.
        self._shaking: dict[int, Peer] = {}
        self._handshakes: deque[Peer] = deque()
        # Ids of outbound connections are odd; the node chooses them.
        self._next_id = 2

    async def run(self) -> Stop:
        """Step until the node stops. Raises what the node's step raises, which is a bug."""
        self._schedule()
        try:
            return await self._stopped
        finally:
            await self._end()

    def accept(self, listener: str) -> Peer:
        """Make the protocol of an accepted connection; for `loop.create_server`."""
        connection_id = self._next_id
        self._next_id += 2
        return Peer(self, connection_id, listener, self._tls.accepting(listener))

    def request_shutdown(self) -> None:
        """Ask the node to stop."""
        self.tell(ShutdownRequested())

    def tell(self, event: Event | ZooKeeperEvent) -> None:
        """Pass an event to the node that comes from no client's connection."""
        self._events.append(event)
        self._schedule()

    def stop(self, stop: Stop) -> None:
        """End without asking the node."""
        if not self._stopped.done():
            self._stopped.set_result(stop)

    def fail_with(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:  # Any: asyncio's
        """Let `run` raise what a callback of the loop raised; for `loop.set_exception_handler`."""
        self._fail(context.get("exception") or RuntimeError(str(context.get("message"))))

    def _fail(self, error: BaseException) -> None:
        if not self._stopped.done():
            self._stopped.set_exception(error)

    # --- What connections tell

    def peer_connected(self, peer: Peer) -> None:
        """Admit a new connection, or refuse it."""
        self._standing.add(peer)
        self._none_standing.clear()
        self.peer_is_active(peer)
        if peer.listener is None:
            self._expect_handshake(peer)
            self._opened(peer)
            return
        self.admission.connected(peer, peer.listener)

    def _admitted(self, peer: Peer, listener: str) -> None:
        self._expect_handshake(peer)
        if peer.is_established:
            self._accepted(peer, listener)

    def _expect_handshake(self, peer: Peer) -> None:
        if not peer.is_established:
            peer.handshake_deadline = self._loop.call_later(HANDSHAKE_TIMEOUT_S, peer.cut_off, _SLOW_HANDSHAKE)

    def change_tls(self, tls: ListenerTls) -> None:
        """Use other contexts for connections from now on."""
        self._tls = tls

    def close_listener(self, name: str) -> None:
        """Close all connections of a listener."""
        for peer in tuple(self._standing):
            if peer.listener == name:
                peer.close()

    def peer_waits(self, peer: Peer) -> None:
        """Queue a step of a handshake.

        One in a round of the loop: they cost a ms each, and a storm of them must not keep the node from its work.
        """
        self._handshakes.append(peer)
        if len(self._handshakes) == 1:
            self._loop.call_soon(self._shake_hands)

    def peer_shook_hands(self, peer: Peer) -> None:
        """Pass a connection to the node once its handshake is done."""
        if peer.handshake_deadline is not None:
            peer.handshake_deadline.cancel()
        if peer.listener is not None:
            self._accepted(peer, peer.listener)
        elif self._shaking.pop(peer.connection_id, None) is not None:
            self._peers[peer.connection_id] = peer
            self.tell(ConnectionOpened(peer.connection_id))

    def peer_sent(self, peer: Peer, data: bytes) -> None:
        """Pass bytes to the node."""
        if peer.connection_id in self._peers:
            self._idle.touch(peer, self._loop.time())
            event = BytesReceived(peer.connection_id, data)
            if peer.listener is None:
                self._events.append(event)
            else:
                self._lane(peer.listener).add(event)
            if not self._is_step_due:
                self._schedule()

    def peer_is_active(self, peer: Peer) -> None:
        """Record that a connection is not idle."""
        self._idle.touch(peer, self._loop.time())
        if self._idle_check is None:
            self._check_idle()

    def peer_lost(self, peer: Peer, reason: str) -> None:
        """Remove a connection."""
        self._standing.discard(peer)
        if not self._standing:
            self._none_standing.set()
        self._idle.remove(peer)
        if peer.handshake_deadline is not None:
            peer.handshake_deadline.cancel()
        if peer.listener is not None:
            self.admission.lost(peer, peer.listener)
            if peer.is_admitted and not peer.is_established:
                fields = {"listener": peer.listener, "host": peer.host, "reason": reason}
                self._log.write(Fact("info", "TLS handshake failed", fields))
        if self._shaking.pop(peer.connection_id, None) is not None:
            self.tell(ConnectionLost(peer.connection_id, reason))
        if self._peers.pop(peer.connection_id, None) is not None:
            lost = ConnectionLost(peer.connection_id, reason)
            if peer.listener is None:
                self.tell(lost)
            else:
                self._tell_of_client(peer.listener, lost)

    # --- Steps

    def _tell_of_client(self, listener: str, event: ConnectionEvent) -> None:
        self._lane(listener).add(event)
        self._schedule()

    def _lane(self, listener: str) -> EventLane:
        return self._lanes[0 if listener in self._controller_listeners else 1]

    def _schedule(self) -> None:
        """Step once the loop has processed all that is ready now."""
        if not self._is_step_due:
            self._is_step_due = True
            self._loop.call_soon(self._step)

    def _step(self) -> None:
        self._is_step_due = False
        if self._stopped.done():
            return
        events: list[Any] = self._events  # Any: see `DrivenNode.step`
        self._events = []
        for lane in self._lanes:
            events += lane.pop()
        try:
            began_ms = self._clock.now_ms()
            self._meter.begin()
            effects = self._node.step(events, began_ms)
            self._garbage.count_step()
            if self._meter.end():
                self._meter.report(events, self._node.work_done, self._log.write)
            self._execute_all(effects)
            self._set_wakeup()
            self._flush_request_log()
            if self._garbage.is_due:
                self._collect_garbage()
            if self._held or any(lane.waiting for lane in self._lanes):
                self._pace(self._clock.now_ms() - began_ms)
                self._hold_back()
        except Exception as error:  # noqa: BLE001 - the outermost loop: `run` raises it
            self._fail(error)

    def _collect_garbage(self) -> None:
        self._meter.begin()
        collected = self._garbage.collect()
        if self._meter.end():
            self._meter.report((), {"garbage_collection": collected}, self._log.write)

    def _pace(self, duration_ms: int) -> None:
        """Adapt the size of the next step to the time of this one: bytes may be cheap or expensive."""
        for lane in self._lanes:
            if duration_ms > _LONG_STEP_MS:
                lane.bytes_max = max(_STEP_BYTES_MIN, lane.bytes_max // 4)
            elif duration_ms < _SHORT_STEP_MS:
                lane.bytes_max = min(STEP_BYTES_MAX, lane.bytes_max * 2)

    def _hold_back(self) -> None:
        """Read only from connections whose events the node has received; step again if there are others."""
        waiting = {connection_id for lane in self._lanes for connection_id in lane.waiting}
        for connection_id in waiting ^ self._held:
            peer = self._peers.get(connection_id)
            if peer is None:
                continue
            if connection_id in waiting:
                peer.hold()
            else:
                peer.release()
        self._held = waiting
        if waiting:
            self._schedule()

    def _execute_all(self, effects: Sequence[Any]) -> None:  # Any: see `DrivenNode.step`
        """Execute effects, with one write for all that a connection is sent; only facts may overtake it."""
        unsent: dict[int, list[bytes | memoryview]] = {}
        for effect in effects:
            if type(effect) is Send:
                pieces = unsent.get(effect.connection_id)
                if pieces is None:
                    unsent[effect.connection_id] = [effect.data]
                else:
                    pieces.append(effect.data)
            elif type(effect) is Fact:
                self._log_fact(effect)
            else:
                self._send(unsent)
                self._execute(effect)
        self._send(unsent)

    def _send(self, unsent: dict[int, list[bytes | memoryview]]) -> None:
        for connection_id, pieces in unsent.items():
            peer = self._peers.get(connection_id)
            if peer is not None:
                peer.write(pieces)
        unsent.clear()

    def _execute(self, effect: _OtherEffect | ZooKeeperEffect) -> None:
        match effect:
            case Connect(connection_id):
                self._connecting[connection_id] = self._loop.create_task(self._connect(effect))
            case Close(connection_id):
                self._close(connection_id)
            case Started():
                self._when_started()
            case Reconfigured():
                self.when_reconfigured(effect)
            case Stop():
                self.stop(effect)
            case OpenSession() | CloseSession() | AskZooKeeper():
                assert self._zookeeper is not None
                self._zookeeper(effect)
            case _:
                assert_never(effect)

    def _log_fact(self, fact: Fact) -> None:
        if self._request_log is not None and self._request_log.add(fact):
            return
        if self._updates is not None:
            self._updates.count(fact)
        self._log.write(fact)

    def _flush_request_log(self) -> None:
        """Write the lines of the step. A log that cannot be written does not stop the node."""
        if self._request_log is None:
            return
        try:
            self._request_log.flush()
        except OSError as error:
            self._log.write(Fact("error", "the request log cannot be written any more", {"reason": str(error)}))
            self._request_log.close()
            self._request_log = None

    def _set_wakeup(self) -> None:
        """Arm the timer. One that is armed for an earlier time stays: it finds nothing to do, and is armed anew."""
        wakeup_ms = self._node.next_wakeup_ms
        if wakeup_ms is None or (self._wakeup_ms is not None and self._wakeup_ms <= wakeup_ms):
            return
        if self._wakeup is not None:
            self._wakeup.cancel()
        self._wakeup_ms = wakeup_ms
        self._wakeup = self._loop.call_later(max(0, wakeup_ms - self._clock.now_ms()) / 1000, self._wake)

    def _wake(self) -> None:
        self._wakeup = self._wakeup_ms = None
        self._schedule()

    # --- Connections

    async def _connect(self, wanted: Connect) -> None:
        host, port = wanted.endpoint
        try:
            tls = self._tls.connecting(wanted.listener, host)
            async with asyncio.timeout(self._connect_timeout_s):
                await self._loop.create_connection(lambda: Peer(self, wanted.connection_id, None, tls), host, port)
        except (OSError, ValueError) as error:  # ValueError: a host that is no name
            reason = "timed out" if isinstance(error, TimeoutError) else str(error)
            if self._connecting.pop(wanted.connection_id, None) is not None:
                self.tell(ConnectionLost(wanted.connection_id, f"no connection to {wanted.endpoint}: {reason}"))

    def _opened(self, peer: Peer) -> None:
        """Report a connection that the node requested, unless it is no longer wanted."""
        if self._connecting.pop(peer.connection_id, None) is None:
            peer.cut_off("the node closed it")
            return
        if not peer.is_established:
            self._shaking[peer.connection_id] = peer
            peer.shake_hands()
            return
        self._peers[peer.connection_id] = peer
        self.tell(ConnectionOpened(peer.connection_id))

    def _close(self, connection_id: int) -> None:
        connecting = self._connecting.pop(connection_id, None)
        if connecting is not None:
            connecting.cancel()
        peer = self._peers.pop(connection_id, None) or self._shaking.pop(connection_id, None)
        if peer is not None:
            peer.close()

    def _accepted(self, peer: Peer, listener: str) -> None:
        self._peers[peer.connection_id] = peer
        accepted = ConnectionAccepted(peer.connection_id, listener, peer.host, peer.peer_name)
        self._tell_of_client(listener, accepted)

    def _shake_hands(self) -> None:
        peer = self._handshakes.popleft()
        if self._handshakes:
            self._loop.call_soon(self._shake_hands)
        peer.shake_hands()

    def _check_idle(self) -> None:
        self._idle_check = None
        for peer in self._idle.expired(self._loop.time()):
            peer.cut_off(_IDLE)
        next_s = self._idle.next_check_s
        if next_s is not None:
            self._idle_check = self._loop.call_at(next_s, self._check_idle)

    async def _end(self) -> None:
        """Let pending writes finish, for a moment, and close everything."""
        self.admission.close()
        for timer in (self._wakeup, self._idle_check):
            if timer is not None:
                timer.cancel()
        connecting = list(self._connecting.values())
        for task in connecting:
            task.cancel()
        await asyncio.gather(*connecting, return_exceptions=True)
        for peer in tuple(self._standing):
            peer.close()
        if self._standing:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._none_standing.wait(), _LINGER_S)
        for peer in tuple(self._standing):
            peer.cut_off("the node has stopped")
