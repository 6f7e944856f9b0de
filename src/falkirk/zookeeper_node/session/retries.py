"""Retries of operations that may be repeated: reads, and creations of znodes that may exist already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.zookeeper_node.session.exchange import SessionState
from falkirk.zookeeper_node.session.operations import Create, Failed, GetChildren, GetData, KeeperError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from falkirk.zookeeper_node.session.operations import Answer
    from falkirk.zookeeper_node.session.session import Session

    Repeatable: TypeAlias = GetData | GetChildren | Create

_PASSING: Final = (KeeperError.CONNECTION_LOSS, KeeperError.READ_ONLY)


class Retries:
    """Sends operations until they are answered: it waits for a lost connection, and for a server that accepts writes.

    Callers get SESSION_EXPIRED, but never CONNECTION_LOSS or READ_ONLY.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        # Operations that cannot be sent now.
        self._held: list[tuple[Repeatable, Callable[[Answer], None]]] = []
        session.on_state(self._state_changed)

    def send(self, operation: Repeatable, then: Callable[[Answer], None]) -> None:
        """Execute an operation, repeated if need be; without a session `then` is called before this returns."""

        def answered(answer: Answer) -> None:
            if isinstance(answer, Failed) and answer.refusal in _PASSING:
                self.send(operation, then)
            else:
                then(answer)

        if self._session.state is SessionState.EXPIRED or self._is_possible(operation):
            self._session.send(operation, answered)
        else:
            self._held.append((operation, then))

    def create_all(self, paths: Sequence[str], then: Callable[[Failed | None], None]) -> None:
        """Create persistent empty znodes that are missing, one after the other; `then` gets the failure, or None."""
        if not paths:
            then(None)
            return

        def answered(answer: Answer) -> None:
            if isinstance(answer, Failed) and answer.refusal is not KeeperError.NODE_EXISTS:
                then(answer)
            else:
                self.create_all(paths[1:], then)

        self.send(Create(paths[0], b""), answered)

    def _is_possible(self, operation: Repeatable) -> bool:
        is_read = not isinstance(operation, Create)
        return self._session.is_connected or (is_read and self._session.state is SessionState.READ_ONLY)

    def _state_changed(self, state: SessionState) -> None:
        if state is SessionState.SUSPENDED:
            return
        held, self._held = self._held, []
        for operation, then in held:
            self.send(operation, then)
