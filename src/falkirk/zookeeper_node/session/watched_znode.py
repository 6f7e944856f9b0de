"""A znode, or the names below one, read again whenever it may have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.zookeeper_node.session.operations import Children, Failed, KeeperError, Znode

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.zookeeper_node.session.operations import Answer, GetChildren, GetData
    from falkirk.zookeeper_node.session.retries import Retries
    from falkirk.zookeeper_node.session.session import Session


class WatchedZnode:
    """Reads with a watch, and again when that fires.

    `on_read` gets each reading, None if the znode does not exist; `failed` gets errors other than an expired session.
    The owner calls `read` after a lost connection, because the watch may be lost too.
    """

    def __init__(
        self,
        session: Session,
        retries: Retries,
        operation: GetData | GetChildren,
        *,
        on_read: Callable[[Znode | Children | None], None],
        failed: Callable[[str, Failed], None],
    ) -> None:
        assert operation.watch
        self._session = session
        self._retries = retries
        self._operation = operation
        self._on_read = on_read
        self._failed = failed
        self._is_reading = False
        self._must_reread = False
        self._is_over = False
        session.watch(operation.path, self.read)

    def read(self) -> None:
        """Read now, and once more if a read is in flight: that may have begun before the change."""
        if self._is_over:
            return
        if self._is_reading:
            self._must_reread = True
            return
        self._is_reading = True
        self._retries.send(self._operation, self._answered)

    def stop(self) -> None:
        """Stop watching."""
        self._is_over = True
        self._session.unwatch(self._operation.path, self.read)

    def _answered(self, answer: Answer) -> None:
        self._is_reading = False
        must_reread, self._must_reread = self._must_reread, False
        if self._is_over:
            return
        if isinstance(answer, (Znode, Children)):
            self._on_read(answer)
        else:
            assert isinstance(answer, Failed), "nothing is written"
            if answer.refusal is KeeperError.NO_NODE:
                self._on_read(None)
            elif answer.refusal is KeeperError.SESSION_EXPIRED:
                return
            else:
                self._failed(self._operation.path, answer)
        if must_reread:
            self.read()
