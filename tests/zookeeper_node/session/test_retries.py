"""What may be asked for more than once is asked for until there is an answer."""

from __future__ import annotations

from zookeeper_world import HeldSession

from falkirk.simulation.zookeeper.world.ensemble import Ensemble
from falkirk.zookeeper_node.session.exchange import SessionChanged, SessionState
from falkirk.zookeeper_node.session.operations import Answer, Create, Done, Failed, GetData, KeeperError, Znode
from falkirk.zookeeper_node.session.retries import Retries

EXPIRED = Failed(KeeperError.SESSION_EXPIRED)
ROOT = GetData("/")


def connected() -> tuple[HeldSession, Retries, list[Answer]]:
    held = HeldSession(Ensemble())
    asks = Retries(held.session)
    held.connect()
    return held, asks, []


def test_an_answer_that_was_lost_is_asked_for_again() -> None:
    held, asks, told = connected()
    asks.send(Create("/a", b""), told.append)
    held.lose_connection(carried_out=1)
    assert (list(held.asked), told) == ([], [])
    held.reconnect()
    held.do_all()
    assert told == [Failed(KeeperError.NODE_EXISTS)]


def test_a_loss_that_is_told_before_the_state_is_asked_again_at_once() -> None:
    held, asks, told = connected()
    asks.send(ROOT, told.append)
    held.refuse(KeeperError.CONNECTION_LOSS)
    held.do_all()
    assert [type(answer) for answer in told] == [Znode]


def test_what_is_asked_for_without_a_connection_waits_for_it() -> None:
    held, asks, told = connected()
    held.lose_connection()
    asks.send(ROOT, told.append)
    assert list(held.asked) == []
    held.reconnect()
    held.do_all()
    assert [type(answer) for answer in told] == [Znode]


def test_a_server_that_takes_no_writes_is_read_from() -> None:
    held, asks, told = connected()
    held.session.receive(SessionChanged(SessionState.READ_ONLY, held.session_id))
    asks.send(Create("/a", b""), told.append)
    asks.send(ROOT, told.append)
    assert held.next == ROOT
    held.do_all()
    assert [type(answer) for answer in told] == [Znode]
    held.reconnect()
    held.do_all()
    assert told[1:] == [Done()]


def test_a_write_that_a_read_only_server_has_refused_waits_for_another() -> None:
    held, asks, told = connected()
    asks.send(Create("/a", b""), told.append)
    held.session.receive(SessionChanged(SessionState.READ_ONLY, held.session_id))
    held.refuse(KeeperError.READ_ONLY)
    assert list(held.asked) == []
    held.reconnect()
    held.do_all()
    assert told == [Done()]


def test_an_expired_session_is_told_to_all_who_wait() -> None:
    held, asks, told = connected()
    asks.send(ROOT, told.append)
    held.lose_connection()
    asks.send(ROOT, told.append)
    held.expire()
    assert told == [EXPIRED, EXPIRED]
    asks.send(ROOT, told.append)
    assert told == [EXPIRED] * 3


def test_other_refusals_are_the_answer() -> None:
    held, asks, told = connected()
    asks.send(ROOT, told.append)
    held.refuse(KeeperError.NO_AUTH)
    assert told == [Failed(KeeperError.NO_AUTH)]


def test_paths_are_made_as_far_as_they_are_not_there() -> None:
    held, asks, _ = connected()
    told: list[Failed | None] = []
    asks.create_all(("/a", "/a/b"), told.append)
    held.do_all()
    asks.create_all(("/a", "/a/b", "/a/b/c"), told.append)
    held.do_all()
    asks.create_all(("/x/y", "/x/y/z"), told.append)
    held.do_all()
    assert told == [None, None, Failed(KeeperError.NO_NODE)]
    assert held.ensemble.znode("/a/b/c") is not None
