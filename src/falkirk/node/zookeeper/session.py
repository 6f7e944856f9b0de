"""The one session with ZooKeeper that a node has at a time: who waits for which answer, and who watches which znode.

What is asked is answered once, through the callable that was given with it. When the session has expired everybody
who still waits gets Failed(SESSION_EXPIRED), and so does at once whoever asks while there is no session; only then are
those told who want to hear of states. An answer that comes after that finds nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from falkirk.node.zookeeper.exchange import (
    AskZooKeeper,
    CloseSession,
    OpenSession,
    SessionChanged,
    SessionState,
    ZnodeChanged,
    ZooKeeperAnswered,
)
from falkirk.node.zookeeper.operations import Failed, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.zookeeper.exchange import ZooKeeperEffect, ZooKeeperEvent
    from falkirk.node.zookeeper.operations import Answer, Operation


class Session:
    """The session as the parts of a node see it. Effects go to `effects` in the order in which they are asked for."""

    def __init__(self, effects: Callable[[ZooKeeperEffect], None]) -> None:
        self._effects = effects
        self._state = SessionState.EXPIRED
        self._session_id = 0
        self._request_id = 0
        self._waiting: dict[int, Callable[[Answer], None]] = {}
        self._watchers: dict[str, list[Callable[[], None]]] = {}
        self._listeners: list[Callable[[SessionState], None]] = []

    @property
    def state(self) -> SessionState:
        """What has become of it; EXPIRED, too, before the first one stands and after the end."""
        return self._state

    @property
    def session_id(self) -> int:
        """Who owns the ephemeral znodes of this session; 0 where there is none."""
        return self._session_id

    @property
    def is_connected(self) -> bool:
        """Say whether operations are carried out, writes too."""
        return self._state is SessionState.CONNECTED

    def open(self) -> None:
        """Begin a session, the first or the one after an expired one."""
        assert self._state is SessionState.EXPIRED
        self._effects(OpenSession())

    def close(self) -> None:
        """End it for good: its ephemeral znodes go. Nobody is answered or told anything any more."""
        self._waiting.clear()
        self._watchers.clear()
        self._listeners.clear()
        self._state, self._session_id = SessionState.EXPIRED, 0
        self._effects(CloseSession())

    def ask(self, operation: Operation, then: Callable[[Answer], None]) -> None:
        """Have an operation carried out; `then` gets its answer, in the order in which operations are asked for.

        Without a session `then` is called before this returns.
        """
        if self._state is SessionState.EXPIRED:
            then(Failed(Refusal.SESSION_EXPIRED))
            return
        self._request_id += 1
        self._waiting[self._request_id] = then
        self._effects(AskZooKeeper(self._request_id, operation))

    def watch(self, path: str, on_change: Callable[[], None]) -> None:
        """Call `on_change` whenever a watch on this znode has told of a change, until `unwatch`.

        ZooKeeper's watches tell of one change: whoever is called reads again with `watch=True`.
        """
        self._watchers.setdefault(path, []).append(on_change)

    def unwatch(self, path: str, on_change: Callable[[], None]) -> None:
        """Call it no more."""
        watchers = self._watchers[path]
        watchers.remove(on_change)
        if not watchers:
            del self._watchers[path]

    def on_state(self, listener: Callable[[SessionState], None]) -> None:
        """Have every change of the state told, to the first who asked for it first."""
        self._listeners.append(listener)

    def take(self, event: ZooKeeperEvent) -> None:
        """Take in what the driver tells."""
        match event:
            case ZooKeeperAnswered(request_id, answer):
                then = self._waiting.pop(request_id, None)
                if then is not None:
                    then(answer)
            case ZnodeChanged(path):
                for on_change in tuple(self._watchers.get(path, ())):
                    on_change()
            case SessionChanged(state, session_id):
                self._change_state(state, session_id)
            case _:
                assert_never(event)

    def _change_state(self, state: SessionState, session_id: int) -> None:
        self._state = state
        self._session_id = 0 if state is SessionState.EXPIRED else session_id
        if state is SessionState.EXPIRED:
            waiting, self._waiting = self._waiting, {}
            for then in waiting.values():
                then(Failed(Refusal.SESSION_EXPIRED))
        for listener in tuple(self._listeners):
            listener(state)
