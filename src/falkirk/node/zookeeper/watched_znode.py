"""A znode, or the names below one, as it was read last; read again whenever something may have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.node.zookeeper.operations import Children, Failed, Refusal, Znode

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.zookeeper.operations import Answer, GetChildren, GetData
    from falkirk.node.zookeeper.repeated_asks import RepeatedAsks
    from falkirk.node.zookeeper.session import Session


class WatchedZnode:
    """Reads with a watch, and again when that has told of a change.

    `taken` gets each reading, None if the znode is not there; `failed` gets what keeps it from being read, but for a
    session that has expired. Whoever owns this reads again when the connection was lost, for the watch may be too.
    """

    def __init__(
        self,
        session: Session,
        asks: RepeatedAsks,
        operation: GetData | GetChildren,
        *,
        taken: Callable[[Znode | Children | None], None],
        failed: Callable[[str, Failed], None],
    ) -> None:
        assert operation.watch
        self._session = session
        self._asks = asks
        self._operation = operation
        self._taken = taken
        self._failed = failed
        self._is_reading = False
        self._reads_again = False
        self._is_over = False
        session.watch(operation.path, self.read)

    def read(self) -> None:
        """Read it now, and once more if it is being read: that may have begun before the change."""
        if self._is_over:
            return
        if self._is_reading:
            self._reads_again = True
            return
        self._is_reading = True
        self._asks.ask(self._operation, self._answered)

    def stop(self) -> None:
        """Look no more."""
        self._is_over = True
        self._session.unwatch(self._operation.path, self.read)

    def _answered(self, answer: Answer) -> None:
        self._is_reading = False
        reads_again, self._reads_again = self._reads_again, False
        if self._is_over:
            return
        if isinstance(answer, (Znode, Children)):
            self._taken(answer)
        else:
            assert isinstance(answer, Failed), "nothing is written"
            if answer.refusal is Refusal.NO_NODE:
                self._taken(None)
            elif answer.refusal is Refusal.SESSION_EXPIRED:
                return
            else:
                self._failed(self._operation.path, answer)
        if reads_again:
            self.read()
