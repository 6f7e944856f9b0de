"""A session with a ZooKeeper of values in which a test says what becomes of each operation, and when."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.controller_znode import CONTROLLER_EPOCH_PATH, CONTROLLER_PATH, encode_epoch
from falkirk.node.zookeeper.exchange import (
    AskZooKeeper,
    OpenSession,
    SessionChanged,
    SessionState,
    ZnodeChanged,
    ZooKeeperAnswered,
)
from falkirk.node.zookeeper.operations import Create, Delete, Failed, Refusal, SetData
from falkirk.node.zookeeper.session import Session
from falkirk.simulation.zookeeper.ensemble import BY_HAND, Ensemble

if TYPE_CHECKING:
    from falkirk.node.zookeeper.exchange import ZooKeeperEffect
    from falkirk.node.zookeeper.operations import Answer, Operation


class HeldSession:
    """A Session and its way to the ensemble. What is asked for waits in `asked` until the test lets it go on."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble
        self.asked: deque[AskZooKeeper] = deque()
        self.has_watches = True
        self.session_id = 0
        self.session = Session(self._effect)

    def connect(self) -> None:
        """Begin a session."""
        self.session.open()
        self.session_id = self.ensemble.open_session(18_000, 0, self._notify)
        self.session.take(SessionChanged(SessionState.CONNECTED, self.session_id))

    @property
    def next(self) -> Operation:
        """What is carried out next."""
        return self.asked[0].operation

    def do(self) -> Answer:
        """Carry out the first that waits, and answer it."""
        asked = self.asked.popleft()
        answer = self.ensemble.ask(self.session_id, asked.operation)
        self.session.take(ZooKeeperAnswered(asked.request_id, answer))
        return answer

    def do_until(self, kind: type[Operation]) -> None:
        """Carry out what is asked for until the next is of this kind."""
        while not isinstance(self.next, kind):
            self.do()

    def do_all(self) -> None:
        """Carry out whatever is asked for until nothing is any more."""
        rounds = 0
        while self.asked:
            self.do()
            rounds += 1
            assert rounds < 1000, "it never comes to an end"

    def refuse(self, refusal: Refusal, part: int | None = None, detail: str = "") -> None:
        """Answer the first that waits with a failure, and carry out nothing."""
        asked = self.asked.popleft()
        self.session.take(ZooKeeperAnswered(asked.request_id, Failed(refusal, part, detail)))

    def lose_connection(self, *, carried_out: int = 0) -> None:
        """Suspend the session, and answer all that wait so; the first `carried_out` of them were carried out."""
        self.session.take(SessionChanged(SessionState.SUSPENDED, self.session_id))
        lost, self.asked = self.asked, deque()
        for number, asked in enumerate(lost):
            if number < carried_out:
                self.ensemble.ask(self.session_id, asked.operation)
            self.session.take(ZooKeeperAnswered(asked.request_id, Failed(Refusal.CONNECTION_LOSS)))

    def reconnect(self) -> None:
        """Have the connection again, with the same session."""
        self.session.take(SessionChanged(SessionState.CONNECTED, self.session_id))

    def expire(self, *, carried_out: int = 0) -> None:
        """Let the session expire; the first `carried_out` that wait were carried out before."""
        lost, self.asked = self.asked, deque()
        for asked in list(lost)[:carried_out]:
            self.ensemble.ask(self.session_id, asked.operation)
        self.ensemble.end_session(self.session_id)
        self.session.take(SessionChanged(SessionState.EXPIRED))

    def _effect(self, effect: ZooKeeperEffect) -> None:
        if isinstance(effect, AskZooKeeper):
            self.asked.append(effect)
        else:
            assert isinstance(effect, OpenSession), "tests end sessions themselves"

    def _notify(self, path: str) -> None:
        if self.has_watches:
            self.session.take(ZnodeChanged(path))


def write_by_hand(ensemble: Ensemble, path: str, data: bytes) -> None:
    """Put data into a znode, which need not be there, whatever its version."""
    is_there = ensemble.znode(path) is not None
    answer = ensemble.ask(BY_HAND, SetData(path, data, -1) if is_there else Create(path, data))
    assert not isinstance(answer, Failed), answer


def delete_by_hand(ensemble: Ensemble, path: str) -> None:
    """Take a znode away."""
    answer = ensemble.ask(BY_HAND, Delete(path))
    assert not isinstance(answer, Failed), answer


def depose_by_hand(ensemble: Ensemble) -> None:
    """Begin another controller epoch, as another controller does that is elected."""
    znode = ensemble.znode(CONTROLLER_EPOCH_PATH)
    assert znode is not None, "there was a controller"
    if ensemble.znode(CONTROLLER_PATH) is not None:
        delete_by_hand(ensemble, CONTROLLER_PATH)
    write_by_hand(ensemble, CONTROLLER_PATH, b'{"version":1,"brokerid":99,"timestamp":"0"}')
    write_by_hand(ensemble, CONTROLLER_EPOCH_PATH, encode_epoch(int(znode.data) + 1))
