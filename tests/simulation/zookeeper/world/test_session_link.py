"""What lies between a node and its ZooKeeper: what may be lost, and in which order the rest is told."""

import random

import pytest

from falkirk.simulation.machine.clock import Clock
from falkirk.simulation.zookeeper.world.ensemble import BY_HAND, Ensemble
from falkirk.simulation.zookeeper.world.marks import ZooKeeperMarks
from falkirk.simulation.zookeeper.world.session_link import LinkConditions, SessionLink
from falkirk.zookeeper_node.session.exchange import (
    AskZooKeeper,
    CloseSession,
    OpenSession,
    SessionChanged,
    SessionState,
    ZnodeChanged,
    ZooKeeperAnswered,
)
from falkirk.zookeeper_node.session.operations import Create, Done, Failed, GetData, KeeperError, SetData

TIMEOUT_MS = 1000


class Life:
    """A node's process that only asks, and its link."""

    def __init__(self, seed: int = 0, **conditions) -> None:
        self.clock = Clock()
        self.ensemble = Ensemble()
        self.told = []
        self.conditions = LinkConditions(**conditions)
        self.marks = ZooKeeperMarks()
        self.link = SessionLink(
            clock=self.clock,
            chance=random.Random(seed),
            ensemble=self.ensemble,
            conditions=self.conditions,
            timeout_ms=TIMEOUT_MS,
            deliver=self.told.append,
            marks=self.marks,
        )
        self.link.execute(OpenSession())
        self.run(150)
        self.first = self.link.session_id
        self.asked = 0

    def ask(self, operation) -> int:
        self.asked += 1
        self.link.execute(AskZooKeeper(self.asked, operation))
        return self.asked

    def run(self, for_ms: int) -> None:
        until_ms = self.clock.now_ms + for_ms
        while self.clock.step(until_ms):
            self.ensemble.expire_silent(self.clock.now_ms)
        self.ensemble.expire_silent(self.clock.now_ms)

    def states(self) -> list[SessionState]:
        return [event.state for event in self.told if isinstance(event, SessionChanged)]

    def answers(self) -> list:
        return [event.answer for event in self.told if isinstance(event, ZooKeeperAnswered)]


def test_answers_come_in_the_order_of_what_was_asked():
    life = Life(delay_ms_max=50)
    asked = [life.ask(Create(f"/{number}", b"")) for number in range(20)]
    life.run(2000)
    assert [event.request_id for event in life.told if isinstance(event, ZooKeeperAnswered)] == asked
    assert set(life.answers()) == {Done()}
    assert life.states() == [SessionState.CONNECTED]


def test_a_session_that_is_heard_of_lives():
    life = Life()
    life.run(10 * TIMEOUT_MS)
    assert life.ensemble.is_open(life.first)


def test_of_what_is_on_the_way_a_beginning_is_carried_out_and_all_is_told_as_lost():
    carried_out = set()
    for seed in range(20):
        life = Life(seed, delay_ms_max=20)
        for number in range(4):
            life.ask(Create(f"/{number}", b""))
        life.run(5)
        life.link.break_connection()
        assert life.answers()[-1] == Failed(KeeperError.CONNECTION_LOSS)
        assert life.states()[-1] is SessionState.SUSPENDED
        life.run(500)
        assert life.states() == [SessionState.CONNECTED, SessionState.SUSPENDED, SessionState.CONNECTED]
        assert life.link.session_id == life.first
        done = [life.ensemble.znode(f"/{number}") is not None for number in range(4)]
        assert done == sorted(done, reverse=True)
        carried_out.add(sum(done))
    assert carried_out >= {0, 4}


def test_what_is_asked_without_a_connection_waits_for_one():
    life = Life()
    life.link.break_connection()
    life.ask(Create("/a", b""))
    assert life.answers() == []
    life.run(500)
    assert life.answers() == [Done()]


def test_a_broken_connection_takes_the_watches_along():
    life = Life()
    life.ask(GetData("/a", watch=True))
    life.run(20)
    life.link.break_connection()
    life.run(500)
    life.ensemble.ask(BY_HAND, Create("/a", b""))
    life.run(500)
    assert ZnodeChanged("/a") not in life.told


@pytest.mark.parametrize(("cut_ms", "last"), [(400, None), (900, SessionState.CONNECTED), (2000, SessionState.EXPIRED)])
def test_a_cut_is_not_noticed_or_outlived_or_the_end_of_the_session(cut_ms, last):
    life = Life()
    life.ask(Create("/mine", b"", ephemeral=True))
    life.run(20)
    life.link.cut_off()
    life.ask(SetData("/mine", b"1", 0))
    life.run(cut_ms)
    life.link.heal()
    life.run(500)
    if last is None:
        assert life.states() == [SessionState.CONNECTED]
        assert life.answers() == [Done(), Done(1)]
    else:
        assert life.states() == [SessionState.CONNECTED, SessionState.SUSPENDED, last]
        assert life.answers() == [Done(), Failed(KeeperError.CONNECTION_LOSS)]
    assert (life.ensemble.znode("/mine") is None) == (last is SessionState.EXPIRED)


def test_what_waits_when_the_session_has_expired_is_told_so_and_a_new_one_may_be_opened():
    life = Life()
    life.link.cut_off()
    life.run(2000)
    life.ask(Create("/a", b""))
    life.link.heal()
    life.run(500)
    assert life.answers() == [Failed(KeeperError.SESSION_EXPIRED)]
    assert life.told[-1] == SessionChanged(SessionState.EXPIRED)
    life.link.execute(OpenSession())
    life.run(20)
    assert life.told[-1] == SessionChanged(SessionState.CONNECTED, life.link.session_id)
    assert life.link.session_id != life.first


def test_a_session_that_the_servers_end_is_told_of_soon():
    life = Life()
    assert life.link.expire()
    life.run(500)
    assert life.states()[-2:] == [SessionState.SUSPENDED, SessionState.EXPIRED]


def test_a_server_that_is_cut_off_from_the_others_takes_no_writes_and_tells_what_was():
    life = Life()
    life.ask(Create("/a", b"before"))
    life.run(20)
    life.link.strand()
    life.ensemble.ask(BY_HAND, SetData("/a", b"after", -1))
    life.run(500)
    assert life.states()[-1] is SessionState.READ_ONLY
    life.ask(SetData("/a", b"mine", -1))
    life.ask(GetData("/a"))
    life.run(100)
    refused, read = life.answers()[-2:]
    assert refused == Failed(KeeperError.READ_ONLY)
    assert read.data == b"before"
    life.link.unstrand()
    life.run(TIMEOUT_MS)
    assert life.states()[-1] is SessionState.CONNECTED
    life.ask(GetData("/a"))
    life.run(100)
    assert life.answers()[-1].data == b"after"


def test_a_process_that_dies_leaves_its_session_until_that_expires():
    life = Life()
    life.ask(Create("/mine", b"", ephemeral=True))
    life.run(20)
    life.link.die()
    told = list(life.told)
    life.run(TIMEOUT_MS // 2)
    assert life.ensemble.znode("/mine") is not None
    life.run(TIMEOUT_MS)
    assert life.ensemble.znode("/mine") is None
    assert life.told == told


def test_a_session_that_is_closed_takes_its_znodes_at_once_and_what_was_asked_before_is_done():
    life = Life(delay_ms_max=50)
    life.ask(Create("/mine", b"", ephemeral=True))
    life.ask(Create("/stays", b""))
    life.link.execute(CloseSession())
    assert life.ensemble.znode("/mine") is None
    assert life.ensemble.znode("/stays") is not None
    assert not life.ensemble.is_open(life.first)


def test_a_late_notification_comes_after_answers_that_know_more():
    life = Life(late_notifications=1.0, late_ms_max=300)
    life.ask(GetData("/a", watch=True))
    life.run(20)
    life.ask(Create("/a", b""))
    life.run(20)
    assert life.answers()[-1] == Done()
    assert ZnodeChanged("/a") not in life.told
    life.run(400)
    assert life.told[-1] == ZnodeChanged("/a")
