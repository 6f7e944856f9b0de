"""A session with an in-memory ZooKeeper in which a test decides the outcome and time of each operation."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.controller_znode import CONTROLLER_EPOCH_PATH, CONTROLLER_PATH, encode_epoch
from falkirk.simulation.zookeeper.world.ensemble import BY_HAND, Ensemble
from falkirk.zookeeper_node.session.exchange import (
    AskZooKeeper,
    OpenSession,
    SessionChanged,
    SessionState,
    ZnodeChanged,
    ZooKeeperAnswered,
)
from falkirk.zookeeper_node.session.operations import Create, Delete, Failed, KeeperError, SetData
from falkirk.zookeeper_node.session.session import Session

if TYPE_CHECKING:
    from falkirk.zookeeper_node.session.exchange import ZooKeeperEffect
    from falkirk.zookeeper_node.session.operations import Answer, Operation


class HeldSession:
    """A Session and its connection to the ensemble. Operations wait in `asked` until the test releases them."""

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
        self.session.receive(SessionChanged(SessionState.CONNECTED, self.session_id))

    @property
    def next(self) -> Operation:
        """The next operation to execute."""
        return self.asked[0].operation

    def do(self) -> Answer:
        """Execute and answer the first waiting operation."""
        asked = self.asked.popleft()
        answer = self.ensemble.ask(self.session_id, asked.operation)
        self.session.receive(ZooKeeperAnswered(asked.request_id, answer))
        return answer

    def do_until(self, kind: type[Operation]) -> None:
        """Execute operations until the next one is of this kind."""
        while not isinstance(self.next, kind):
            self.do()

    def do_all(self) -> None:
        """Execute operations until none is waiting."""
        rounds = 0
        while self.asked:
            self.do()
            rounds += 1
            assert rounds < 1000, "it never comes to an end"

    def refuse(self, refusal: KeeperError, part: int | None = None, detail: str = "") -> None:
        """Answer the first waiting operation with a failure, without executing it."""
        asked = self.asked.popleft()
        self.session.receive(ZooKeeperAnswered(asked.request_id, Failed(refusal, part, detail)))

    def lose_connection(self, *, carried_out: int = 0) -> None:
        """Suspend the session and fail all waiting operations; the first `carried_out` of them were executed."""
        self.session.receive(SessionChanged(SessionState.SUSPENDED, self.session_id))
        lost, self.asked = self.asked, deque()
        for number, asked in enumerate(lost):
            if number < carried_out:
                self.ensemble.ask(self.session_id, asked.operation)
            self.session.receive(ZooKeeperAnswered(asked.request_id, Failed(KeeperError.CONNECTION_LOSS)))

    def reconnect(self, state: SessionState = SessionState.CONNECTED) -> None:
        """Reconnect with the same session."""
        self.session.receive(SessionChanged(state, self.session_id))

    def expire(self, *, carried_out: int = 0) -> None:
        """Let the session expire; the first `carried_out` waiting operations were executed before."""
        lost, self.asked = self.asked, deque()
        for asked in list(lost)[:carried_out]:
            self.ensemble.ask(self.session_id, asked.operation)
        self.ensemble.end_session(self.session_id)
        self.session.receive(SessionChanged(SessionState.EXPIRED))

    def _effect(self, effect: ZooKeeperEffect) -> None:
        if isinstance(effect, AskZooKeeper):
            self.asked.append(effect)
        else:
            assert isinstance(effect, OpenSession), "tests end sessions themselves"

    def _notify(self, path: str) -> None:
        if self.has_watches:
            self.session.receive(ZnodeChanged(path))


def write_by_hand(ensemble: Ensemble, path: str, data: bytes) -> None:
    """Write data to a znode, whether or not it exists, whatever its version."""
    is_there = ensemble.znode(path) is not None
    answer = ensemble.ask(BY_HAND, SetData(path, data, -1) if is_there else Create(path, data))
    assert not isinstance(answer, Failed), answer


def delete_by_hand(ensemble: Ensemble, path: str) -> None:
    """Delete a znode."""
    answer = ensemble.ask(BY_HAND, Delete(path))
    assert not isinstance(answer, Failed), answer


def depose_by_hand(ensemble: Ensemble) -> None:
    """Begin another controller epoch, as a newly elected controller does."""
    znode = ensemble.znode(CONTROLLER_EPOCH_PATH)
    assert znode is not None, "there was a controller"
    if ensemble.znode(CONTROLLER_PATH) is not None:
        delete_by_hand(ensemble, CONTROLLER_PATH)
    write_by_hand(ensemble, CONTROLLER_PATH, b'{"version":1,"brokerid":99,"timestamp":"0"}')
    write_by_hand(ensemble, CONTROLLER_EPOCH_PATH, encode_epoch(int(znode.data) + 1))
