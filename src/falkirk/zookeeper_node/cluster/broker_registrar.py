"""Creates this broker's znode below `/brokers/ids`, once per session.

If another session's znode is there, it waits until that is gone, as it is soon after a restart of this broker; if it
stays, two brokers have the same id. The wait begins again with each connection to a server that accepts writes: without
one nobody can see the znode go, and a new leader of the ensemble gives each session its whole timeout again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.zookeeper.broker_znode import BROKER_IDS_PATH, broker_path
from falkirk.node.effects import Fact
from falkirk.zookeeper_node.session.exchange import SessionState
from falkirk.zookeeper_node.session.operations import Create, Done, Failed, GetData, KeeperError, Znode

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.effects import Effect
    from falkirk.zookeeper_node.session.operations import Answer
    from falkirk.zookeeper_node.session.retries import Retries
    from falkirk.zookeeper_node.session.session import Session

PARENTS: Final = ("/brokers", BROKER_IDS_PATH)


class BrokerRegistrar:
    """Call `prepare` and `begin` in each session; `registered` is called once in each, `failed` if the node must end.

    `wait_ms`: how long an earlier registration may stay (zookeeper.session.timeout.ms).
    """

    def __init__(
        self,
        session: Session,
        retries: Retries,
        *,
        broker_id: int,
        wait_ms: int,
        now_ms: Callable[[], int],
        registered: Callable[[], None],
        failed: Callable[[str], None],
        effects: Callable[[Effect], None],
    ) -> None:
        self._session = session
        self._retries = retries
        self._broker_id = broker_id
        self._path = broker_path(broker_id)
        self._wait_ms = wait_ms
        self._now_ms = now_ms
        self._registered = registered
        self._failed = failed
        self._effects = effects
        self._data = b""
        # The session of the earlier registration; None: none is waited for.
        self._other: int | None = None
        # When the wait for it ends; None: there is no wait, or it stands still.
        self._deadline_ms: int | None = None
        # True if the wait is over, and ZooKeeper is asked once more.
        self._is_late = False
        self.is_registered = False
        session.on_state(self._state_changed)

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the wait for an earlier registration ends."""
        return self._deadline_ms

    def prepare(self, then: Callable[[], None]) -> None:
        """Create missing parent znodes, with at least one write; then call `then`."""

        def made(failed: Failed | None) -> None:
            if failed is None:
                then()
            else:
                self._end(failed)

        self._retries.create_all(PARENTS, made)

    def begin(self, data: bytes) -> None:
        """Create the znode with this data."""
        self.forget()
        self._data = data
        self._session.watch(self._path, self._check_again)
        self._create()

    def forget(self) -> None:
        """Start over: the session has expired, and the znode is gone with it."""
        if self._data and not self.is_registered:
            self._session.unwatch(self._path, self._check_again)
        self._data = b""
        self._wait_no_longer()
        self.is_registered = False

    def tick(self, now_ms: int) -> None:
        """Try a last time if another session has stayed registered for `wait_ms`: what was read may be old."""
        if self._deadline_ms is not None and now_ms >= self._deadline_ms:
            self._deadline_ms = None
            self._is_late = True
            self._create()

    def _create(self) -> None:
        self._retries.send(Create(self._path, self._data, ephemeral=True), self._created)

    def _created(self, answer: Answer) -> None:
        if self.is_registered:
            # Created twice: the watch fires for the end of the earlier znode, and for this one.
            return
        if isinstance(answer, Done):
            self._succeed()
        elif isinstance(answer, Failed) and answer.refusal is KeeperError.NODE_EXISTS:
            # Perhaps created by this very session, and the answer was lost.
            self._check()
        else:
            assert isinstance(answer, Failed), "nothing was read"
            self._end(answer)

    def _check(self) -> None:
        self._retries.send(GetData(self._path, watch=True), self._checked)

    def _checked(self, answer: Answer) -> None:
        if self.is_registered:
            return
        if isinstance(answer, Failed):
            if answer.refusal is KeeperError.NO_NODE:
                self._wait_no_longer()
                self._create()
            else:
                self._end(answer)
            return
        assert isinstance(answer, Znode), "data was asked for"
        if answer.ephemeral_owner == self._session.session_id:
            self._succeed()
            return
        self._wait_for(answer.ephemeral_owner)

    def _wait_for(self, other: int) -> None:
        if self._other is None:
            fields = {"broker_id": self._broker_id, "session": f"0x{other:x}"}
            self._effects(Fact("warning", "waits-for-earlier-registration", fields))
        self._other = other
        if self._is_late:
            self._failed(
                f"znode {self._path}: broker {self._broker_id} is registered by another session (0x{other:x}), which "
                f"has not gone within {self._wait_ms} ms: there may be two brokers with one broker.id"
            )
        elif self._deadline_ms is None and self._session.is_connected:
            self._deadline_ms = self._now_ms() + self._wait_ms

    def _wait_no_longer(self) -> None:
        self._deadline_ms = self._other = None
        self._is_late = False

    def _check_again(self) -> None:
        if self._other is not None:
            self._check()

    def _state_changed(self, state: SessionState) -> None:
        self._deadline_ms = None
        self._is_late = False
        if state is SessionState.CONNECTED:
            self._check_again()

    def _succeed(self) -> None:
        self._session.unwatch(self._path, self._check_again)
        self._wait_no_longer()
        self.is_registered = True
        self._registered()

    def _end(self, failed: Failed) -> None:
        # After an expired session everything starts over.
        if failed.refusal is not KeeperError.SESSION_EXPIRED:
            self._failed(f"znode {self._path}: it cannot be made: {failed.detail or failed.refusal.value}")
