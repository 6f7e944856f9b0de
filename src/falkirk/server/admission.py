"""Lets accepted connections wait for the limits of connections, and closes those that must make room."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from falkirk.node.effects import Fact

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.server.clock import Clock
    from falkirk.server.connection_limits import ConnectionLimits, LimitSettings
    from falkirk.server.fact_log import FactLog
    from falkirk.server.idle_connections import IdleConnections
    from falkirk.server.peer import Peer


class Admission:
    """`admitted` gets each connection that need not wait any more; nothing is read from it before that."""

    def __init__(
        self,
        limits: ConnectionLimits[Peer],
        idle: IdleConnections[Peer],
        *,
        clock: Clock,
        log: FactLog,
        admitted: Callable[[Peer, str], None],
    ) -> None:
        self._limits = limits
        self._idle = idle
        self._clock = clock
        self._log = log
        self._admitted = admitted
        self._timer: asyncio.TimerHandle | None = None

    def connected(self, peer: Peer, listener: str) -> None:
        """Admit a connection, now or later, or refuse it."""
        if not self._limits.arrive(peer, listener, peer.host):
            self._refuse(peer, "as many as socket.listen.backlog.size wait already")
            return
        self._admit_ready()
        if not peer.is_admitted:
            peer.wait()

    def lost(self, peer: Peer, listener: str) -> None:
        """Uncount a connection that has ended."""
        if peer.is_admitted:
            self._limits.leave(listener, peer.host)
        else:
            self._limits.give_up(peer, listener)
        self._admit_ready()

    def change(self, settings: LimitSettings) -> None:
        """Apply other limits from now on."""
        self._limits.change(settings)
        self._admit_ready()

    def close(self) -> None:
        """Admit nobody any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _admit_ready(self) -> None:
        now_ms = self._clock.now_ms()
        for peer, listener, refusal in self._limits.pop_ready(now_ms):
            if refusal is None:
                self._admitted(peer, listener)
                peer.admit()
            else:
                self._refuse(peer, refusal)
        exceeded = self._limits.exceeded_listeners
        if exceeded:
            excess = self._idle.longest_idle(lambda peer: peer.is_admitted and peer.listener in exceeded)
            if excess is not None:
                self._refuse(excess, "max.connections is exceeded, and it was idle for longest")
        self.close()
        next_ms = self._limits.next_ready_ms(now_ms)
        if next_ms is not None:
            self._timer = asyncio.get_running_loop().call_later((next_ms - now_ms) / 1000, self._admit_ready)

    def _refuse(self, peer: Peer, reason: str) -> None:
        self._log.write(Fact("warning", "refused a connection", {"host": peer.host, "reason": reason}))
        peer.cut_off(reason)
