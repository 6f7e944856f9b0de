"""What may be asked for more than once: reads, and making znodes that may be there already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.zookeeper.exchange import SessionState
from falkirk.node.zookeeper.operations import Create, Failed, GetChildren, GetData, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.node.zookeeper.operations import Answer
    from falkirk.node.zookeeper.session import Session

    Repeatable = GetData | GetChildren | Create


class RepeatedAsks:
    """Asks until there is an answer: a lost connection, and a server that takes no writes, are waited for.

    Who asks is told when the session expires, and of nothing else that passes: CONNECTION_LOSS and READ_ONLY are never
    the answer.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        # Those that cannot be asked for now.
        self._held: list[tuple[Repeatable, Callable[[Answer], None]]] = []
        session.on_state(self._take_state)

    def ask(self, operation: Repeatable, then: Callable[[Answer], None]) -> None:
        """Have it carried out, again if it has to be; without a session `then` is called before this returns."""

        def answered(answer: Answer) -> None:
            if isinstance(answer, Failed) and answer.refusal in _PASSING:
                self.ask(operation, then)
            else:
                then(answer)

        if self._session.state is SessionState.EXPIRED or self._is_possible(operation):
            self._session.ask(operation, answered)
        else:
            self._held.append((operation, then))

    def make(self, paths: Sequence[str], then: Callable[[Failed | None], None]) -> None:
        """Make empty znodes that stay, those that are not there yet, one after the other; tell what went wrong."""
        if not paths:
            then(None)
            return

        def answered(answer: Answer) -> None:
            if isinstance(answer, Failed) and answer.refusal is not Refusal.NODE_EXISTS:
                then(answer)
            else:
                self.make(paths[1:], then)

        self.ask(Create(paths[0], b""), answered)

    def _is_possible(self, operation: Repeatable) -> bool:
        is_read = not isinstance(operation, Create)
        return self._session.is_connected or (is_read and self._session.state is SessionState.READ_ONLY)

    def _take_state(self, state: SessionState) -> None:
        if state is SessionState.SUSPENDED:
            return
        held, self._held = self._held, []
        for operation, then in held:
            self.ask(operation, then)


_PASSING: Final = (Refusal.CONNECTION_LOSS, Refusal.READ_ONLY)
