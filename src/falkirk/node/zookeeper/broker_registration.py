"""This broker's own znode below `/brokers/ids`: made, once for each session.

One that another session has made is waited for until it goes, as it does when that was this broker before a restart;
if it stays there are two brokers with one id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.zookeeper.broker_znode import BROKER_IDS_PATH, broker_path
from falkirk.node.effects import Fact
from falkirk.node.zookeeper.operations import Create, Done, Failed, GetData, Refusal, Znode

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.effects import Effect
    from falkirk.node.zookeeper.operations import Answer
    from falkirk.node.zookeeper.repeated_asks import RepeatedAsks
    from falkirk.node.zookeeper.session import Session

PARENTS: Final = ("/brokers", BROKER_IDS_PATH)


class BrokerRegistration:
    """`prepare` and `begin` in each session; `registered` is told once for each, `failed` what ends the node.

    `wait_ms`: how long an earlier registration may take to go (zookeeper.session.timeout.ms).
    """

    def __init__(
        self,
        session: Session,
        asks: RepeatedAsks,
        *,
        broker_id: int,
        wait_ms: int,
        now_ms: Callable[[], int],
        registered: Callable[[], None],
        failed: Callable[[str], None],
        effects: Callable[[Effect], None],
    ) -> None:
        self._session = session
        self._asks = asks
        self._broker_id = broker_id
        self._path = broker_path(broker_id)
        self._wait_ms = wait_ms
        self._now_ms = now_ms
        self._registered = registered
        self._failed = failed
        self._effects = effects
        self._data = b""
        self._deadline_ms: int | None = None
        # Who stands there, if not this broker: the session that made it.
        self._other: int | None = None
        self.is_registered = False

    @property
    def next_wakeup_ms(self) -> int | None:
        """When an earlier registration has been waited for long enough."""
        return self._deadline_ms

    def prepare(self, then: Callable[[], None]) -> None:
        """Make the znodes above, as far as they are not there: a write in any case, which `then` comes after."""

        def made(failed: Failed | None) -> None:
            if failed is None:
                then()
            else:
                self._end(failed)

        self._asks.make(PARENTS, made)

    def begin(self, data: bytes) -> None:
        """Make the znode, with this in it."""
        self.forget()
        self._data = data
        self._session.watch(self._path, self._go_on_waiting)
        self._create()

    def forget(self) -> None:
        """Take note that the session has expired, and with it the znode has gone."""
        if self._data and not self.is_registered:
            self._session.unwatch(self._path, self._go_on_waiting)
        self._data = b""
        self._deadline_ms = self._other = None
        self.is_registered = False

    def tick(self, now_ms: int) -> None:
        """Give up if somebody else stays registered."""
        if self._deadline_ms is not None and now_ms >= self._deadline_ms:
            self._deadline_ms = None
            self._failed(
                f"znode {self._path}: broker {self._broker_id} is registered by another session "
                f"(0x{self._other or 0:x}), which has not gone within {self._wait_ms} ms: there may be two brokers "
                "with one broker.id"
            )

    def _create(self) -> None:
        self._asks.ask(Create(self._path, self._data, ephemeral=True), self._created)

    def _created(self, answer: Answer) -> None:
        if self.is_registered:
            # It was asked for twice: the watch tells of the earlier znode's end, and of this one's beginning.
            return
        if isinstance(answer, Done):
            self._succeed()
        elif isinstance(answer, Failed) and answer.refusal is Refusal.NODE_EXISTS:
            # Perhaps made by this very session, and the answer was lost.
            self._look()
        else:
            assert isinstance(answer, Failed), "nothing was read"
            self._end(answer)

    def _look(self) -> None:
        self._asks.ask(GetData(self._path, watch=True), self._looked)

    def _looked(self, answer: Answer) -> None:
        if self.is_registered:
            return
        if isinstance(answer, Failed):
            if answer.refusal is Refusal.NO_NODE:
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

    def _go_on_waiting(self) -> None:
        if self._deadline_ms is not None:
            self._look()

    def _succeed(self) -> None:
        self._session.unwatch(self._path, self._go_on_waiting)
        self._deadline_ms = self._other = None
        self.is_registered = True
        self._registered()

    def _end(self, failed: Failed) -> None:
        # With an expired session all begins anew.
        if failed.refusal is not Refusal.SESSION_EXPIRED:
            self._failed(f"znode {self._path}: it cannot be made: {failed.detail or failed.refusal.value}")
