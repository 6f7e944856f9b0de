"""One node's session with the ensemble when nothing fails: effects in, events out, at once and in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from falkirk.zookeeper_node.session.exchange import (
    AskZooKeeper,
    CloseSession,
    OpenSession,
    SessionChanged,
    SessionState,
    ZnodeChanged,
    ZooKeeperAnswered,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.simulation.zookeeper.world.ensemble import Ensemble
    from falkirk.zookeeper_node.session.exchange import ZooKeeperEffect, ZooKeeperEvent

SESSION_TIMEOUT_MS: Final = 18_000
"""The default of zookeeper.session.timeout.ms."""


class EnsembleClient:
    """`deliver` receives events; it must not step the node, which is still returning its effects."""

    def __init__(
        self,
        ensemble: Ensemble,
        deliver: Callable[[ZooKeeperEvent], None],
        *,
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
    ) -> None:
        self.session_id = 0
        self._ensemble = ensemble
        self._deliver = deliver
        self._timeout_ms = session_timeout_ms

    def execute(self, effect: ZooKeeperEffect, now_ms: int) -> None:
        """Execute an effect of a node."""
        match effect:
            case OpenSession():
                assert not self._ensemble.is_open(self.session_id) or not self.session_id, "one session at a time"
                self.session_id = self._ensemble.open_session(self._timeout_ms, now_ms, self._changed)
                self._deliver(SessionChanged(SessionState.CONNECTED, self.session_id))
            case CloseSession():
                self._ensemble.end_session(self.session_id)
                self.session_id = 0
            case AskZooKeeper(request_id, operation):
                assert self.session_id, "nothing is asked without a session"
                self._ensemble.hear_from(self.session_id, now_ms)
                self._deliver(ZooKeeperAnswered(request_id, self._ensemble.ask(self.session_id, operation)))
            case _:
                assert_never(effect)

    def suspend(self) -> None:
        """Lose the connection; the session stays."""
        self._deliver(SessionChanged(SessionState.SUSPENDED, self.session_id))

    def resume(self) -> None:
        """Reconnect, with the session if it still exists, else without."""
        state = SessionState.CONNECTED if self._ensemble.is_open(self.session_id) else SessionState.EXPIRED
        self._deliver(SessionChanged(state, self.session_id))

    def expire(self) -> None:
        """Let the session expire, and report it."""
        self._ensemble.end_session(self.session_id)
        self._deliver(SessionChanged(SessionState.EXPIRED))

    def _changed(self, path: str) -> None:
        self._deliver(ZnodeChanged(path))
