"""Creates this broker's znode below `/brokers/ids`, once per session.

If another session's znode is there, it waits until that is gone, as it is soon after a restart of this broker; if it
stays, two brokers have the same id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.zookeeper.broker_znode import BROKER_IDS_PATH, broker_path
from falkirk.node.effects import Fact
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
        self._deadline_ms: int | None = None
        # The session of the earlier registration.
        self._other: int | None = None
        self.is_registered = False

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
        self._deadline_ms = self._other = None
        self.is_registered = False

    def tick(self, now_ms: int) -> None:
        """Fail if another session stays registered."""
        if self._deadline_ms is not None and now_ms >= self._deadline_ms:
            self._deadline_ms = None
            self._failed(
                f"znode {self._path}: broker {self._broker_id} is registered by another session "
                f"(0x{self._other or 0:x}), which has not gone within {self._wait_ms} ms: there may be two brokers "
                "with one broker.id"
            )

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
                self._create()
            else:
                self._end(answer)
            return
        assert isinstance(answer, Znode), "data was asked for"
        if answer.ephemeral_owner == self._session.session_id:
            self._succeed()
            return
        self._other = answer.ephemeral_owner
        if self._deadline_ms is None:
            self._deadline_ms = self._now_ms() + self._wait_ms
            fields = {"broker_id": self._broker_id, "session": f"0x{answer.ephemeral_owner:x}"}
            self._effects(Fact("warning", "waits-for-earlier-registration", fields))

    def _check_again(self) -> None:
        if self._deadline_ms is not None:
            self._check()

    def _succeed(self) -> None:
        self._session.unwatch(self._path, self._check_again)
        self._deadline_ms = self._other = None
        self.is_registered = True
        self._registered()

    def _end(self, failed: Failed) -> None:
        # After an expired session everything starts over.
        if failed.refusal is not KeeperError.SESSION_EXPIRED:
            self._failed(f"znode {self._path}: it cannot be made: {failed.detail or failed.refusal.value}")
