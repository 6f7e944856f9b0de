"""A node's session with ZooKeeper: who waits for which answer, and who watches which znode.

Each operation is answered once, through its callable. When the session expires, all open operations get
Failed(SESSION_EXPIRED), as do later ones until there is a session again; only then are state listeners called. Answers
that come after that are dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from falkirk.zookeeper_node.session.exchange import (
    AskZooKeeper,
    CloseSession,
    OpenSession,
    SessionChanged,
    SessionState,
    ZnodeChanged,
    ZooKeeperAnswered,
)
from falkirk.zookeeper_node.session.operations import Failed, KeeperError

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.zookeeper_node.session.exchange import ZooKeeperEffect, ZooKeeperEvent
    from falkirk.zookeeper_node.session.operations import Answer, Operation


class Session:
    """The session as the parts of a node see it. Effects go to `effects` in the order of the calls."""

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
        """The current state; EXPIRED also before the first session is connected and after `close`."""
        return self._state

    @property
    def session_id(self) -> int:
        """The owner of this session's ephemeral znodes; 0 without a session."""
        return self._session_id

    @property
    def is_connected(self) -> bool:
        """True if operations are executed, writes included."""
        return self._state is SessionState.CONNECTED

    def open(self) -> None:
        """Open a session: the first, or the next after an expired one."""
        assert self._state is SessionState.EXPIRED
        self._effects(OpenSession())

    def close(self) -> None:
        """Close it for good: its ephemeral znodes are deleted. No callable is called any more."""
        self._waiting.clear()
        self._watchers.clear()
        self._listeners.clear()
        self._state, self._session_id = SessionState.EXPIRED, 0
        self._effects(CloseSession())

    def send(self, operation: Operation, then: Callable[[Answer], None]) -> None:
        """Execute an operation; `then` gets its answer, in the order of the calls.

        Without a session `then` is called before this returns.
        """
        if self._state is SessionState.EXPIRED:
            then(Failed(KeeperError.SESSION_EXPIRED))
            return
        self._request_id += 1
        self._waiting[self._request_id] = then
        self._effects(AskZooKeeper(self._request_id, operation))

    def watch(self, path: str, on_change: Callable[[], None]) -> None:
        """Call `on_change` whenever a watch on this znode fires, until `unwatch`.

        ZooKeeper's watches fire once: `on_change` must read again with `watch=True`.
        """
        self._watchers.setdefault(path, []).append(on_change)

    def unwatch(self, path: str, on_change: Callable[[], None]) -> None:
        """Remove a watcher."""
        watchers = self._watchers[path]
        watchers.remove(on_change)
        if not watchers:
            del self._watchers[path]

    def on_state(self, listener: Callable[[SessionState], None]) -> None:
        """Call `listener` on every change of the state, after those that were added before."""
        self._listeners.append(listener)

    def receive(self, event: ZooKeeperEvent) -> None:
        """Process an event of the driver."""
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
                then(Failed(KeeperError.SESSION_EXPIRED))
        for listener in tuple(self._listeners):
            listener(state)
